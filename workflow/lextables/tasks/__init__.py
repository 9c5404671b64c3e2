"""The four tasks (retrieval, spans, classification, answers).

Each is implemented once for all papers.
"""
