"""Read CUAD's contracts and questions in SQuAD form; ContractEval asks about the test split.

``data.zip`` has ``CUADv1.json`` (all contracts) and ``test.json``.  The released code takes the same test
questions from the hub's copy of CUAD.
"""

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter

from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.sources import archives
from lextables.tasks.spans.squad import (
    Document,
    answer_rows,
    example_row,
    question_rows,
    read_squad,
)

ALL, TEST = "CUADv1.json", "test.json"


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set; `BadInput` if a test contract is not among all contracts as it is."""
    path = published.file("release")
    with archives.opened(path) as archive:
        documents, test = (
            {
                document.contract_id: document
                for document in read_squad(
                    archive.read(archives.member(archive, file)), file, _category
                )
            }
            for file in (ALL, TEST)
        )
    if odd := [
        title for title, document in test.items() if documents.get(title) != document
    ]:
        raise BadInput(
            f"{TEST} and {ALL} differ", where=f"{path.name}, contract {odd[0]!r}"
        )
    ordered = [
        (documents[title], "test" if title in test else "train")
        for title in sorted(documents)
    ]
    return Rows(
        {
            "contracts": [
                {
                    "contract_id": document.contract_id,
                    "split": split,
                    "text": document.text,
                }
                for document, split in ordered
            ],
            "questions": sorted(
                (row for entry in ordered for row in question_rows(*entry)),
                key=itemgetter("question_id"),
            ),
            "answers": sorted(
                (row for document, _ in ordered for row in answer_rows(document)),
                key=itemgetter("question_id", "index"),
            ),
            "training_examples": sorted(
                (
                    row
                    for document, split in ordered
                    if split == "train"
                    for row in _examples(document)
                ),
                key=itemgetter("example_id"),
            ),
        },
        {},
    )


def _category(question_id: str, contract_id: str) -> str:
    return question_id.removeprefix(f"{contract_id}__")


def _examples(document: Document) -> Iterator[Row]:
    """Yield a training example for each answer, and one for each question without an answer."""
    for question in document.questions:
        single = [(answer,) for answer in question.answers] or [()]
        for number, answers in enumerate(single):
            example = replace(
                question,
                question_id=f"{question.question_id}_{number}",
                answers=answers,
            )
            yield example_row(document, example, question.question_id)
