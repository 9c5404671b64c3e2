"""The registry of papers and one package for each paper."""
