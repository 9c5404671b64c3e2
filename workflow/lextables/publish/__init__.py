"""The forms that other tools read: data sets and predictions as exports, and where they
come from.
"""
