"""The public data sets of natural language inference, from their published files to
pairs with a label.
"""
