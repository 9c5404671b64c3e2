"""LawngNLI's tables of models (NLI, labels, retrieval), and the statistics of Table
2.
"""
