"""Read CUAD's contracts and questions in SQuAD form; ContractEval asks about the test
split.

``data.zip`` has ``CUADv1.json`` (all contracts) and ``test.json``.  The released code
takes the same test questions from the hub's copy of CUAD.
"""

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter, itemgetter
from pathlib import Path

from lextables.pipeline.dataset import Published, Row, Rows
from lextables.sources import archives
from lextables.tasks.spans.squad import (
    Document,
    answer_rows,
    example_row,
    question_rows,
    read_squad,
)

ALL = "CUADv1.json"
TEST = "test.json"


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set."""
    path = published.file("release")
    documents = sorted(_documents(path, ALL), key=attrgetter("contract_id"))
    test = {document.contract_id for document in _documents(path, TEST)}
    contracts: list[Row] = []
    questions: list[Row] = []
    answers: list[Row] = []
    examples: list[Row] = []
    for document in documents:
        contract = document.contract_id
        split = "test" if contract in test else "train"
        contracts.append(
            {"contract_id": contract, "split": split, "text": document.text}
        )
        questions += question_rows(document, split)
        answers += answer_rows(document)
        if split == "train":
            examples += _examples(document)
    rows = {
        "contracts": contracts,
        "questions": sorted(questions, key=itemgetter("question_id")),
        "answers": sorted(answers, key=itemgetter("question_id", "index")),
        "training_examples": sorted(examples, key=itemgetter("example_id")),
    }
    return Rows(rows, {})


def _documents(path: Path, file: str) -> Iterator[Document]:
    with archives.opened(path) as archive:
        content = archive.read(archives.member(archive, file))
    return read_squad(content, file, _category)


def _category(question_id: str, contract_id: str) -> str:
    return question_id.removeprefix(f"{contract_id}__")


def _examples(document: Document) -> Iterator[Row]:
    """Yield a training example for each answer, and one for each question without an
    answer.
    """
    for question in document.questions:
        for number in range(max(1, len(question.answers))):
            example_id = f"{question.question_id}_{number}"
            single = question.answers[number : number + 1]
            example = replace(question, question_id=example_id, answers=single)
            yield example_row(document, example, question.question_id)
