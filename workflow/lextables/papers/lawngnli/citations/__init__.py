"""Citations in opinions, resolved to cases, and their parentheticals: the texts in
parentheses that say what a cited case holds (A.1.1).
"""
