"""Models: finding their weights, lexical and dense retrieval, reranking, and
training.
"""
