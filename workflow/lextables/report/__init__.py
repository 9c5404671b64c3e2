"""The report: a small static site that opens from disk, a module for each kind of
page.
"""
