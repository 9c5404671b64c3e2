"""From CUAD's released files to rows: every file is checked before anything is built from it.

``data.zip`` has the contracts and spans in SQuAD form: ``CUADv1.json`` (all), ``test.json``, and
``train_separate_questions.json`` (one answer an example, Section 4.1).  ``CUAD_v1.zip`` has the clause table
``master_clauses.csv``: a column of clauses and one of answers for each category; and the PDFs, whose folders
are the contracts' types.  ``category_descriptions.csv`` describes the categories.
"""

import ast
import io
import logging
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from lextables.papers.cuad.released_pdfs import Pdf, read_pdfs
from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.sources import archives, strict_csv
from lextables.tasks.spans.squad import Document, answer_rows, example_row, question_rows, read_squad

ALL, TEST, TRAIN = "CUADv1.json", "test.json", "train_separate_questions.json"
CLAUSE_TABLE = "master_clauses.csv"
OMITTED = "<omitted>"
_DESCRIPTIONS = {
    "Category (incl. context and answer)": "Category: ",
    "Description": "Description: ",
    "Answer Format": "Answer Format: ",
    "Group": "Group: ",
}

log = logging.getLogger("lextables")


@dataclass(frozen=True)
class Release:
    """The rows of the seven data sets, sorted by their keys, and what was odd, counted.

    The notes: rows of the clause table whose file name is not the contract's title; clauses that skip text;
    pieces of clauses that are no answer of their question; questions answered in the JSON and not in the
    clause table, or the other way round; answers with the same text as another of their question;
    supplementary answers (other than No) without a clause; categories of a contract that have clauses and
    no such answer; contracts without a PDF of their own, whose type and pages are those on record; PDFs whose
    pages cannot be counted, with the pages on record; PDFs of no contract; and PDFs of another folder or with
    other pages than on record.
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
    """Return the data set ``name``, which is the release's."""
    files = [published.file(file) for file in ("release", "clauses", "categories")]
    release = read_release(*files, published.facts["recorded"], published.given["contract_types"])
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
    pages by title, for the contracts whose PDF the zip has not.  Raises `BadInput` with the file, and the row
    or the key, for the first fault.
    """
    described = _descriptions(Path(category_descriptions_csv))
    documents = _contracts(Path(data_zip), described)
    names = [question.category for question in next(iter(documents.values())).questions]
    test = _test(Path(data_zip), documents, described)
    examples = _training_examples(Path(data_zip), documents, test, described)
    titles = _Titles(documents)
    recorded = _recorded(Path(recorded_csv))
    types, filed = _types(_pdfs(Path(cuad_v1_zip)), titles, recorded, contract_types, Path(cuad_v1_zip).name)
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
                for row in question_rows(document, "test" if document.contract_id in test else "train")
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
        notes={"file_names_unlike_their_title": renamed} | filed | _oddities(ordered, clauses, supplementary),
    )


def _member(path: Path, name: str) -> bytes:
    with archives.opened(path) as archive:
        return archive.read(archives.member(archive, name))


def _rows(content: bytes, name: str) -> Iterator[tuple[str, list[str]]]:
    return strict_csv.rows(io.BytesIO(content), name)


def _descriptions(path: Path) -> dict[str, Row]:
    """The categories' title, description, answer format and group by their title in lower case."""
    rows = _rows(path.read_bytes(), path.name)
    where, header = next(rows)
    if header != list(_DESCRIPTIONS):
        raise BadInput(f"the header is not {', '.join(_DESCRIPTIONS)}", where=where)
    described: dict[str, Row] = {}
    for where, cells in rows:
        values = []
        for cell, prefix in zip(cells, _DESCRIPTIONS.values(), strict=True):
            if not cell.startswith(prefix.rstrip()):
                raise BadInput(f"the cell {cell!r} does not start with {prefix.rstrip()!r}", where=where)
            values.append(cell.removeprefix(prefix.rstrip()).strip())
        title, description, answer_format, group = values
        if not title or title.casefold() in described:
            raise BadInput(
                f"the category {title!r} {'appears twice' if title else 'has no name'}", where=where
            )
        described[title.casefold()] = {
            "title": title,
            "description": description,
            "answer_format": answer_format,
            "group": "" if group == "-" else group,
        }
    return described


def _category(where: str, described: Mapping[str, Row]) -> Callable[[str, str], str]:
    """What `read_squad` asks for a question's category: the id less the contract's title.

    An example's id goes on with its number among the question's.
    """

    def category(question_id: str, contract_id: str) -> str:
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

    return category


def _contracts(data_zip: Path, described: Mapping[str, Row]) -> dict[str, Document]:
    """All contracts by title; each has one question for each category, worded as everywhere else."""
    documents: dict[str, Document] = {}
    wordings: dict[str, tuple[str, str]] = {}
    for document in read_squad(_member(data_zip, ALL), ALL, _category(ALL, described)):
        asked = set()
        for question in document.questions:
            folded, wording = question.category.casefold(), (question.category, question.question)
            if wordings.setdefault(folded, wording) != wording:
                raise BadInput(
                    "the question is spelled or worded otherwise than the first of its category",
                    where=f"{ALL}, question {question.question_id!r}",
                    do="give each category one name and one wording",
                )
            asked.add(folded)
        for folded, category in described.items():
            if folded not in asked:
                raise BadInput(
                    f"has no question of the category {category['title']!r}",
                    where=f"{ALL}, contract {document.contract_id!r}",
                    do="restore it",
                )
        documents[document.contract_id] = document
    if not documents:
        raise BadInput("holds no contract", where=ALL, do="fetch the release again")
    return documents


def _test(data_zip: Path, documents: Mapping[str, Document], described: Mapping[str, Row]) -> set[str]:
    """The titles of the test contracts, which must be what `ALL` has under these titles."""
    titles = set()
    for document in read_squad(_member(data_zip, TEST), TEST, _category(TEST, described)):
        whole = _whole(document, documents, TEST)
        there = {question.question_id: question for question in whole.questions}
        for question in document.questions:
            where = f"{TEST}, question {question.question_id!r}"
            same = there.pop(question.question_id, None)
            # The order of the answers inside a question carries no meaning.
            if same is None or (question.question, sorted(question.answers)) != (
                same.question,
                sorted(same.answers),
            ):
                raise BadInput(
                    f"differs from the question in {ALL}", where=where, do="take both from one release"
                )
        for question_id in there:
            raise BadInput(
                f"the question {question_id!r} of {ALL} is missing",
                where=f"{TEST}, contract {document.contract_id!r}",
                do="take both from one release",
            )
        titles.add(document.contract_id)
    return titles


def _training_examples(
    data_zip: Path, documents: Mapping[str, Document], test: set[str], described: Mapping[str, Row]
) -> list[Row]:
    """The rows of the training examples, which must be the answers that `ALL` has for the other contracts."""
    rows, titles = [], set()
    for document in read_squad(_member(data_zip, TRAIN), TRAIN, _category(TRAIN, described)):
        if document.contract_id in test:
            raise BadInput(
                f"the contract is in {TEST} as well",
                where=f"{TRAIN}, contract {document.contract_id!r}",
                do="keep it in one of the two",
            )
        whole = _whole(document, documents, TRAIN)
        examples = defaultdict(list)
        for example in document.questions:
            if len(example.answers) > 1:
                raise BadInput(
                    f"has {len(example.answers)} answers where an example has at most one",
                    where=f"{TRAIN}, question {example.question_id!r}",
                    do="give each answer an example",
                )
            examples[f"{document.contract_id}__{example.category}"].append(example)
        for question in whole.questions:
            parts = examples.pop(question.question_id, [])
            found = sorted(answer for part in parts for answer in part.answers)
            if len(parts) != max(1, len(found)) or found != sorted(question.answers):
                raise BadInput(
                    f"its {len(parts)} examples do not hold the {len(question.answers)} answers of {ALL},"
                    " once each",
                    where=f"{TRAIN}, question {question.question_id!r}",
                    do="take both from one release",
                )
            for part in parts:
                if part.question != question.question:
                    raise BadInput(
                        f"is worded otherwise than in {ALL}",
                        where=f"{TRAIN}, question {part.question_id!r}",
                        do="take both from one release",
                    )
                rows.append(example_row(document, part, question.question_id))
        for question_id in examples:
            raise BadInput(f"is no question of {ALL}", where=f"{TRAIN}, question {question_id!r}")
        titles.add(document.contract_id)
    for title in sorted(documents.keys() - titles - test):
        raise BadInput(
            f"the contract is neither in {TRAIN} nor in {TEST}",
            where=f"{ALL}, contract {title!r}",
            do="add it to one of the two",
        )
    return sorted(rows, key=itemgetter("example_id"))


def _whole(document: Document, documents: Mapping[str, Document], name: str) -> Document:
    """The contract of `ALL` with this title, whose text must be the same."""
    where = f"{name}, contract {document.contract_id!r}"
    whole = documents.get(document.contract_id)
    if whole is None:
        raise BadInput(f"the contract is not in {ALL}", where=where, do="take both from one release")
    if whole.text != document.text:
        raise BadInput(f"the text differs from that in {ALL}", where=where, do="take both from one release")
    return whole


class _Titles:
    """The contracts' titles, found by the names of their files, which may differ in signs and in case."""

    def __init__(self, documents: Iterable[str]) -> None:
        self.all = frozenset(documents)
        self._by_letters = defaultdict(list)
        for title in sorted(self.all):
            self._by_letters[_letters(title)].append(title)

    def of(self, name: str) -> list[str]:
        """The titles that a file's name, without its ending, may stand for."""
        return [name] if name in self.all else self._by_letters[_letters(name)]


@dataclass(frozen=True)
class _Filed:
    """Where the release files a contract's PDF, and how many pages it has."""

    folder: str
    pages: int

    def __str__(self) -> str:
        return f"the folder {self.folder} with {self.pages} pages"


def _recorded(path: Path) -> dict[str, _Filed]:
    """Folder and pages on record by title."""
    rows = _rows(path.read_bytes(), path.name)
    where, header = next(rows)
    if header != ["title", "release_folder", "pdf_pages"]:
        raise BadInput("the header is not title, release_folder, pdf_pages", where=where)
    recorded: dict[str, _Filed] = {}
    for where, (title, folder, pages) in rows:
        if title in recorded:
            raise BadInput(f"the contract {title!r} appears twice", where=where, do="drop one of the two")
        if not pages.isascii() or not pages.isdigit() or not int(pages):
            raise BadInput(f"pdf_pages is {pages!r} and no number of pages", where=where)
        recorded[title] = _Filed(folder, int(pages))
    return recorded


def _pdfs(cuad_v1_zip: Path) -> list[Pdf]:
    with archives.opened(cuad_v1_zip) as archive:
        return list(read_pdfs(archive))


def _types(
    pdfs: Iterable[Pdf],
    titles: _Titles,
    recorded: Mapping[str, _Filed],
    contract_types: Mapping[str, str],
    where: str,
) -> tuple[dict[str, Row], dict[str, int]]:
    """The type and the pages of each contract by its title, and what of the PDFs was odd, counted.

    What the PDFs do not say is taken from the record.
    """
    notes = Counter(
        contracts_without_a_pdf=0, pdfs_of_no_contract=0, pdfs_unlike_the_record=0, pdfs_without_pages=0
    )
    found = defaultdict(list)
    for pdf in pdfs:
        like = titles.of(pdf.name)
        if len(like) == 1:
            found[like[0]].append(pdf)
        else:
            notes["pdfs_of_no_contract"] += 1
            log.warning("%s: named like %d contracts of %s", pdf.member, len(like), ALL)
    types: dict[str, Row] = {}
    for title in sorted(titles.all):
        on_record, own = recorded.get(title), found.get(title, [])
        if len(own) == 1:
            (pdf,) = own
            notes["pdfs_without_pages"] += pdf.pages is None
            pages = pdf.pages or (on_record.pages if on_record else None)
            if pages is None:
                raise BadInput(
                    f"the pages of {pdf.member} cannot be counted, and none are on record",
                    where=where,
                    do="fetch the zip again",
                )
            filed = _Filed(pdf.folder, pages)
            if on_record not in (filed, None):
                notes["pdfs_unlike_the_record"] += 1
                log.warning("%s: %d pages, where on record is %s", pdf.member, pages, on_record)
        elif on_record:
            notes["contracts_without_a_pdf"] += 1
            # Of a zip without any the number says it.
            if found:
                log.warning("%s: %d PDFs of %r", where, len(own), title)
            filed = on_record
        else:
            raise BadInput(
                f"has {len(own)} PDFs of the contract {title!r} where there should be one, and its"
                " type is not on record",
                where=where,
                do="take the whole zip of the release",
            )
        if filed.folder not in contract_types:
            raise BadInput(
                f"the folder {filed.folder!r} of the contract {title!r} has no contract type",
                where=where,
                do="add it to contract_types of the paper's registry",
            )
        types[title] = {"contract_type": contract_types[filed.folder], "pages": filed.pages}
    return types, dict(notes)


def _clause_table(cuad_v1_zip: Path, titles: _Titles, names: list[str]) -> tuple[list[Row], list[Row], int]:
    """The rows of clauses and of answers, and how many file names are not their contract's title."""
    rows = _rows(_member(cuad_v1_zip, CLAUSE_TABLE), CLAUSE_TABLE)
    columns = _columns(*next(rows), names)
    clauses, supplementary = [], []
    met: dict[str, str] = {}
    renamed = 0
    for where, cells in rows:
        # One of the released names ends in a quote instead of a dot's extension: "….PDF'".
        name = re.sub(r"\.pdf\W*$", "", cells[0], flags=re.IGNORECASE)
        found = titles.of(name)
        if len(found) != 1:
            like = f"{len(found)} contracts" if found else "no contract"
            raise BadInput(
                f"the file {cells[0]!r} is named like {like} of {ALL}",
                where=where,
                do="give it the contract's title",
            )
        title = found[0]
        if title in met:
            raise BadInput(
                f"the contract {title!r} appears twice (first at {met[title]})",
                where=where,
                do="drop one of the two",
            )
        met[title] = where
        renamed += title != name
        for category, (clause_column, answer_column) in columns.items():
            clauses += [
                {"contract_id": title, "category": category, "index": index, "text": text}
                for index, text in enumerate(_clauses(cells[clause_column], f"{where}, column {category}"))
            ]
            answer = cells[answer_column].strip()
            supplementary.append({"contract_id": title, "category": category, "answer": answer})
    for title in sorted(titles.all - met.keys()):
        raise BadInput(f"the contract {title!r} has no row", where=CLAUSE_TABLE, do="restore its row")
    clauses.sort(key=itemgetter("contract_id", "category", "index"))
    supplementary.sort(key=itemgetter("contract_id", "category"))
    return clauses, supplementary, renamed


def _columns(where: str, header: list[str], names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """For each category the columns of its clauses and of its answer."""
    # One released header has a blank before "Answer".
    places: dict[str, int] = {}
    for number, cell in enumerate(header):
        places.setdefault(re.sub(r"-\s*Answer$", "-Answer", cell.strip()), number)
    columns = {}
    for name in names:
        for column in (name, f"{name}-Answer"):
            if column not in places:
                raise BadInput(f"there is no column {column!r}", where=where, do="restore the header")
        columns[name] = (places[name], places[f"{name}-Answer"])
    if header[0] != "Filename" or len(header) != 1 + 2 * len(columns):
        raise BadInput(
            f"the header is not Filename and two columns for each of the {len(columns)} categories",
            where=where,
            do="restore the header",
        )
    return columns


def _clauses(cell: str, where: str) -> list[str]:
    """The clauses of a cell, which is a list of strings as Python writes it."""
    try:
        clauses = ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        clauses = None
    if not isinstance(clauses, list) or not all(isinstance(text, str) for text in clauses):
        raise BadInput("the cell is not a list of strings", where=where, do="restore it from the release")
    if not all(text.strip() for text in clauses):
        raise BadInput("one of the clauses is empty", where=where, do="drop it")
    return clauses


def _letters(title: str) -> str:
    """A title's letters and digits in lower case, without accents: names of files differ in the rest."""
    plain = unicodedata.normalize("NFKD", title).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def _oddities(documents: list[Document], clauses: list[Row], supplementary: list[Row]) -> dict[str, int]:
    """What of the clause table and the JSON does not agree, counted; see `Release`."""
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
            found = labelled[document.contract_id, question.category]
            notes["questions_answered_in_one_place_only"] += bool(texts) != bool(found)
            notes["answers_with_the_text_of_another"] += len(question.answers) - len(texts)
            for clause in found:
                pieces = [clause] if clause in texts else clause.split(OMITTED)
                notes["clause_pieces_that_are_no_answer"] += sum(
                    piece.strip() not in texts for piece in pieces if piece.strip()
                )
    for row in supplementary:
        found = labelled[row["contract_id"], row["category"]]
        notes["clauses_without_a_supplementary_answer"] += bool(found) and not row["answer"]
        notes["supplementary_answers_without_a_clause"] += not found and row["answer"] not in ("", "No")
    return dict(sorted(notes.items()))
