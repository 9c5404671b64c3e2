"""The forms that other tools read: data sets and predictions as bundles, and where they come from."""
