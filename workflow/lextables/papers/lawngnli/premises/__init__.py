"""Premises: short and long ones, and those of Neutral examples (A.1.1, A.1.7,
A.1.9).
"""
