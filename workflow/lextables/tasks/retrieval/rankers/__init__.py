"""The kinds of systems that rank documents; each module has a function `rank`
(`ranking.Ranking`).
"""
