"""LawngNLI: long-premise NLI from the parentheticals of court opinions (Bruno and Roth,
2022).

A parenthetical is a text in parentheses after a citation that says what the cited case
holds.  It becomes a hypothesis, and the cited opinion its premise.
"""
