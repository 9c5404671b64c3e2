"""Read and check CUAD's released files.

``data.zip`` has the contracts and spans in SQuAD form: ``CUADv1.json`` (all), ``test.json``, and
``train_separate_questions.json`` (one answer per example, Section 4.1).  ``CUAD_v1.zip`` has the clause table
``master_clauses.csv``, with columns of clauses and answers for each category, and the PDFs
``full_contract_pdf/Part_I/Consulting Agreements/<title>.pdf``, whose folders are the contract types (Table 3)
and differ in spelling between parts.  ``category_descriptions.csv`` describes the categories.
"""

import ast
import io
import logging
import re
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path, PurePosixPath

from pypdf import PdfReader

from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.sources import archives
from lextables.sources.records import csv_rows, whole_number
from lextables.tasks.spans.squad import (
    Document,
    answer_rows,
    example_row,
    question_rows,
    read_squad,
)

ALL, TEST, TRAIN = "CUADv1.json", "test.json", "train_separate_questions.json"
CLAUSE_TABLE = "master_clauses.csv"
OMITTED = "<omitted>"
_UTF_8 = 0x800  # flag of a zip entry with a UTF-8 name; without it Python decodes the name as cp437
_MACOS = "__MACOSX"  # folder of macOS metadata
_DESCRIPTIONS = {
    "Category (incl. context and answer)": "Category: ",
    "Description": "Description: ",
    "Answer Format": "Answer Format: ",
    "Group": "Group: ",
}

log = logging.getLogger("lextables")


@dataclass(frozen=True)
class Release:
    """The rows of the seven tables, sorted by their keys, and counts of irregularities.

    The notes count rows of the clause table whose file name differs from the contract's title; clauses that
    skip text; pieces of clauses that are no answer of their question; questions answered in only one of JSON
    and clause table; answers with the same text as another of their question; supplementary answers (other
    than No) without a clause; clauses without a supplementary answer; contracts without a PDF, whose type and
    pages are the recorded ones; PDFs whose pages cannot be counted; PDFs of no contract; and PDFs whose
    folder or pages differ from the record.
    """

    contracts: list[Row]
    categories: list[Row]
    questions: list[Row]
    answers: list[Row]
    training_examples: list[Row]
    clauses: list[Row]
    supplementary: list[Row]
    notes: dict[str, int]


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set."""
    files = [published.file(file) for file in ("release", "clauses", "categories")]
    release = read_release(
        *files, published.facts["recorded"], published.given["contract_types"]
    )
    return Rows(vars(release), release.notes)


def read_release(
    data_zip: str | Path,
    cuad_v1_zip: str | Path,
    category_descriptions_csv: str | Path,
    recorded_csv: str | Path,
    contract_types: Mapping[str, str],
) -> Release:
    """Read and check the three files.

    ``contract_types`` maps the release's folders to the types of Table 3.  ``recorded_csv`` has folder and
    pages by title, for contracts without a PDF in the zip.  Raises `BadInput` with the file, and the row or
    the key, for the first error.
    """
    described = _descriptions(Path(category_descriptions_csv))
    documents = _contracts(Path(data_zip), described)
    names = [question.category for question in next(iter(documents.values())).questions]
    test = _test_titles(Path(data_zip), documents, described)
    examples = _training_examples(Path(data_zip), documents, test, described)
    titles = _Titles(documents)
    recorded = _recorded(Path(recorded_csv))
    with archives.opened(cuad_v1_zip) as archive:
        pdfs = list(_pdfs(archive))
    types, pdf_notes = _types(
        pdfs, titles, recorded, contract_types, Path(cuad_v1_zip).name
    )
    clauses, supplementary, renamed = _clause_table(Path(cuad_v1_zip), titles, names)
    ordered = [documents[title] for title in sorted(documents)]
    return Release(
        contracts=[
            {
                "contract_id": document.contract_id,
                "split": "test" if document.contract_id in test else "train",
                "text": document.text,
                "characters": len(document.text),
            }
            | types[document.contract_id]
            for document in ordered
        ],
        categories=[
            {"category": name, "position": position} | described[name.casefold()]
            for position, name in enumerate(names)
        ],
        questions=sorted(
            (
                row
                for document in ordered
                for row in question_rows(
                    document, "test" if document.contract_id in test else "train"
                )
            ),
            key=itemgetter("question_id"),
        ),
        answers=sorted(
            (row for document in ordered for row in answer_rows(document)),
            key=itemgetter("question_id", "index"),
        ),
        training_examples=examples,
        clauses=clauses,
        supplementary=supplementary,
        notes={"file_names_unlike_their_title": renamed}
        | pdf_notes
        | _irregularities(ordered, clauses, supplementary),
    )


def _member(path: Path, name: str) -> bytes:
    with archives.opened(path) as archive:
        return archive.read(archives.member(archive, name))


def _rows(content: bytes, name: str) -> Iterator[tuple[str, list[str]]]:
    return csv_rows(io.BytesIO(content), name)


def _descriptions(path: Path) -> dict[str, Row]:
    """Return {title in lower case: title, description, answer format and group} of the categories."""
    rows = _rows(path.read_bytes(), path.name)
    where, header = next(rows)
    if header != list(_DESCRIPTIONS):
        raise BadInput(f"the header is not {', '.join(_DESCRIPTIONS)}", where=where)
    described: dict[str, Row] = {}
    for where, cells in rows:
        values = []
        for cell, prefix in zip(cells, _DESCRIPTIONS.values(), strict=True):
            if not cell.startswith(prefix.rstrip()):
                raise BadInput(
                    f"the cell {cell!r} does not start with {prefix.rstrip()!r}",
                    where=where,
                )
            values.append(cell.removeprefix(prefix.rstrip()).strip())
        title, description, answer_format, group = values
        if not title or title.casefold() in described:
            raise BadInput(
                f"the category {title!r} {'appears twice' if title else 'has no name'}",
                where=where,
            )
        described[title.casefold()] = {
            "title": title,
            "description": description,
            "answer_format": answer_format,
            "group": "" if group == "-" else group,
        }
    return described


def _category(where: str, described: Mapping[str, Row]) -> Callable[[str, str], str]:
    """Return a function from a question's id and contract to its category.

    An id is the contract's title, two underscores and the category; an example's id also has a number.
    """

    def category_of(question_id: str, contract_id: str) -> str:
        name = question_id.removeprefix(f"{contract_id}__")
        if where == TRAIN:
            name = re.sub(r"_\d+$", "", name)
        if name == question_id or name.casefold() not in described:
            raise BadInput(
                "the id is not the contract's title, two underscores and a category that is described",
                where=f"{where}, question {question_id!r}",
                do="correct the id, or add the category to category_descriptions.csv",
            )
        return name

    return category_of


def _contracts(data_zip: Path, described: Mapping[str, Row]) -> dict[str, Document]:
    """Return {title: contract}; each contract has a question for each category, with the same wording."""
    documents: dict[str, Document] = {}
    wordings: dict[str, tuple[str, str]] = {}
    for document in read_squad(_member(data_zip, ALL), ALL, _category(ALL, described)):
        keys = set()
        for question in document.questions:
            key, wording = (
                question.category.casefold(),
                (question.category, question.question),
            )
            if wordings.setdefault(key, wording) != wording:
                raise BadInput(
                    "the category or the wording differs from the first question of its category",
                    where=f"{ALL}, question {question.question_id!r}",
                    do="give each category one name and one wording",
                )
            keys.add(key)
        for key, category in described.items():
            if key not in keys:
                raise BadInput(
                    f"has no question of the category {category['title']!r}",
                    where=f"{ALL}, contract {document.contract_id!r}",
                    do="restore it",
                )
        documents[document.contract_id] = document
    if not documents:
        raise BadInput("holds no contract", where=ALL, do="fetch the release again")
    return documents


def _test_titles(
    data_zip: Path, documents: Mapping[str, Document], described: Mapping[str, Row]
) -> set[str]:
    """Return the titles of the test contracts, which must be the same as in `ALL`."""
    titles = set()
    for document in read_squad(
        _member(data_zip, TEST), TEST, _category(TEST, described)
    ):
        complete = _same_contract(document, documents, TEST)
        expected = {question.question_id: question for question in complete.questions}
        for question in document.questions:
            where = f"{TEST}, question {question.question_id!r}"
            same = expected.pop(question.question_id, None)
            # The order of answers has no meaning.
            if same is None or (question.question, sorted(question.answers)) != (
                same.question,
                sorted(same.answers),
            ):
                raise BadInput(
                    f"differs from the question in {ALL}",
                    where=where,
                    do="take both from one release",
                )
        for question_id in expected:
            raise BadInput(
                f"the question {question_id!r} of {ALL} is missing",
                where=f"{TEST}, contract {document.contract_id!r}",
                do="take both from one release",
            )
        titles.add(document.contract_id)
    return titles


def _training_examples(
    data_zip: Path,
    documents: Mapping[str, Document],
    test: set[str],
    described: Mapping[str, Row],
) -> list[Row]:
    """Return the training examples, which must be the answers in `ALL` for all other contracts."""
    rows, titles = [], set()
    for document in read_squad(
        _member(data_zip, TRAIN), TRAIN, _category(TRAIN, described)
    ):
        if document.contract_id in test:
            raise BadInput(
                f"the contract is in {TEST} as well",
                where=f"{TRAIN}, contract {document.contract_id!r}",
                do="keep it in one of the two",
            )
        complete = _same_contract(document, documents, TRAIN)
        examples = defaultdict(list)
        for example in document.questions:
            if len(example.answers) > 1:
                raise BadInput(
                    f"has {len(example.answers)} answers where an example has at most one",
                    where=f"{TRAIN}, question {example.question_id!r}",
                    do="give each answer an example",
                )
            examples[f"{document.contract_id}__{example.category}"].append(example)
        for question in complete.questions:
            parts = examples.pop(question.question_id, [])
            answers = sorted(answer for part in parts for answer in part.answers)
            if len(parts) != max(1, len(answers)) or answers != sorted(
                question.answers
            ):
                raise BadInput(
                    f"its {len(parts)} examples do not hold the {len(question.answers)} answers of {ALL},"
                    " once each",
                    where=f"{TRAIN}, question {question.question_id!r}",
                    do="take both from one release",
                )
            for part in parts:
                if part.question != question.question:
                    raise BadInput(
                        f"has another wording than in {ALL}",
                        where=f"{TRAIN}, question {part.question_id!r}",
                        do="take both from one release",
                    )
                rows.append(example_row(document, part, question.question_id))
        for question_id in examples:
            raise BadInput(
                f"is no question of {ALL}", where=f"{TRAIN}, question {question_id!r}"
            )
        titles.add(document.contract_id)
    for title in sorted(documents.keys() - titles - test):
        raise BadInput(
            f"the contract is neither in {TRAIN} nor in {TEST}",
            where=f"{ALL}, contract {title!r}",
            do="add it to one of the two",
        )
    return sorted(rows, key=itemgetter("example_id"))


def _same_contract(
    document: Document, documents: Mapping[str, Document], name: str
) -> Document:
    """Return the contract of `ALL` with this title, which must have the same text."""
    where = f"{name}, contract {document.contract_id!r}"
    same = documents.get(document.contract_id)
    if same is None:
        raise BadInput(
            f"the contract is not in {ALL}",
            where=where,
            do="take both from one release",
        )
    if same.text != document.text:
        raise BadInput(
            f"the text differs from that in {ALL}",
            where=where,
            do="take both from one release",
        )
    return same


class _Titles:
    """Finds contract titles by file names, which may differ in punctuation and case."""

    def __init__(self, documents: Iterable[str]) -> None:
        self.all = frozenset(documents)
        self._by_letters = defaultdict(list)
        for title in sorted(self.all):
            self._by_letters[_letters(title)].append(title)

    def of(self, name: str) -> list[str]:
        """Return the titles that match a file name without its suffix."""
        return [name] if name in self.all else self._by_letters[_letters(name)]


@dataclass(frozen=True)
class _PdfFacts:
    """Folder and number of pages of a contract's PDF."""

    folder: str
    pages: int

    def __str__(self) -> str:
        return f"the folder {self.folder} with {self.pages} pages"


def _recorded(path: Path) -> dict[str, _PdfFacts]:
    """Return {title: recorded folder and pages}."""
    rows = _rows(path.read_bytes(), path.name)
    where, header = next(rows)
    if header != ["title", "release_folder", "pdf_pages"]:
        raise BadInput(
            "the header is not title, release_folder, pdf_pages", where=where
        )
    recorded: dict[str, _PdfFacts] = {}
    for where, (title, folder, pages) in rows:
        if title in recorded:
            raise BadInput(
                f"the contract {title!r} appears twice",
                where=where,
                do="drop one of the two",
            )
        page_count = whole_number(pages)
        if not page_count:
            raise BadInput(
                f"pdf_pages is {pages!r}, not a number of pages", where=where
            )
        recorded[title] = _PdfFacts(folder, page_count)
    return recorded


@dataclass(frozen=True)
class _Pdf:
    """A PDF of the release: path in the zip, name without suffix, folder, and pages if countable."""

    member: str
    name: str
    folder: str
    pages: int | None


def _pdfs(archive: zipfile.ZipFile) -> Iterator[_Pdf]:
    """Yield the PDFs of the release, sorted by path, with one in memory at a time."""
    for entry in sorted(archive.infolist(), key=lambda entry: entry.filename):
        path = PurePosixPath(_entry_name(entry))
        if (
            path.suffix.casefold() == ".pdf"
            and not entry.is_dir()
            and _MACOS not in path.parts
        ):
            yield _Pdf(
                str(path),
                path.stem,
                path.parent.name,
                _count_pages(archive.read(entry), path),
            )


def _entry_name(entry: zipfile.ZipInfo) -> str:
    """Return an entry's name; some tools write UTF-8 without the flag."""
    if not entry.flag_bits & _UTF_8:
        try:
            return entry.filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return entry.filename


def _count_pages(content: bytes, path: PurePosixPath) -> int | None:
    try:
        return len(PdfReader(io.BytesIO(content)).pages) or None
    except Exception as error:  # a damaged PDF can fail in any way
        log.warning(
            "%s: the pages cannot be counted (%s: %s)",
            path,
            type(error).__name__,
            error,
        )
        return None


def _types(
    pdfs: Iterable[_Pdf],
    titles: _Titles,
    recorded: Mapping[str, _PdfFacts],
    contract_types: Mapping[str, str],
    where: str,
) -> tuple[dict[str, Row], dict[str, int]]:
    """Return {title: contract type and pages}, and counts of irregular PDFs.

    Missing facts are taken from the record.
    """
    notes = Counter(
        contracts_without_a_pdf=0,
        pdfs_of_no_contract=0,
        pdfs_unlike_the_record=0,
        pdfs_without_pages=0,
    )
    pdfs_of = defaultdict(list)
    for pdf in pdfs:
        matches = titles.of(pdf.name)
        if len(matches) == 1:
            pdfs_of[matches[0]].append(pdf)
        else:
            notes["pdfs_of_no_contract"] += 1
            log.warning(
                "%s: the name matches %d contracts of %s", pdf.member, len(matches), ALL
            )
    types: dict[str, Row] = {}
    for title in sorted(titles.all):
        on_record, own = recorded.get(title), pdfs_of.get(title, [])
        if len(own) == 1:
            (pdf,) = own
            notes["pdfs_without_pages"] += pdf.pages is None
            pages = pdf.pages or (on_record.pages if on_record else None)
            if pages is None:
                raise BadInput(
                    f"the pages of {pdf.member} cannot be counted and are not recorded",
                    where=where,
                    do="fetch the zip again",
                )
            facts = _PdfFacts(pdf.folder, pages)
            if on_record not in (facts, None):
                notes["pdfs_unlike_the_record"] += 1
                log.warning(
                    "%s: %d pages, but recorded is %s", pdf.member, pages, on_record
                )
        elif on_record:
            notes["contracts_without_a_pdf"] += 1
            # If the zip has no PDF at all, the count is enough.
            if pdfs_of:
                log.warning("%s: %d PDFs of %r", where, len(own), title)
            facts = on_record
        else:
            raise BadInput(
                f"has {len(own)} PDFs of the contract {title!r} where there should be one, and its"
                " type is not recorded",
                where=where,
                do="take the whole zip of the release",
            )
        if facts.folder not in contract_types:
            raise BadInput(
                f"the folder {facts.folder!r} of the contract {title!r} has no contract type",
                where=where,
                do="add it to contract_types of the paper's registry",
            )
        types[title] = {
            "contract_type": contract_types[facts.folder],
            "pages": facts.pages,
        }
    return types, dict(notes)


def _clause_table(
    cuad_v1_zip: Path, titles: _Titles, names: list[str]
) -> tuple[list[Row], list[Row], int]:
    """Return the rows of clauses and of answers, and how many file names differ from the title."""
    rows = _rows(_member(cuad_v1_zip, CLAUSE_TABLE), CLAUSE_TABLE)
    columns = _columns(*next(rows), names)
    clauses, supplementary = [], []
    first: dict[str, str] = {}
    renamed = 0
    for where, cells in rows:
        # One released name has a quote after the suffix: "….PDF'".
        name = re.sub(r"\.pdf\W*$", "", cells[0], flags=re.IGNORECASE)
        matches = titles.of(name)
        if len(matches) != 1:
            number = f"{len(matches)} contracts" if matches else "no contract"
            raise BadInput(
                f"the name of the file {cells[0]!r} matches {number} of {ALL}",
                where=where,
                do="give it the contract's title",
            )
        title = matches[0]
        if title in first:
            raise BadInput(
                f"the contract {title!r} appears twice (first at {first[title]})",
                where=where,
                do="drop one of the two",
            )
        first[title] = where
        renamed += title != name
        for category, (clause_column, answer_column) in columns.items():
            clauses += [
                {
                    "contract_id": title,
                    "category": category,
                    "index": index,
                    "text": text,
                }
                for index, text in enumerate(
                    _clauses(cells[clause_column], f"{where}, column {category}")
                )
            ]
            answer = cells[answer_column].strip()
            supplementary.append(
                {"contract_id": title, "category": category, "answer": answer}
            )
    for title in sorted(titles.all - first.keys()):
        raise BadInput(
            f"the contract {title!r} has no row",
            where=CLAUSE_TABLE,
            do="restore its row",
        )
    clauses.sort(key=itemgetter("contract_id", "category", "index"))
    supplementary.sort(key=itemgetter("contract_id", "category"))
    return clauses, supplementary, renamed


def _columns(
    where: str, header: list[str], names: Iterable[str]
) -> dict[str, tuple[int, int]]:
    """Return {category: (column of clauses, column of the answer)}."""
    # One released header has a space before "Answer".
    places: dict[str, int] = {}
    for number, cell in enumerate(header):
        places.setdefault(re.sub(r"-\s*Answer$", "-Answer", cell.strip()), number)
    columns = {}
    for name in names:
        for column in (name, f"{name}-Answer"):
            if column not in places:
                raise BadInput(
                    f"there is no column {column!r}",
                    where=where,
                    do="restore the header",
                )
        columns[name] = (places[name], places[f"{name}-Answer"])
    if header[0] != "Filename" or len(header) != 1 + 2 * len(columns):
        raise BadInput(
            f"the header is not Filename and two columns for each of the {len(columns)} categories",
            where=where,
            do="restore the header",
        )
    return columns


def _clauses(cell: str, where: str) -> list[str]:
    """Return the clauses of a cell, a list of strings in Python's notation."""
    try:
        clauses = ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        clauses = None
    if not isinstance(clauses, list) or not all(
        isinstance(text, str) for text in clauses
    ):
        raise BadInput(
            "the cell is not a list of strings",
            where=where,
            do="restore it from the release",
        )
    if not all(text.strip() for text in clauses):
        raise BadInput("one of the clauses is empty", where=where, do="drop it")
    return clauses


def _letters(title: str) -> str:
    """Return a title's letters and digits in lower case, without accents; file names differ in the rest."""
    plain = unicodedata.normalize("NFKD", title).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def _irregularities(
    documents: list[Document], clauses: list[Row], supplementary: list[Row]
) -> dict[str, int]:
    """Count disagreements of clause table and JSON, see `Release`."""
    notes: Counter[str] = Counter(
        dict.fromkeys(
            (
                "answers_with_the_text_of_another",
                "clause_pieces_that_are_no_answer",
                "clauses_that_skip_text",
                "clauses_without_a_supplementary_answer",
                "questions_answered_in_one_place_only",
                "supplementary_answers_without_a_clause",
            ),
            0,
        )
    )
    labelled = defaultdict(list)
    for clause in clauses:
        labelled[clause["contract_id"], clause["category"]].append(clause["text"])
        notes["clauses_that_skip_text"] += OMITTED in clause["text"]
    for document in documents:
        for question in document.questions:
            texts = {answer.text for answer in question.answers}
            clause_texts = labelled[document.contract_id, question.category]
            notes["questions_answered_in_one_place_only"] += bool(texts) != bool(
                clause_texts
            )
            notes["answers_with_the_text_of_another"] += len(question.answers) - len(
                texts
            )
            for clause in clause_texts:
                pieces = [clause] if clause in texts else clause.split(OMITTED)
                notes["clause_pieces_that_are_no_answer"] += sum(
                    piece.strip() not in texts for piece in pieces if piece.strip()
                )
    for row in supplementary:
        has_clause = bool(labelled[row["contract_id"], row["category"]])
        notes["clauses_without_a_supplementary_answer"] += (
            has_clause and not row["answer"]
        )
        notes["supplementary_answers_without_a_clause"] += not has_clause and row[
            "answer"
        ] not in ("", "No")
    return dict(sorted(notes.items()))
