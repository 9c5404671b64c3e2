"""ACORD: expert-rated retrieval of contract clauses (Wang et al., 2025)."""
