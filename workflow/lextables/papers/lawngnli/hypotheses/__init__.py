"""Hypotheses: how parentheticals become hypotheses and are filtered (A.1.2, A.1.6), and
how each hypothesis is contradicted (A.1.3, A.1.5).
"""
