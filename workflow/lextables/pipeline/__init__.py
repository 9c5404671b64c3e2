"""What every rule stands on: configuration, registries, runs, data sets, fingerprints, logs and errors."""
