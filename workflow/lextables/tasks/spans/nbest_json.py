"""N-best lists as the field exchanges them: the ``nbest_predictions_.json`` of the released evaluators."""

from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from lextables.metrics.spans import Nbest, nbest_columns
from lextables.pipeline.errors import BadInput
from lextables.tasks.submitted import parsed, text_of

FORM = 'write it as {"question id": [{"text": "…", "probability": 0.5}, …], …}'
FARTHEST = 2**31  # words: no contract has as many


def released_nbest(content: Any, where: str) -> Nbest:
    """Return the n-best spans in the content of a released ``nbest_predictions_.json``.

    {question id: [{text, probability, token_doc_start, token_doc_end, ...}, ...]}.  The places are the
    release's, in words of the contract, and serve to tell spans apart; they may be missing.

    Raises `BadInput`, naming the question, for anything else, and for a probability that is not a number
    from 0 to 1.
    """
    if not isinstance(content, Mapping):
        found = type(content).__name__
        raise BadInput(f"is a {found} and not a dict of question ids", where=where, do=FORM)
    for question_id, entries in content.items():
        place = f"{where}, question {question_id!r}"
        if not isinstance(entries, list):
            raise BadInput(
                f"is a {type(entries).__name__} and not a list of predictions", where=place, do=FORM
            )
        for rank, entry in enumerate(entries):
            if fault := _fault(entry):
                raise BadInput(fault, where=f"{place}, prediction {rank}", do=FORM)
    return nbest_columns(content, "text", "token_doc_start", "token_doc_end", where)


def _fault(entry: Any) -> str:
    """What is wrong with a released prediction, or nothing."""
    if not isinstance(entry, Mapping):
        return f"is a {type(entry).__name__} and not a dict with text and probability"
    if not isinstance(entry.get("text"), str):
        return "text is not a string"
    probability = entry.get("probability")
    # A whole number of JSON may be larger than any float.
    if not isinstance(probability, Real) or isinstance(probability, bool) or not 0 <= probability <= 1:
        return f"the probability {probability!r} is not a number from 0 to 1"
    places = [entry.get(name) for name in ("token_doc_start", "token_doc_end")]
    whole = all(type(place) is int and abs(place) < FARTHEST for place in places)
    if not whole and places != [None, None]:
        return "token_doc_start and token_doc_end are not two whole numbers"
    return ""


def read_nbest(path: str | Path) -> Nbest:
    """Read a released ``nbest_predictions_.json``, such as the authors' own; see `released_nbest`.

    Raises `BadInput` too for what is not JSON, and for a name that appears twice in one object, where
    the released evaluator would keep the last; see `given.parsed`.
    """
    where = str(path)
    return released_nbest(parsed(text_of(Path(path).read_bytes(), where), where), where)
