"""Metrics: one file per family.

Each takes predictions and gold labels and returns one row per group.
"""

# Suffixes of a metric's name: the ends of its sampling interval, and the score as the
# paper's text defines it where the released evaluator differs.
LOW = ", low"
HIGH = ", high"
STRICT = ", strict"
