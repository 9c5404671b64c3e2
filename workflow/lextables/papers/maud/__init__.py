"""MAUD: questions about the deal points of merger agreements, and the extraction of
deal point texts.
"""
