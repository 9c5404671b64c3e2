"""Metrics: a module for each family, and shared ones such as `intervals` and `ratio`.

A family takes predictions and gold labels, and returns rows of scores: one for each
metric and group, and one for each end of an interval.
"""

# Suffixes of a metric's name: the ends of its sampling interval, and the score as the
# paper's text defines it where the released evaluator differs.
LOW = ", low"
HIGH = ", high"
STRICT = ", strict"
