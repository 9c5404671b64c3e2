"""Sources: the raw bytes of the five papers, as published, checked against
resources/sources.yaml.
"""
