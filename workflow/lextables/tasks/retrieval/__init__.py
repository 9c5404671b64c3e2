"""Retrieval: for each query, a model ranks the documents of a pool.

Judgements grade how relevant a document is to a query.
"""
