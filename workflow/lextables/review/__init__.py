"""Readers of contracts: Word, PDF, HTML and text files to plain text."""
