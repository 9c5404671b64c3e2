"""Answers: a document and a question with options; the output is a distribution over them, and marks."""
