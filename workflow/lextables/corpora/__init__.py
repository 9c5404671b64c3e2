"""Raw collections that no paper owns: case law, EDGAR, NLI data sets."""
