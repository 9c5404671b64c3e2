"""LawngNLI: long-premise NLI from the parentheticals of court opinions (Bruno and Roth,
2022).
"""
