"""The written schemas of the tables of LawngNLI's construction: a module for each rule that writes some."""
