"""Released evaluator of ContractEval-style outputs: an output is correct if it contains
every gold text.

An output is the text that a system writes for one question about a contract: quoted
passages, or `NO_CLAUSE`.  The rules are the released code's, including these
(`containment_scores` also has a strict mode):

- The length of an output is not limited: a whole contract contains every gold text.
- An output says that there is no clause if `NO_CLAUSE` occurs anywhere in it, with or
  without its full stop and in capitals or not.  For a question with gold texts only
  containment counts, so an output that says so can still be correct.
- F1 and F2 are computed from one confusion matrix over all questions.  The released
  code divides by zero without a correct output; here both are 0.
- The false rate is the share of the questions with gold texts whose output says that
  there is no clause.
- The Jaccard index is between sets of words, averaged over questions with gold texts.
  Words are separated by single blanks and slashes; a line break does not separate
  words.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter

import numpy as np

from lextables.metrics.ratio import ratio
from lextables.pipeline.dataset import Row

NO_CLAUSE = "No related clause."
METRICS = ("F1", "F2", "Jaccard", "false rate", "precision", "recall")
LOWER = "false rate"  # the metric of which lower values are better
_CLAIM = "no related clause"  # in the lower case of an output
ENDS = " \n`"  # characters that are removed at both ends of a text
# In the words of a text, slashes become blanks, and these marks are removed.
_REMOVED = str.maketrans("/", " ", ".,;:")
# Number of values that `counts` returns for a question: true positive, false positive,
# false negative (each 0 or 1), whether the output says that there is no clause although
# there are gold texts, and Jaccard index.
COUNTS = 5


def counts(output: str, golds: Sequence[str]) -> tuple[float, ...]:
    """Return true positive, false positive, false negative, false denial and Jaccard
    index of one output.

    ``golds`` are the gold texts of the output's question.  A false denial says that
    there is no clause although there are gold texts.
    """
    text = output.strip(ENDS)
    denied = denies(output)
    if not golds:
        return 0, not denied, 0, 0, 0
    correct = contains(text, golds)
    similarity = _jaccard(" ".join(golds), text)
    return correct, 0, not correct, denied, similarity


def contains(text: str, golds: Sequence[str]) -> bool:
    """Whether a text contains each gold text, without the blanks, line breaks and back
    quotes around it (`ENDS`).
    """
    return all(gold.strip(ENDS) in text for gold in golds)


def denies(output: str) -> bool:
    """Whether an output says that there is no related clause."""
    return _CLAIM in output.lower()


def _jaccard(gold: str, output: str) -> float:
    """Return the share of words that two texts have in common, of all their words."""
    first = _words(gold)
    second = _words(output)
    shared = first & second
    # Never empty: a text without words has the empty word.
    return len(shared) / len(first | second)


@lru_cache(maxsize=8)  # whole contracts are outputs of many questions in a row
def _words(text: str) -> frozenset[str]:
    return frozenset(text.translate(_REMOVED).lower().split(" "))


def values(totals: np.ndarray) -> dict[str, np.ndarray]:
    """Return {metric: value, float64 (...)} for sums of `counts`, float64 (...,
    `COUNTS`).
    """
    correct, false, missed, denied, jaccard = np.moveaxis(totals, -1, 0)
    positive = correct + missed
    return {
        **of_confusion(correct, false, missed),
        "Jaccard": ratio(jaccard, positive, 0.0),
        "false rate": ratio(denied, positive, 0.0),
    }


def of_confusion(
    correct: np.ndarray, false: np.ndarray, missed: np.ndarray
) -> dict[str, np.ndarray]:
    """Return {F1, F2, precision and recall: value}; the arguments have the same
    shape.
    """
    return {
        "F1": ratio(2 * correct, 2 * correct + missed + false, 0.0),
        "F2": ratio(5 * correct, 5 * correct + 4 * missed + false, 0.0),
        "precision": ratio(correct, correct + false, 0.0),
        "recall": ratio(correct, correct + missed, 0.0),
    }


def gold_texts(answers: Iterable[Row]) -> dict[str, list[str]]:
    """Return {question: its gold texts, in the release's order}; questions without one
    are left out.
    """
    golds: dict[str, list[str]] = defaultdict(list)
    for row in sorted(answers, key=itemgetter("question_id", "index")):
        golds[row["question_id"]].append(row["text"])
    return dict(golds)
