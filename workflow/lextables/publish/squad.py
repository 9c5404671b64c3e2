"""Span extraction as its tools read it: questions in SQuAD 2.0's form, predictions as n-best JSON.

Text outputs are JSON lines, as ``extra_predictions`` takes them.
"""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from lextables.pipeline.dataset import Row, read
from lextables.publish.export import Form, PublishedRun, PublishedSet
from lextables.tasks.spans.squad import PARTING

VERSION = b"v2.0"
Asked = Mapping[str, Mapping[str, list[Row]]]  # {split: {contract: its questions, each with its answers}}
_WORD = re.compile(f"[^{PARTING}]+")
_SQUAD = Form(
    "squad/<split>.json",
    "the contracts with their questions and answers in SQuAD 2.0's form, one paragraph a contract: "
    "what a reader of SQuAD takes, and the released `evaluate.py` as its gold.",
)


def write(given: PublishedSet, folder: Path) -> list[Form]:
    """Write the questions of each split and what each run predicts; return what the files are."""
    (folder / "squad").mkdir(parents=True)
    asked = _asked(given)
    _write_squad(given, asked, folder / "squad")
    if given.task.get("evaluator") == "containment":
        (folder / "outputs").mkdir()
        for run in given.runs:
            with (folder / f"outputs/{run.name}.jsonl").open("wb") as file:
                file.writelines(orjson.dumps(row) + b"\n" for row in read(run.predictions))
        return [_SQUAD, Form("outputs/<run>.jsonl", "the output for each test question.")]
    (folder / "nbest").mkdir()
    test = {row["question_id"]: name for name, rows in asked["test"].items() for row in rows}
    words = _words(given, asked["test"])
    for run in given.runs:
        _write_nbest(run, test, words, folder / f"nbest/{run.name}.json")
    return [
        _SQUAD,
        Form(
            "nbest/<run>.json",
            "the likeliest spans of each test question, as the released step of prediction writes them in "
            "`nbest_predictions_.json`, which the released `evaluate.py` scores. An empty text says that "
            "nothing answers the question.",
        ),
    ]


def _asked(given: PublishedSet) -> Asked:
    answers = {
        name: [{"text": row["text"], "answer_start": row["start"]} for row in rows]
        for name, rows in groupby(read(given.table("answers")), itemgetter("question_id"))
    }
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in read(given.table("questions")):
        found[row["split"]][row["contract_id"]].append(row | {"answers": answers.get(row["question_id"], [])})
    return found


def _write_squad(given: PublishedSet, asked: Asked, folder: Path) -> None:
    """Write a file for each split, a contract at a time."""
    for split, questions in sorted(asked.items()):
        here = (row for row in _contracts(given) if row["contract_id"] in questions)
        with (folder / f"{split}.json").open("wb") as file:
            file.write(b'{"version":"%s","data":[' % VERSION)
            for number, row in enumerate(here):
                file.write(b",\n" if number else b"\n")
                file.write(orjson.dumps(_entry(row, questions[row["contract_id"]])))
            file.write(b"\n]}\n")


def _contracts(given: PublishedSet) -> Iterator[Row]:
    return read(given.table("contracts"), ["contract_id", "text"])


def _words(given: PublishedSet, contracts: Container[str]) -> dict[str, list[int]]:
    """{contract: where each of its words starts} of these contracts."""
    return {
        row["contract_id"]: [found.start() for found in _WORD.finditer(row["text"])]
        for row in _contracts(given)
        if row["contract_id"] in contracts
    }


def _entry(contract: Row, questions: list[Row]) -> dict[str, Any]:
    asked = [
        {
            "id": row["question_id"],
            "question": row["question"],
            "is_impossible": not row["answers"],
            "answers": row["answers"],
        }
        for row in questions
    ]
    return {"title": contract["contract_id"], "paragraphs": [{"context": contract["text"], "qas": asked}]}


def _write_nbest(
    run: PublishedRun, test: Mapping[str, str], words: Mapping[str, list[int]], path: Path
) -> None:
    """Write a question a line; ``test`` maps the test questions to their contracts."""
    spans = groupby(read(run.predictions), itemgetter("question_id"))
    with path.open("wb") as file:
        for number, (question, rows) in enumerate(spans):
            file.write(b",\n" if number else b"{")
            file.write(orjson.dumps(question) + b":")
            file.write(orjson.dumps([*_predicted(rows, words[test[question]])]))
        file.write(b"}\n")


def _predicted(rows: Iterator[Row], words: list[int]) -> Iterator[dict[str, Any]]:
    """The spans of a question, by rank; the words at a span's ends tell repeats of a text apart."""
    for row in rows:
        entry = {"text": row["released_text"], "probability": row["probability"]}
        # A language model has no logits.
        entry |= {name: row[name] for name in ("start_logit", "end_logit") if not math.isnan(row[name])}
        if row["start"] >= 0:
            ends = {"token_doc_start": row["start"], "token_doc_end": row["end"] - 1}
            entry |= {name: bisect_right(words, place) - 1 for name, place in ends.items()}
        yield entry
