"""The kinds of models.

Each module has functions `answer` and `mark` (`prediction.Prediction`).
"""
