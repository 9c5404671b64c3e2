"""The finished data sets: examples, pairs for models, pools for retrieval,
annotations.
"""
