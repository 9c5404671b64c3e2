"""Retrieval: queries, a pool of documents and graded judgements; a ranking of documents
comes back.
"""
