"""Answers: a document and a question with options.

The output is a distribution over them, and marks.
"""
