"""Submitted n-best spans, in the form of the release: ``nbest_predictions_.json``.

If text outputs are scored, they may also be submitted as csv or JSON lines; of n-best
spans those are quoted that are at least as probable as the empty prediction.

The form has the text of a span but not its position, which is searched in the contract:
paper mode scores the texts as they are, strict mode the contract's characters.
"""

import math
import re
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from lextables.metrics.spans import Nbest, nbest_columns
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.finite import as_share
from lextables.tasks.job import Job
from lextables.tasks.spans.outputs import OUTPUTS, by_question, least_shown, quoted
from lextables.tasks.spans.schema import NBEST as PREDICTIONS
from lextables.tasks.spans.schema import NOTHING_ELSE
from lextables.tasks.spans.squad import PARTING, collapsed
from lextables.tasks.submitted import (
    File,
    Submitted,
    SubmittedRow,
    check_complete,
    identified,
    parsed,
    read_rows,
    repeated,
    store,
)

FORM = 'write it as {"question id": [{"text": "…", "probability": 0.5}, …], …}'
LOGITS = ("start_logit", "end_logit")
MAX_WORD_INDEX = 2**31
MAX_LOGIT = sys.float_info.max
_POSITIONS = ("token_doc_start", "token_doc_end")
_WORD = re.compile(f"[^{PARTING}]+")
_SHOWN = 60


def _json_probability(value: Any) -> float:
    """Return a JSON number from 0 to 1.

    Any other value is a `ValueError`; an integer may be larger than any float.
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    share = as_share(value) if is_number else None
    if share is None:
        raise ValueError(f"the probability {value!r} is not a number from 0 to 1")
    return share


class SpanRow(SubmittedRow):
    """A released prediction.

    The positions are those of its first and last word in the contract.
    """

    text: str
    probability: Annotated[float, BeforeValidator(_json_probability)]
    token_doc_start: Any = None
    token_doc_end: Any = None

    @model_validator(mode="after")
    def _has_positions(self) -> "SpanRow":
        positions = (self.token_doc_start, self.token_doc_end)
        valid = all(
            type(position) is int and abs(position) < MAX_WORD_INDEX
            for position in positions
        )
        if not valid and positions != (None, None):
            raise ValueError(f"{' and '.join(_POSITIONS)} are not two whole numbers")
        return self


class OutputRow(SubmittedRow):
    """The text output for a question."""

    question_id: str
    output: str


def released_nbest(content: Any, where: str) -> Nbest:
    """Return the n-best spans in the content of a released ``nbest_predictions_.json``.

    {question id: [{text, probability, token_doc_start, token_doc_end, ...}, ...]}.  The
    positions are the release's, in words of the contract, and only distinguish equal
    texts; they may be missing.  Raises `BadInput`, naming the question, for anything
    else, and for a probability that is not a number from 0 to 1.
    """
    if not isinstance(content, Mapping):
        what = f"is a {type(content).__name__}, not an object with question ids"
        raise BadInput(what, where=where, do=FORM)
    for question_id, entries in content.items():
        place = f"{where}, question {question_id!r}"
        if not isinstance(entries, list):
            what = f"is a {type(entries).__name__}, not a list of predictions"
            raise BadInput(what, where=place, do=FORM)
        numbered = []
        for number, entry in enumerate(entries):
            numbered.append((f"{place}, prediction {number}", entry))
        list(read_rows(iter(numbered), SpanRow, FORM))
    return nbest_columns(content, "text", *_POSITIONS, where)


def run(job: Job) -> None:
    """Check and store a file of submitted predictions."""
    store(job, predictions, PREDICTIONS)


def predictions(
    file: File, form: str, data: Sequence[str | Path], task: JsonObject
) -> Submitted:
    """Return submitted predictions; ``data`` are contracts and questions.

    N-best spans are rows of `PREDICTIONS`, text outputs those of `outputs.OUTPUTS`.
    Questions of other splits are skipped.  Raises `BadInput`, naming the question, for
    an unknown question, a test question without a prediction or with more than the task
    keeps, a text that is not in the contract, and whatever `released_nbest` refuses.

    A text of white space is a span without a position: as in the released evaluator it
    counts in paper mode, and in strict mode it is no span.  Equal texts of one question
    are kept apart: paper mode uses the probability of the last
    (`metrics.spans.last_by_text`), strict mode the highest of each position.
    """
    contracts, questions = data
    contract_of = {}
    test = {}
    for row in read(questions, ["question_id", "contract_id", "split"]):
        contract_of[row["question_id"]] = row["contract_id"]
        if row["split"] == "test":
            test[row["question_id"]] = row["contract_id"]
    if form == "nbest":
        content = parsed(file.text, file.name)
        released_nbest(content, file.name)
        named = {}
        for question, entries in content.items():
            name = identified(question, contract_of, "question", file.name)
            if name in named:
                raise repeated(f"the question {name!r}", file.name)
            named[name] = entries
        content = named
    else:
        content = _outputs(file, form, contract_of)
    check_complete(test, content, "test questions", file.name)
    others = content.keys() - test.keys()
    if form != "nbest":
        outputs = {question: content[question] for question in test}
        return Submitted(_output_rows(outputs), len(others), OUTPUTS)

    texts = {}
    for row in read(contracts, ["contract_id", "text"]):
        if row["contract_id"] in test.values():
            texts[row["contract_id"]] = Positions(row["contract_id"], row["text"])
    limit = max(task["n_best"], (task["linear"] or {"n_best": 0})["n_best"])
    rows: list[Row] = []
    for question in sorted(test):
        where = f"{file.name}, question {question!r}"
        rows += _rows(question, content[question], texts[test[question]], limit, where)
    skipped = sum(len(content[question]) for question in others)
    if task["evaluator"] == "spans":
        return Submitted(rows, skipped)
    outputs = {}
    for question, spans in by_question(rows):
        text = texts[test[question]].text
        outputs[question] = quoted(text, spans, least_shown(spans))
    return Submitted(_output_rows(outputs), skipped, OUTPUTS)


def _output_rows(outputs: Mapping[str, str]) -> list[Row]:
    return [
        {"question_id": question, "output": output}
        for question, output in sorted(outputs.items())
    ]


def _outputs(file: File, form: str, questions: Collection[str]) -> dict[str, str]:
    """Return {question: output} of a csv or JSON lines file."""
    outputs: dict[str, str] = {}
    if form == "jsonl":
        records = file.json_lines()
    else:
        records = file.table("question_id", "output")
    for place, row in read_rows(records, OutputRow):
        question = identified(row.question_id, questions, "question", place)
        if question in outputs:
            raise repeated(f"the question {question!r}", place)
        outputs[question] = row.output
    return outputs


def _rows(
    question: str,
    entries: Sequence[JsonObject],
    contract: "Positions",
    limit: int,
    where: str,
) -> Iterator[Row]:
    """Yield the spans of a question, with their positions, as rows of `PREDICTIONS`."""
    if not entries:
        do = "predict it, with the empty text if there is no answer"
        raise BadInput("has no prediction", where=where, do=do)
    texts = {entry["text"] for entry in entries if entry["text"].strip()}
    if len(texts) > limit:
        what = f"has {len(texts)} spans, more than the {limit} that are kept"
        do = f"give the {limit} with the highest probabilities"
        raise BadInput(what, where=where, do=do)
    only_nothing_else = texts == {NOTHING_ELSE}
    for rank, entry in enumerate(entries):
        text = entry["text"]
        start = -1
        end = -1
        if text in texts and not only_nothing_else:
            place = f"{where}, prediction {rank}"
            start, end = contract.find(text, entry.get(_POSITIONS[0]), place)
        row = {
            "question_id": question,
            "rank": rank,
            "released_text": text,
            "text": contract.text[start:end] if start >= 0 else "",
            "start": start,
            "end": end,
            "probability": _json_probability(entry["probability"]),
        }
        for name in LOGITS:
            row[name] = _logit(entry.get(name))
        yield row


def _logit(value: Any) -> float:
    """Return an optional logit, which no score uses.

    It is NaN for anything but a finite number.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or abs(value) > MAX_LOGIT:
        return math.nan
    return float(value)


class Positions:
    """Positions of texts in a contract, whatever white space is between words."""

    def __init__(self, contract_id: str, text: str) -> None:
        self.contract_id = contract_id
        self.text = text
        self._starts: list[int] = []
        # The start of each word in the joined text.
        self._from: list[int] = []
        words = []
        at = 0
        for match in _WORD.finditer(text):
            words.append(match[0])
            self._starts.append(match.start())
            self._from.append(at)
            at += len(match[0]) + 1
        self._joined = " ".join(words)

    def find(self, span: str, word: int | None, where: str) -> tuple[int, int]:
        """Return the characters [start, end) of the first occurrence of a span.

        Without one from ``word`` on, it is the first of all.

        Raises `BadInput` for a span that does not occur in the contract.
        """
        words = collapsed(span).strip(" ")
        near = 0
        if word is not None and 0 <= word < len(self._from):
            near = self._from[word]
        at = self._joined.find(words, near)
        if at < 0:
            at = self._joined.find(words)
        if at < 0 or not words:
            what = (
                f"the text {_short(span)} is not in the contract {self.contract_id!r}"
            )
            raise BadInput(what, where=where, do="copy spans from the contract's text")
        return self._original(at), self._original(at + len(words) - 1) + 1

    def _original(self, at: int) -> int:
        """Return the position in the contract of a character of the joined text."""
        word = bisect_right(self._from, at) - 1
        return self._starts[word] + at - self._from[word]


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
