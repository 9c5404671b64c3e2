"""What LawngNLI's tables are computed from."""
