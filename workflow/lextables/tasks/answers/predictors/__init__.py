"""The kinds of models that answer questions or mark paragraphs.

Each module has functions `answer` and `mark`; their argument is a
`prediction.Prediction`.
"""
