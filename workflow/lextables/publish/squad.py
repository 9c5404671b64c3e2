"""Span extraction in the usual formats: questions as SQuAD 2.0, predictions as n-best
JSON.

Text outputs are JSON lines, which the config key ``extra_predictions`` accepts too.
"""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import orjson

from lextables.pipeline.dataset import Row, read
from lextables.publish.export import Format, PublishedRun, PublishedSet
from lextables.tasks.spans.squad import PARTING

VERSION = b"v2.0"
# {split: {contract: its questions, each with its answers}}
Questions = defaultdict[str, defaultdict[str, list[Row]]]
_WORD = re.compile(f"[^{PARTING}]+")
_SQUAD = Format(
    "squad/<split>.json",
    "the contracts with their questions and answers in the format of SQuAD 2.0, one paragraph for each "
    "contract. The released `evaluate.py` reads them as gold answers.",
)


def write(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write the questions of each split and the predictions of each run; return
    descriptions of the files.
    """
    (folder / "squad").mkdir(parents=True)
    questions = _questions(data_set)
    _write_squad(data_set, questions, folder / "squad")
    if data_set.task.get("evaluator") == "containment":
        return [_SQUAD, _write_outputs(data_set, folder / "outputs")]
    return [_SQUAD, _write_nbests(data_set, questions["test"], folder / "nbest")]


def _questions(data_set: PublishedSet) -> Questions:
    """The questions by split and contract."""
    answers: dict[str, list[Row]] = defaultdict(list)
    for row in read(data_set.table("answers")):
        answer = {"text": row["text"], "answer_start": row["start"]}
        answers[row["question_id"]].append(answer)
    questions: Questions = defaultdict(lambda: defaultdict(list))
    for row in read(data_set.table("questions")):
        row = {**row, "answers": answers[row["question_id"]]}
        questions[row["split"]][row["contract_id"]].append(row)
    return questions


def _contracts(data_set: PublishedSet) -> Iterator[Row]:
    return read(data_set.table("contracts"), ["contract_id", "text"])


def _write_squad(data_set: PublishedSet, questions: Questions, folder: Path) -> None:
    """Write a file for each split, contract by contract."""
    for split, contract_questions in sorted(questions.items()):
        with (folder / f"{split}.json").open("wb") as file:
            file.write(b'{"version":"%s","data":[' % VERSION)
            separator = b"\n"
            for row in _contracts(data_set):
                if row["contract_id"] in contract_questions:
                    entry = _entry(row, contract_questions[row["contract_id"]])
                    file.write(separator + orjson.dumps(entry))
                    separator = b",\n"
            file.write(b"\n]}\n")


def _entry(contract: Row, questions: list[Row]) -> Row:
    """A contract with its questions in the format of SQuAD."""
    entries = []
    for row in questions:
        entry = {
            "id": row["question_id"],
            "question": row["question"],
            "is_impossible": not row["answers"],
            "answers": row["answers"],
        }
        entries.append(entry)
    paragraph = {"context": contract["text"], "qas": entries}
    return {"title": contract["contract_id"], "paragraphs": [paragraph]}


def _write_outputs(data_set: PublishedSet, folder: Path) -> Format:
    """Write the text outputs of each run."""
    folder.mkdir()
    for run in data_set.runs:
        with (folder / f"{run.name}.jsonl").open("wb") as file:
            for row in read(run.predictions):
                file.write(orjson.dumps(row) + b"\n")
    return Format("outputs/<run>.jsonl", "the output for each test question.")


def _write_nbests(
    data_set: PublishedSet, questions: Mapping[str, list[Row]], folder: Path
) -> Format:
    """Write the n-best spans of each run; ``questions`` are those of the test split by
    contract.
    """
    folder.mkdir()
    starts_in_contract = {}
    for row in _contracts(data_set):
        if row["contract_id"] in questions:
            words = _WORD.finditer(row["text"])
            starts_in_contract[row["contract_id"]] = [match.start() for match in words]
    word_starts = {}  # by question; the lists of a contract are the same object
    for contract, rows in questions.items():
        for row in rows:
            word_starts[row["question_id"]] = starts_in_contract[contract]
    for run in data_set.runs:
        _write_nbest(run, word_starts, folder / f"{run.name}.json")
    description = (
        "the most probable spans of each test question in the format of the released prediction code, "
        "`nbest_predictions_.json`, which the released `evaluate.py` scores. An empty text means that "
        "nothing answers the question."
    )
    return Format("nbest/<run>.json", description)


def _write_nbest(
    run: PublishedRun, word_starts: Mapping[str, list[int]], path: Path
) -> None:
    """Write one question per line.

    ``word_starts`` are {test question: the offset of each word of its contract}.
    """
    with path.open("wb") as file:
        file.write(b"{")
        separator = b""
        rows = read(run.predictions)
        for question, spans in groupby(rows, itemgetter("question_id")):
            predicted = [_predicted(row, word_starts[question]) for row in spans]
            line = orjson.dumps(question) + b":" + orjson.dumps(predicted)
            file.write(separator + line)
            separator = b",\n"
        file.write(b"}\n")


def _predicted(row: Row, word_starts: list[int]) -> Row:
    """An entry of n-best JSON for a predicted span, which starts at -1 if it is empty.

    The indices of its first and last word in the contract distinguish repeated texts.
    """
    entry = {"text": row["released_text"], "probability": row["probability"]}
    for name in ("start_logit", "end_logit"):
        if not math.isnan(row[name]):  # a language model has no logits
            entry[name] = row[name]
    if row["start"] >= 0:
        entry["token_doc_start"] = bisect_right(word_starts, row["start"]) - 1
        entry["token_doc_end"] = bisect_right(word_starts, row["end"] - 1) - 1
    return entry
