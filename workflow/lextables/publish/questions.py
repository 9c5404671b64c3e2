"""Multiple-choice questions as tasks of lm-evaluation-harness, with the prompts of
language models here.

    harness/<data set>.yaml         the task
    harness/lextables_tasks.py      its functions
    harness/questions.jsonl         a row for each question and order of its options
    harness/texts.jsonl             a row for each text

A prompt is put together from a question's field ``before``, its text, and its field
``after``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import BinaryIO, NamedTuple

import orjson
import yaml

from lextables.models.language_model import Message
from lextables.models.multiple_choice import listed
from lextables.models.prompts import Template, plain_template
from lextables.pipeline.dataset import Row, read
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


class HarnessQuestion(NamedTuple):
    """A question about a text.

    ``text`` is the id of the text, ``fields`` are other fields of the prompt,
    ``options`` its options (none: yes or no), and ``correct`` the indices of the
    correct ones.
    """

    name: str
    text: str
    fields: Mapping[str, str]
    options: Sequence[str]
    correct: Sequence[int]


def write(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write the task of a data set with a prompt for language models; return
    descriptions of the files.
    """
    task = data_set.task
    if not task.get("prompt") or task.get("views"):
        return []
    folder = folder / "harness"
    folder.mkdir(parents=True)
    texts, questions = READERS[task["task"]](data_set)
    template = plain_template(task["prompt"])
    needed = set()
    with (folder / "questions.jsonl").open("wb") as file:
        for question in questions:
            needed.add(question.text)
            text = texts[question.text]
            orders = task["asking"]["orders"] if question.options else 1
            # The second of two orders is the reverse one.
            for turned in (False, True)[:orders]:
                _write_line(file, _row(template, question, text, turned))
    with (folder / "texts.jsonl").open("wb") as file:
        for name in sorted(needed):
            _write_line(file, {"text_id": name, "text": _shown(texts[name])})
    fields = {"task": f"lextables_{data_set.name}", **TASK}
    program = Path(__file__).with_name("lextables_tasks.txt")
    files = {
        f"{data_set.name}.yaml": yaml.safe_dump(fields, sort_keys=False) + FUNCTIONS,
        "lextables_tasks.py": program.read_text(encoding="utf-8"),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    description = (
        f"the test questions as the task `lextables_{data_set.name}` of lm-evaluation-harness "
        "(`--include_path harness --apply_chat_template`), with the prompts of language models here for "
        "whole texts."
    )
    return [Format("harness/", description)]


def _write_line(file: BinaryIO, record: Row) -> None:
    file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))


def _row(template: Template, question: HarnessQuestion, text: str, turned: bool) -> Row:
    """A row of questions.jsonl; the options are in reverse if ``turned``.

    Its prompt is stored in the parts ``before`` and ``after`` the text, which several
    questions share.
    """
    fields = {**question.fields, "text": text}
    if question.options:
        options = list(question.options)
        fields["options"] = listed(options[::-1] if turned else options)
    *system, user = template.filled(**fields)
    before = user.content
    after = ""
    shown = _shown(text)
    if shown:  # an empty text separates nothing
        before, _, after = user.content.partition(shown)
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
    template = Template((Message("user", "${text}"),))
    return template.filled(text=text)[0].content


TextsAndQuestions = tuple[Mapping[str, str], Iterator[HarnessQuestion]]


def _examples(data_set: PublishedSet) -> TextsAndQuestions:
    """The texts and questions of a classification task.

    Left out are questions with more options than there are letters, or with one option.
    """
    names = data_set.task["names"]
    asking = data_set.task["asking"]
    texts = {}
    for row in read(data_set.table(names["texts"])):
        texts[row["text_id"]] = row["text"]
    heads = {row["head_id"]: row for row in read(data_set.table(names["heads"]))}

    def questions() -> Iterator[HarnessQuestion]:
        for row in of_splits(read(data_set.table("examples")), data_set.task["test"]):
            text, second = key_of(row)
            head = heads[row["head_id"]]
            fields = {}
            if second:
                fields["second"] = texts[second]
            if asking["question"]:
                fields["question"] = head[asking["question"]]
            wordings = asking["wordings"]
            options = [wordings.get(answer, answer) for answer in head["answers"]]
            if 2 <= len(options) <= len(ascii_uppercase):
                yield HarnessQuestion(
                    row["example_id"], text, fields, options, labels_of(row)
                )

    return texts, questions()


def _answers(data_set: PublishedSet) -> TextsAndQuestions:
    """The texts of documents, and the questions about them.

    The options that most people chose are correct.
    """
    names = data_set.task["names"]
    tables = collection.files(names, *collection.ANSWERED_FROM)
    data = collection.load([data_set.table(name) for name in tables], names)
    texts = {}
    for document, paragraphs in data.paragraphs.items():
        parts = [paragraph.text for paragraph in paragraphs]
        texts[document] = BETWEEN_PARAGRAPHS.join(parts)

    def questions() -> Iterator[HarnessQuestion]:
        for document, name in collection.pairs(data.shares, texts):
            question = data.questions[name]
            shares = data.shares[name][document]
            yield HarnessQuestion(
                name=f"{document}/{name}",
                text=document,
                fields={"question": question.question},
                options=question.options,
                correct=(shares == shares.max()).nonzero()[0].tolist(),
            )

    return texts, questions()


def _clauses(data_set: PublishedSet) -> TextsAndQuestions:
    """The texts of contracts, and questions whether they have a clause.

    The correct option is yes if a span of the contract answers the question.
    """
    texts = {}
    for row in read(data_set.table("contracts")):
        texts[row["contract_id"]] = row["text"]

    def questions() -> Iterator[HarnessQuestion]:
        for row in read(data_set.table("questions")):
            if row["split"] == "test":
                yield HarnessQuestion(
                    name=row["question_id"],
                    text=row["contract_id"],
                    fields={"question": row["question"]},
                    options=(),
                    correct=[int(not row["answers"])],
                )

    return texts, questions()


# {kind of task: function that returns the texts of a data set by their ids, and its
# questions}
READERS: Mapping[str, Callable[[PublishedSet], TextsAndQuestions]] = {
    "classification": _examples,
    "answers": _answers,
    "spans": _clauses,
}
