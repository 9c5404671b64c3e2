"""Multiple-choice questions as tasks of lm-evaluation-harness, with the prompts of language models here.

    harness/<data set>.yaml, lextables_tasks.py     the task, and what it reads its questions with
    harness/questions.jsonl, texts.jsonl            each order of a question's options; the texts, each once

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
from lextables.publish.export import Form, PublishedSet
from lextables.tasks.answers import collection
from lextables.tasks.answers.asking import BETWEEN_PARAGRAPHS
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


class Asked(NamedTuple):
    """A question about a text: its other ``fields``, its ``options`` (none: yes or no), the right places."""

    name: str
    text: str
    fields: Mapping[str, str]
    options: Sequence[str]
    right: Sequence[int]


def write(given: PublishedSet, folder: Path) -> list[Form]:
    """Write the task of a data set about which language models are asked; return what the files are."""
    if not (prompt := given.task.get("prompt")) or given.task.get("views"):
        return []
    folder = folder / "harness"
    folder.mkdir(parents=True)
    texts, asked = READERS[given.task["task"]](given)
    template = plain_template(prompt)
    needed = set()
    with (folder / "questions.jsonl").open("wb") as file:
        for question in asked:
            needed.add(question.text)
            for turned in (False, True)[: given.task["asking"]["orders"] if question.options else 1]:
                row = _row(template, question, texts[question.text], turned)
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    with (folder / "texts.jsonl").open("wb") as file:
        rows = ({"text_id": name, "text": _shown(texts[name])} for name in sorted(needed))
        file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    task = yaml.safe_dump({"task": f"lextables_{given.name}", **TASK}, sort_keys=False)
    program = Path(__file__).with_name("lextables_tasks.txt").read_text(encoding="utf-8")
    for name, text in ((f"{given.name}.yaml", task + FUNCTIONS), ("lextables_tasks.py", program)):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    words = (
        f"the test questions as the task `lextables_{given.name}` of lm-evaluation-harness "
        "(`--include_path harness --apply_chat_template`), with the prompts by which language models are "
        "asked here about whole texts."
    )
    return [Form("harness/", words)]


def _row(template: Template, question: Asked, text: str, turned: bool) -> dict:
    step = -1 if turned else 1
    fields = {**question.fields, "text": text}
    if question.options:
        fields["options"] = listed(question.options[::step])
    *system, user = template.filled(**fields)
    shown = _shown(text)
    before, _, after = user.content.partition(shown) if shown else (user.content, "", "")
    return {
        "question_id": question.name,
        "turned": turned,
        "text_id": question.text,
        "system": "\n\n".join(part.content for part in system),
        "before": before,
        "after": after,
        "signs": list(ascii_uppercase[: len(question.options)] or ANSWERS),
        "right": list(question.right),
    }


def _shown(text: str) -> str:
    """A text as a prompt shows it."""
    return Template((Message("user", "${text}"),)).filled(text=text)[0].content


Read = tuple[Mapping[str, str], Iterator[Asked]]


def _examples(given: PublishedSet) -> Read:
    names, asking = given.task["names"], given.task["asking"]
    texts = {row["text_id"]: row["text"] for row in read(given.table(names["texts"]))}
    heads = {row["head_id"]: row for row in read(given.table(names["heads"]))}

    def asked() -> Iterator[Asked]:
        for row in of_splits(read(given.table("examples")), given.task["test"]):
            (text, second), head = key_of(row), heads[row["head_id"]]
            fields = {"second": texts[second]} if second else {}
            if asking["question"]:
                fields["question"] = head[asking["question"]]
            options = [asking["wordings"].get(answer, answer) for answer in head["answers"]]
            if 2 <= len(options) <= len(ascii_uppercase):
                yield Asked(row["example_id"], text, fields, options, labels_of(row))

    return texts, asked()


def _answers(given: PublishedSet) -> Read:
    names = given.task["names"]
    tables = [given.table(name) for name in collection.files(names, *collection.ANSWERED_FROM)]
    data = collection.load(tables, names)
    texts = {
        name: BETWEEN_PARAGRAPHS.join(paragraph.text for paragraph in paragraphs)
        for name, paragraphs in data.paragraphs.items()
    }

    def asked() -> Iterator[Asked]:
        for document, name in collection.pairs(data.shares, texts):
            question, shares = data.questions[name], data.shares[name][document]
            right = (shares == shares.max()).nonzero()[0].tolist()
            yield Asked(
                f"{document}/{name}", document, {"question": question.question}, question.options, right
            )

    return texts, asked()


def _clauses(given: PublishedSet) -> Read:
    texts = {row["contract_id"]: row["text"] for row in read(given.table("contracts"))}
    rows = (row for row in read(given.table("questions")) if row["split"] == "test")
    return texts, (
        Asked(
            row["question_id"],
            row["contract_id"],
            {"question": row["question"]},
            (),
            [int(not row["answers"])],
        )
        for row in rows
    )


# By the kind of task; a clause is present where a question of spans has an answer.
READERS: Mapping[str, Callable[[PublishedSet], Read]] = {
    "classification": _examples,
    "answers": _answers,
    "spans": _clauses,
}
