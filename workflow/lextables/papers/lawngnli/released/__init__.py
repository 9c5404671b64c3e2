"""The released LawngNLI: the authors' ID files and the opinions that they name."""
