"""Submitted n-best spans, in the form of the release: ``nbest_predictions_.json``.

If the task scores text outputs, these may also be submitted as csv or JSON lines.  If
n-best spans are submitted, the output quotes the spans that are at least as probable as
the empty prediction.

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
_POSITIONS = ("token_doc_start", "token_doc_end")  # words of the contract
_WORD = re.compile(f"[^{PARTING}]+")
_SHOWN = 60  # characters of a text in a message


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
    """A prediction in the form of the release.

    The two positions are the numbers of its first and its last word in the contract.
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
    if form != "nbest":
        submitted = _outputs(file, form, contract_of)
        check_complete(test, submitted, "test questions", file.name)
        outputs = {question: submitted[question] for question in test}
        return Submitted(_output_rows(outputs), len(submitted) - len(test), OUTPUTS)

    nbest = _nbest(file, contract_of)
    check_complete(test, nbest, "test questions", file.name)
    texts = {}
    for row in read(contracts, ["contract_id", "text"]):
        if row["contract_id"] in test.values():
            texts[row["contract_id"]] = Positions(row["contract_id"], row["text"])
    limit = task["n_best"]
    if task["linear"]:
        limit = max(limit, task["linear"]["n_best"])
    rows: list[Row] = []
    for question in sorted(test):
        where = f"{file.name}, question {question!r}"
        rows += _rows(question, nbest[question], texts[test[question]], limit, where)
    others = nbest.keys() - test.keys()
    skipped = sum(len(nbest[question]) for question in others)
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


def _nbest(file: File, questions: Collection[str]) -> dict[str, list[JsonObject]]:
    """Return {question: n-best spans} of a file in the form of the release."""
    content = parsed(file.text, file.name)
    released_nbest(content, file.name)
    spans: dict[str, list[JsonObject]] = {}
    for written, entries in content.items():
        question = identified(written, questions, "question", file.name)
        if question in spans:
            raise repeated(f"the question {question!r}", file.name)
        spans[question] = entries
    return spans


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
    # The release writes the text "empty" if a question has only the empty prediction.
    # That text is not in the contract.
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
        # The start of each word in the contract and in the joined text.
        self._starts: list[int] = []
        self._joined_starts: list[int] = []
        words = []
        position = 0
        for match in _WORD.finditer(text):
            words.append(match[0])
            self._starts.append(match.start())
            self._joined_starts.append(position)
            position += len(match[0]) + 1
        self._joined = " ".join(words)

    def find(self, span: str, word: int | None, where: str) -> tuple[int, int]:
        """Return the characters [start, end) of the first occurrence of a span.

        The search starts at the contract's ``word``; if there is none after it, at the
        beginning.

        Raises `BadInput` for a span that does not occur in the contract.
        """
        words = collapsed(span).strip(" ")
        near = 0
        if word is not None and 0 <= word < len(self._joined_starts):
            near = self._joined_starts[word]
        position = self._joined.find(words, near)
        if position < 0:
            position = self._joined.find(words)
        if position < 0 or not words:
            what = (
                f"the text {_short(span)} is not in the contract {self.contract_id!r}"
            )
            raise BadInput(what, where=where, do="copy spans from the contract's text")
        last = position + len(words) - 1
        return self._original(position), self._original(last) + 1

    def _original(self, position: int) -> int:
        """Return the position in the contract of a character of the joined text."""
        word = bisect_right(self._joined_starts, position) - 1
        return self._starts[word] + position - self._joined_starts[word]


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
