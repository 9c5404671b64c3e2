"""Citations of an opinion, resolved to cases, and their parentheticals (A.1.1)."""
