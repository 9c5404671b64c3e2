"""Registries: YAML files to typed entries, and the packages of papers."""
