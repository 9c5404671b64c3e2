"""Span extraction: the passages of contracts that answer questions."""
