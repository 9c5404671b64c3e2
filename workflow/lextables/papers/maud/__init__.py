"""MAUD: questions about the deal points (legal terms) of merger agreements, and the
extraction of the texts about deal points.
"""
