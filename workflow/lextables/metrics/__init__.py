"""Metrics: one file a family; each takes predictions and gold, and returns tidy values a group."""
