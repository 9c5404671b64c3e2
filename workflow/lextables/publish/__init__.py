"""Exports: data sets and predictions in the formats of other tools, with their
provenance.
"""
