"""CUAD: spans of contracts for 41 categories of clauses (Hendrycks et al., 2021)."""
