"""Premises: short premises (cited pages), long premises (whole opinions), and the
premises of Neutral examples (A.1.1, A.1.7, A.1.9).
"""
