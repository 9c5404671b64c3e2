"""The kinds of systems that rank documents, a module each.

Each module has a function `rank`, whose argument is a `ranking.Ranking`.
"""
