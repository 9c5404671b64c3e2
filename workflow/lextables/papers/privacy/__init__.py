"""The privacy policy corpus: policies of websites, questions about them, and answers of
law students.
"""
