"""Span extraction in the usual formats: questions as SQuAD 2.0, predictions as n-best JSON.

Text outputs are JSON lines in the format of ``extra_predictions``.
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
from lextables.publish.export import Format, PublishedRun, PublishedSet
from lextables.tasks.spans.squad import PARTING

VERSION = b"v2.0"
Questions = Mapping[
    str, Mapping[str, list[Row]]
]  # {split: {contract: its questions, each with its answers}}
_WORD = re.compile(f"[^{PARTING}]+")
_SQUAD = Format(
    "squad/<split>.json",
    "the contracts with their questions and answers in the format of SQuAD 2.0, one paragraph for each "
    "contract. The released `evaluate.py` reads them as gold answers.",
)


def write(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write the questions of each split and the predictions of each run; return descriptions of the files."""
    (folder / "squad").mkdir(parents=True)
    questions = _questions(data_set)
    _write_squad(data_set, questions, folder / "squad")
    if data_set.task.get("evaluator") == "containment":
        (folder / "outputs").mkdir()
        for run in data_set.runs:
            with (folder / f"outputs/{run.name}.jsonl").open("wb") as file:
                file.writelines(
                    orjson.dumps(row) + b"\n" for row in read(run.predictions)
                )
        return [
            _SQUAD,
            Format("outputs/<run>.jsonl", "the output for each test question."),
        ]
    (folder / "nbest").mkdir()
    test = {
        row["question_id"]: name
        for name, rows in questions["test"].items()
        for row in rows
    }
    word_starts = _word_starts(data_set, questions["test"])
    for run in data_set.runs:
        _write_nbest(run, test, word_starts, folder / f"nbest/{run.name}.json")
    return [
        _SQUAD,
        Format(
            "nbest/<run>.json",
            "the most probable spans of each test question in the format of the released prediction code, "
            "`nbest_predictions_.json`, which the released `evaluate.py` scores. An empty text means that "
            "nothing answers the question.",
        ),
    ]


def _questions(data_set: PublishedSet) -> Questions:
    answers = {
        name: [{"text": row["text"], "answer_start": row["start"]} for row in rows]
        for name, rows in groupby(
            read(data_set.table("answers")), itemgetter("question_id")
        )
    }
    questions: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in read(data_set.table("questions")):
        questions[row["split"]][row["contract_id"]].append(
            row | {"answers": answers.get(row["question_id"], [])}
        )
    return questions


def _write_squad(data_set: PublishedSet, questions: Questions, folder: Path) -> None:
    """Write a file for each split, contract by contract."""
    for split, of_contract in sorted(questions.items()):
        contracts = (
            row for row in _contracts(data_set) if row["contract_id"] in of_contract
        )
        with (folder / f"{split}.json").open("wb") as file:
            file.write(b'{"version":"%s","data":[' % VERSION)
            for number, row in enumerate(contracts):
                file.write(b",\n" if number else b"\n")
                file.write(orjson.dumps(_entry(row, of_contract[row["contract_id"]])))
            file.write(b"\n]}\n")


def _contracts(data_set: PublishedSet) -> Iterator[Row]:
    return read(data_set.table("contracts"), ["contract_id", "text"])


def _word_starts(
    data_set: PublishedSet, contracts: Container[str]
) -> dict[str, list[int]]:
    """Return {contract: the first character of each of its words} of these contracts."""
    return {
        row["contract_id"]: [match.start() for match in _WORD.finditer(row["text"])]
        for row in _contracts(data_set)
        if row["contract_id"] in contracts
    }


def _entry(contract: Row, questions: list[Row]) -> dict[str, Any]:
    entries = [
        {
            "id": row["question_id"],
            "question": row["question"],
            "is_impossible": not row["answers"],
            "answers": row["answers"],
        }
        for row in questions
    ]
    return {
        "title": contract["contract_id"],
        "paragraphs": [{"context": contract["text"], "qas": entries}],
    }


def _write_nbest(
    run: PublishedRun,
    test: Mapping[str, str],
    word_starts: Mapping[str, list[int]],
    path: Path,
) -> None:
    """Write one question per line; ``test`` maps the test questions to their contracts."""
    spans = groupby(read(run.predictions), itemgetter("question_id"))
    with path.open("wb") as file:
        for number, (question, rows) in enumerate(spans):
            file.write(b",\n" if number else b"{")
            file.write(orjson.dumps(question) + b":")
            file.write(orjson.dumps([*_predicted(rows, word_starts[test[question]])]))
        file.write(b"}\n")


def _predicted(rows: Iterator[Row], word_starts: list[int]) -> Iterator[dict[str, Any]]:
    """Yield the spans of a question by rank; the words at their ends distinguish repeated texts."""
    for row in rows:
        entry = {"text": row["released_text"], "probability": row["probability"]}
        # A language model has no logits.
        entry |= {
            name: row[name]
            for name in ("start_logit", "end_logit")
            if not math.isnan(row[name])
        }
        if row["start"] >= 0:
            ends = {"token_doc_start": row["start"], "token_doc_end": row["end"] - 1}
            entry |= {
                name: bisect_right(word_starts, place) - 1
                for name, place in ends.items()
            }
        yield entry
