"""Read CUAD's released files.

``data.zip`` has the contracts and spans in SQuAD form: ``CUADv1.json`` (all),
``test.json``, and ``train_separate_questions.json`` (one answer per example, Section
4.1).  ``CUAD_v1.zip`` has the clause table ``master_clauses.csv``, with columns of
clauses and answers for each category.  ``category_descriptions.csv`` describes the
categories.  Contract type and pages are recorded facts.

The registry has a digest of each file, and a census of the rows: files are not checked
here.
"""

import ast
import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
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
TRAIN = "train_separate_questions.json"
CLAUSE_TABLE = "master_clauses.csv"
# {column of the descriptions: what its cells begin with}
_PREFIXES = {
    "Category (incl. context and answer)": "Category:",
    "Description": "Description:",
    "Answer Format": "Answer Format:",
    "Group": "Group:",
}


def read(name: str, published: Published) -> Rows:
    """Return the rows of the seven tables, sorted by their keys."""
    release = published.file("release")
    documents = sorted(_documents(release, ALL), key=attrgetter("contract_id"))
    test = {document.contract_id for document in _documents(release, TEST)}
    facts = _contract_facts(
        published.facts["recorded"], published.given["contract_types"]
    )
    contracts: list[Row] = []
    questions: list[Row] = []
    answers: list[Row] = []
    for document in documents:
        split = "test" if document.contract_id in test else "train"
        contract = {
            "contract_id": document.contract_id,
            "split": split,
            "text": document.text,
            "characters": len(document.text),
        }
        contracts.append({**contract, **facts[document.contract_id]})
        questions += question_rows(document, split)
        answers += answer_rows(document)
    categories = [question.category for question in documents[0].questions]
    clauses, supplementary = _clause_table(
        _member(published.file("clauses"), CLAUSE_TABLE),
        [document.contract_id for document in documents],
        categories,
    )
    rows: dict[str, list[Row]] = {
        "contracts": contracts,
        "categories": _categories(published.file("categories"), categories),
        "questions": sorted(questions, key=itemgetter("question_id")),
        "answers": sorted(answers, key=itemgetter("question_id", "index")),
        "training_examples": sorted(
            _training_examples(release), key=itemgetter("example_id")
        ),
        "clauses": clauses,
        "supplementary": supplementary,
    }
    return Rows(rows, {})


def _member(path: Path, name: str) -> bytes:
    """Return the bytes of a file in a zip."""
    with archives.opened(path) as archive:
        return archive.read(archives.member(archive, name))


def _documents(data_zip: Path, name: str) -> Iterator[Document]:
    return read_squad(_member(data_zip, name), name, _category)


def _category(question_id: str, contract_id: str) -> str:
    """Return the category in a question's id, which is the title and the category."""
    return question_id.removeprefix(f"{contract_id}__")


def _training_examples(data_zip: Path) -> Iterator[Row]:
    """Yield the training examples; an example's id is a question's id and a number."""
    for document in _documents(data_zip, TRAIN):
        for example in document.questions:
            question_id = re.sub(r"_\d+$", "", example.question_id)
            row = example_row(document, example, question_id)
            yield {**row, "category": _category(question_id, document.contract_id)}


def _csv_records(content: bytes) -> Iterator[dict[str, str]]:
    """Yield {column: cell} of each row; columns are without surrounding spaces."""
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    # One released header has a space before "Answer".
    columns = [re.sub(r"-\s*Answer$", "-Answer", cell.strip()) for cell in next(rows)]
    for cells in rows:
        yield dict(zip(columns, cells, strict=True))


def _contract_facts(path: Path, contract_types: Mapping[str, str]) -> dict[str, Row]:
    """Return {title: contract type and pages} from the recorded folders of the PDFs."""
    facts: dict[str, Row] = {}
    for record in _csv_records(path.read_bytes()):
        facts[record["title"]] = {
            "contract_type": contract_types[record["release_folder"]],
            "pages": int(record["pdf_pages"]),
        }
    return facts


def _categories(path: Path, names: Iterable[str]) -> list[Row]:
    """Return the categories in the order of ``names``, with their descriptions."""
    described = {}
    for record in _csv_records(path.read_bytes()):
        title, description, answer_format, group = (
            record[column].removeprefix(prefix).strip()
            for column, prefix in _PREFIXES.items()
        )
        described[title.casefold()] = {
            "title": title,
            "description": description,
            "answer_format": answer_format,
            "group": group.removeprefix("-"),
        }
    return [
        {"category": name, "position": position, **described[name.casefold()]}
        for position, name in enumerate(names)
    ]


def _clause_table(
    content: bytes, titles: Iterable[str], categories: Iterable[str]
) -> tuple[list[Row], list[Row]]:
    """Return the rows of clauses and of supplementary answers."""
    title_of = {_letters(title): title for title in titles}
    clauses: list[Row] = []
    supplementary: list[Row] = []
    for record in _csv_records(content):
        # One released name has a quote after the suffix: "….PDF'".
        name = re.sub(r"\.pdf\W*$", "", record["Filename"], flags=re.IGNORECASE)
        key = {"contract_id": title_of[_letters(name)]}
        for category in categories:
            category_key = key | {"category": category}
            # A cell is a list of strings in Python's notation.
            for index, text in enumerate(ast.literal_eval(record[category])):
                clauses.append({**category_key, "index": index, "text": text})
            answer = record[f"{category}-Answer"].strip()
            supplementary.append(category_key | {"answer": answer})
    clauses.sort(key=itemgetter("contract_id", "category", "index"))
    supplementary.sort(key=itemgetter("contract_id", "category"))
    return clauses, supplementary


def _letters(title: str) -> str:
    """Return a title's letters and digits in lower case, without accents.

    File names in the clause table differ from titles in other characters.
    """
    plain = unicodedata.normalize("NFKD", title).casefold()
    return "".join(letter for letter in plain if letter.isalnum())
