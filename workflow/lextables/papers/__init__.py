"""One package for each paper: its registry class, reader, schemas and tables."""
