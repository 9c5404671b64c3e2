"""Answers: a document and a question with options; a distribution over these comes back, and marked text."""
