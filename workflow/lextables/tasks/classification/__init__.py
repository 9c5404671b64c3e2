"""Classification: questions with answers (heads) about texts or pairs of texts.

A model gives a probability for each answer of a head.  A data set has three tables, the
last two under names of its own (`planner.ClassificationTables`):

- examples: example_id, head_id, split, text_id, for a pair ``pair_id`` (the second
  text), and ``label``, the place of the right answer among the head's, or ``labels``,
  the places of any number of right answers
- heads: head_id and answers; question and category, where scores are averaged by them
- texts: text_id and text
"""
