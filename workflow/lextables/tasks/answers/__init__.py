"""Answers: questions with options about documents.

A model gives a distribution over the options of a question, or marks the paragraphs of
the document that support the answer.
"""
