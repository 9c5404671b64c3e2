"""The choice of a trial by its scores on validation data, in all tasks with a search.

A trial whose training diverged (its losses or outputs are NaN or infinite) has no
scores from that update on.  It would be the worst of its search, so it is never chosen,
and the search goes on with the others.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

from lextables.pipeline.errors import BadInput
from lextables.pipeline.finite import OTHER_WEIGHTS

Trial = TypeVar("Trial")


def best_trial(scores: Mapping[Trial, Sequence[float]], seeds: int) -> Trial:
    """Return the trial with the highest mean score over ``seeds``; ties go to the
    first.

    A trial with fewer scores diverged with some seed.  A mean that is not defined (NaN)
    comes last.  Raises `BadInput` if all trials diverged.
    """
    means = {}
    for trial, seed_scores in scores.items():
        if len(seed_scores) == seeds:
            mean = sum(seed_scores) / seeds
            means[trial] = -math.inf if math.isnan(mean) else mean
    if not means:
        what = "the training of each trial of the search diverged"
        raise BadInput(what, do=OTHER_WEIGHTS)
    return max(means, key=lambda trial: means[trial])
