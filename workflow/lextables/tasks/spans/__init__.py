"""Span extraction: questions about contracts; the likeliest passages that answer them come back."""
