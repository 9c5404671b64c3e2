"""Functions for notebooks: published values, data sets, scores and comparisons."""
