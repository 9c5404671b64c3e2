"""Infrastructure of all rules: configuration, registries, runs, data sets,
fingerprints, logs and errors.
"""
