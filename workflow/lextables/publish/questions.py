"""Multiple-choice questions as tasks of lm-evaluation-harness, with the prompts of language models here.

    harness/<data set>.yaml, lextables_tasks.py     the task and its functions
    harness/questions.jsonl, texts.jsonl            questions, one row for each order of the options; texts

A prompt is the part of a question ``before`` its text, the text, and the part ``after``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import NamedTuple

import orjson
import yaml

from lextables.models.language_model import Message
from lextables.models.multiple_choice import listed
from lextables.models.prompts import Template, plain_template
from lextables.pipeline.dataset import read
from lextables.publish.export import Format, PublishedSet
from lextables.tasks.answers import collection
from lextables.tasks.answers.collection import BETWEEN_PARAGRAPHS
from lextables.tasks.classification.examples import key_of, labels_of, of_splits
from lextables.tasks.spans.asking import ANSWERS

TASK = {
    "tag": "lextables",
    "test_split": "test",
    "output_type": "multiple_choice",
    "num_fewshot": 0,
    "description": "system",
    "doc_to_text": "prompt",
    "doc_to_choice": "choices",
    "doc_to_target": "target",
    "target_delimiter": "",
}
FUNCTIONS = """custom_dataset: !function lextables_tasks.load
process_results: !function lextables_tasks.shares
metric_list:
- metric: accuracy
  aggregation: !function lextables_tasks.accuracy
  higher_is_better: true
"""


class Question(NamedTuple):
    """A question about a text.

    ``text`` is the id of the text, ``fields`` are other fields of the prompt, ``options`` its options (none:
    yes or no), and ``correct`` the indices of the correct ones.
    """

    name: str
    text: str
    fields: Mapping[str, str]
    options: Sequence[str]
    correct: Sequence[int]


def write(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write the task of a data set with a prompt for language models; return descriptions of the files."""
    if not (prompt := data_set.task.get("prompt")) or data_set.task.get("views"):
        return []
    folder = folder / "harness"
    folder.mkdir(parents=True)
    texts, questions = READERS[data_set.task["task"]](data_set)
    template = plain_template(prompt)
    needed = set()
    with (folder / "questions.jsonl").open("wb") as file:
        for question in questions:
            needed.add(question.text)
            for turned in (False, True)[
                : data_set.task["asking"]["orders"] if question.options else 1
            ]:
                row = _row(template, question, texts[question.text], turned)
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    with (folder / "texts.jsonl").open("wb") as file:
        rows = (
            {"text_id": name, "text": _shown(texts[name])} for name in sorted(needed)
        )
        file.writelines(
            orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows
        )
    task = yaml.safe_dump(
        {"task": f"lextables_{data_set.name}", **TASK}, sort_keys=False
    )
    program = (
        Path(__file__).with_name("lextables_tasks.txt").read_text(encoding="utf-8")
    )
    for name, text in (
        (f"{data_set.name}.yaml", task + FUNCTIONS),
        ("lextables_tasks.py", program),
    ):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    description = (
        f"the test questions as the task `lextables_{data_set.name}` of lm-evaluation-harness "
        "(`--include_path harness --apply_chat_template`), with the prompts of language models here for "
        "whole texts."
    )
    return [Format("harness/", description)]


def _row(template: Template, question: Question, text: str, turned: bool) -> dict:
    step = -1 if turned else 1
    fields = {**question.fields, "text": text}
    if question.options:
        fields["options"] = listed(question.options[::step])
    *system, user = template.filled(**fields)
    shown = _shown(text)
    before, _, after = (
        user.content.partition(shown) if shown else (user.content, "", "")
    )
    return {
        "question_id": question.name,
        "turned": turned,
        "text_id": question.text,
        "system": "\n\n".join(part.content for part in system),
        "before": before,
        "after": after,
        "signs": list(ascii_uppercase[: len(question.options)] or ANSWERS),
        "right": list(question.correct),
    }


def _shown(text: str) -> str:
    """Return a text as it is written in a prompt."""
    return Template((Message("user", "${text}"),)).filled(text=text)[0].content


TextsAndQuestions = tuple[Mapping[str, str], Iterator[Question]]


def _examples(data_set: PublishedSet) -> TextsAndQuestions:
    names, asking = data_set.task["names"], data_set.task["asking"]
    texts = {
        row["text_id"]: row["text"] for row in read(data_set.table(names["texts"]))
    }
    heads = {row["head_id"]: row for row in read(data_set.table(names["heads"]))}

    def questions() -> Iterator[Question]:
        for row in of_splits(read(data_set.table("examples")), data_set.task["test"]):
            (text, second), head = key_of(row), heads[row["head_id"]]
            fields = {"second": texts[second]} if second else {}
            if asking["question"]:
                fields["question"] = head[asking["question"]]
            options = [
                asking["wordings"].get(answer, answer) for answer in head["answers"]
            ]
            if 2 <= len(options) <= len(ascii_uppercase):
                yield Question(row["example_id"], text, fields, options, labels_of(row))

    return texts, questions()


def _answers(data_set: PublishedSet) -> TextsAndQuestions:
    names = data_set.task["names"]
    tables = [
        data_set.table(name)
        for name in collection.files(names, *collection.ANSWERED_FROM)
    ]
    data = collection.load(tables, names)
    texts = {
        name: BETWEEN_PARAGRAPHS.join(paragraph.text for paragraph in paragraphs)
        for name, paragraphs in data.paragraphs.items()
    }

    def questions() -> Iterator[Question]:
        for document, name in collection.pairs(data.shares, texts):
            question, shares = data.questions[name], data.shares[name][document]
            correct = (shares == shares.max()).nonzero()[0].tolist()
            yield Question(
                f"{document}/{name}",
                document,
                {"question": question.question},
                question.options,
                correct,
            )

    return texts, questions()


def _clauses(data_set: PublishedSet) -> TextsAndQuestions:
    texts = {
        row["contract_id"]: row["text"] for row in read(data_set.table("contracts"))
    }
    rows = (row for row in read(data_set.table("questions")) if row["split"] == "test")
    return texts, (
        Question(
            row["question_id"],
            row["contract_id"],
            {"question": row["question"]},
            (),
            [int(not row["answers"])],
        )
        for row in rows
    )


# By kind of task; a clause is present if the question of spans has an answer.
READERS: Mapping[str, Callable[[PublishedSet], TextsAndQuestions]] = {
    "classification": _examples,
    "answers": _answers,
    "spans": _clauses,
}
