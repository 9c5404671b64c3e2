"""Spans that a user has already, as the released prediction step writes them: ``nbest_predictions_.json``.

It has the text of a span and not where that stands, which is looked up in the contract: paper mode scores the
texts as they are, strict mode the contract's own characters.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.nbest_json import released_nbest
from lextables.tasks.spans.released_text import PARTING, collapsed
from lextables.tasks.spans.schema import NBEST as PREDICTIONS
from lextables.tasks.spans.schema import NOTHING_ELSE
from lextables.tasks.submitted import File, Taken, number, parsed

__all__ = ["PREDICTIONS", "predictions"]
LOGITS = ("start_logit", "end_logit")
_WORD = re.compile(f"[^{PARTING}]+")
_SHOWN = 60


def predictions(file: File, form: str, data: Sequence[str | Path], task: Mapping[str, Any]) -> Taken:
    """Return a user's n-best spans as rows of `PREDICTIONS`; ``data`` are contracts and questions.

    Raises `BadInput`, naming the question, for one that the data set does not have, a test question without
    a prediction or with more than any row of the task keeps, a text that stands twice or is not in the
    contract, and whatever `released_nbest` refuses.  Questions of other splits are passed over.
    """
    contracts, questions = data
    content = parsed(file.text, file.name)
    released_nbest(content, file.name)
    known = {row["question_id"]: row for row in read(questions, ["question_id", "contract_id", "split"])}
    asked = {question: row["contract_id"] for question, row in known.items() if row["split"] == "test"}
    if unknown := sorted(content.keys() - known.keys()):
        what = f"there is no question {unknown[0]!r} in the data set"
        raise BadInput(what, where=file.name, do="correct its id")
    if missing := sorted(asked.keys() - content.keys()):
        raise BadInput(
            f"no prediction for {len(missing)} of the {len(asked)} test questions, the first {missing[0]!r}",
            where=file.name,
            do="predict each of them, if only with the empty text",
        )
    wanted = set(asked.values())
    texts = {
        row["contract_id"]: Places(row["contract_id"], row["text"])
        for row in read(contracts, ["contract_id", "text"])
        if row["contract_id"] in wanted
    }
    most = max(task["n_best"], (task["linear"] or {"n_best": 0})["n_best"])
    rows: list[Row] = []
    for question in sorted(asked):
        where = f"{file.name}, question {question!r}"
        rows += _rows(question, content[question], texts[asked[question]], most, where)
    return Taken(rows, sum(len(content[question]) for question in content.keys() - asked.keys()))


def _rows(
    question: str, entries: Sequence[Mapping[str, Any]], contract: "Places", most: int, where: str
) -> Iterator[Row]:
    spans = [entry["text"] for entry in entries]
    if not entries:
        raise BadInput("has no prediction", where=where, do="predict it, if only with the empty text")
    if (count := sum(map(bool, spans))) > most:
        what = f"has {count} spans where {most} are kept"
        raise BadInput(what, where=where, do=f"give the likeliest {most}")
    for rank, entry in enumerate(entries):
        place, text = f"{where}, prediction {rank}", entry["text"]
        if text in spans[:rank]:
            what = f"the text {_short(text)} stands twice"
            raise BadInput(what, where=place, do="give each text once, with the likeliest's probability")
        nothing = not text or (text == NOTHING_ELSE and not {*spans} - {NOTHING_ELSE, ""})
        start, end = (-1, -1) if nothing else contract.find(text, entry.get("token_doc_start"), place)
        yield {
            "question_id": question,
            "rank": rank,
            "released_text": text,
            "text": "" if nothing else contract.text[start:end],
            "start": start,
            "end": end,
            "probability": float(entry["probability"]),
        } | {name: number(entry[name], name, place) if name in entry else math.nan for name in LOGITS}


class Places:
    """Where texts stand in a contract, whatever white space parts their words."""

    def __init__(self, contract_id: str, text: str) -> None:
        self.contract_id, self.text = contract_id, text
        words = [(match.start(), match[0]) for match in _WORD.finditer(text)]
        self._starts = [start for start, _ in words]
        self._joined = " ".join(word for _, word in words)
        # Where each word starts when single blanks part them.
        self._from = list(accumulate((len(word) + 1 for _, word in words[:-1]), initial=0))

    def find(self, span: str, word: int | None, where: str) -> tuple[int, int]:
        """Return the characters [start, end) of a span: its first place from ``word`` on, or of all.

        Raises `BadInput` for one that is nowhere in the contract.
        """
        sought = collapsed(span).strip(" ")
        near = self._from[word] if word is not None and 0 <= word < len(self._from) else 0
        at = self._joined.find(sought, near)
        at = at if at >= 0 else self._joined.find(sought)
        if at < 0 or not sought:
            what = f"the text {_short(span)} does not stand in the contract {self.contract_id!r}"
            raise BadInput(what, where=where, do="give spans as the contract has them")
        return self._place(at), self._place(at + len(sought) - 1) + 1

    def _place(self, at: int) -> int:
        """Where in the contract a character is that is no blank."""
        word = bisect_right(self._from, at) - 1
        return self._starts[word] + at - self._from[word]


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
