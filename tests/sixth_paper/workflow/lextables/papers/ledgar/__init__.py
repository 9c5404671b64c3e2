"""A LEDGAR-like paper: labels of contract provisions."""
