"""Hypotheses: the filters, and the contradiction of each (A.1.2, A.1.3, A.1.5,
A.1.6).
"""
