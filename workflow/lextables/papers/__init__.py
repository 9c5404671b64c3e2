"""One package for each paper: its entry, reader, schemas and tables."""
