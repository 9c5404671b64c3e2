"""Read and check MAUD's released files: questions about deal points, and the extraction task.

``maud_v1.zip`` has ``MAUD_{train,dev,test}.csv``, written by pandas, and the agreements as
``contracts/contract_N.txt``.  The extraction task has a SQuAD file for each split (Appendix A.14).  If these
are not available, LegalBench-RAG's spans of the agreements are used.
"""

import hashlib
import itertools
import logging
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from lextables.corpora.snippets import Snippet, match_files, read_queries
from lextables.papers.maud import constraints
from lextables.papers.maud.catalogue import (
    DATA_TYPES,
    NO_SUBQUESTION,
    SPLITS,
    AuthorSettings,
    Catalogue,
    Head,
    author_number,
    collapse_space,
    read_author_settings,
    read_recorded,
    released_catalogue,
)
from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.sources import archives
from lextables.sources.records import csv_records, whole_number
from lextables.tasks.classification.schema import JOINT
from lextables.tasks.spans import squad

COLUMNS = (
    "data_type",
    "contract_name",
    "text",
    "answer",
    "label",
    "question",
    "subquestion",
    "text_type",
)
COLUMNS += ("category", "id")
_NO_ANSWERS = {"(None entered)", ".."}  # not in the released code's lists
_NO_CONTRACT = re.compile(r"<.*>")  # <RARE_ANSWERS>: an edited text has no contract
_CONTRACT_FILE = re.compile(r"(?:.*/)?contracts/(contract_\d+)\.txt")
# The wording in A.14; other quotes and white space are accepted.
QUESTION = "Highlight the parts of the text (if any) related to “{}” that should be reviewed by a lawyer."
_QUESTION_TYPE = re.compile(
    r'related to ["“](.+?)["”] that should be reviewed by a lawyer'
)

log = logging.getLogger("lextables")


@dataclass(frozen=True)
class Release:
    """The rows of `examples` and `texts`, sorted by their keys, and counts of irregularities.

    The notes count rows without a contract; repeated rare-answer rows (the release removes repeated rows of
    the abridged data only); abridged and rare rows of multilabel questions with an answer outside the
    question's list (the release made the list from the main data); rows whose ``id`` is not the authors'.
    """

    examples: list[Row]
    texts: list[Row]
    notes: dict[str, int]


@dataclass(frozen=True)
class Extraction:
    """The sorted rows of the extraction task's four tables, and counts of what was left out."""

    contracts: list[Row]
    questions: list[Row]
    answers: list[Row]
    training_examples: list[Row]
    notes: dict[str, int]


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set `maud` or `maud_extraction`."""
    return {"maud": _classification, "maud_extraction": _extraction}[name](published)


def _catalogue(published: Published) -> tuple[Catalogue, dict[str, int]]:
    settings, path = published.given, published.facts["recorded"]
    recorded = read_recorded(
        path.read_bytes(), path.name, settings["questions"], settings["heads"]
    )
    return read_catalogue(published.file("release"), recorded)


def _classification(published: Published) -> Rows:
    """Questions, texts and answers, the authors' settings, and checks of the rows."""
    path, rules = published.file("release"), published.given["constraints"]
    catalogue, catalogue_notes = _catalogue(published)
    settings = read_author_settings(
        {path.as_posix(): path.read_bytes() for path in published.files["single"]},
        {
            path.name: (path.read_bytes(), abridged)
            for name, abridged in (("with_abridged", True), ("without_abridged", False))
            for path in published.files[name]
        },
        catalogue,
    )
    released = read_release(path, catalogue, settings.author_numbers)
    conditions = [
        constraints.Condition(rule["question"], rule["needs"], tuple(rule["answers"]))
        for rule in rules["conditional"]
    ]
    overlap = constraints.split_overlap(released.examples)
    counts = constraints.answer_counts(released.examples, catalogue)
    undefined = constraints.undefined_in_test(counts)
    for head in undefined:
        log.warning("%s", head.sentence)
    notes = released.notes | catalogue_notes | constraints.overlap_notes(overlap)
    notes |= {
        "heads_with_examples": len({row["head_id"] for row in counts}),
        "heads_with_one_answer_in_test": sum(
            head.only_answer is not None for head in undefined
        ),
        "heads_without_every_answer_in_test": len(undefined),
        "conditions_of_no_question": len(constraints.unchecked(catalogue, conditions)),
    }
    rows = {
        "examples": released.examples,
        "texts": released.texts,
        "questions": catalogue.rows(settings.author_numbers),
        "contracts": contract_rows(path, released.examples),
        "hyperparameters": settings.hyperparameters,
        "multi_task_grid": settings.multi_task_grid,
        "answer_counts": counts,
        "split_overlap": overlap,
        "constraint_violations": constraints.constraint_violations(
            released.examples, rules["none_of_the_above"], conditions
        ),
        "published_settings": sorted(
            published_settings(settings),
            key=lambda row: (
                row["model"],
                row["setting"],
                row["share"],
                row["head_id"],
            ),
        ),
    }
    return Rows(rows, notes)


def published_settings(settings: AuthorSettings) -> Iterator[Row]:
    """Yield the authors' best settings: for each head, and with the abridged data for all heads."""
    for row in settings.hyperparameters:
        yield _setting(
            row, "single", row["share"], row["head_id"], updates=row["updates"]
        )
    best: dict[str, Row] = {}
    for row in settings.multi_task_grid:
        if row["abridged"]:
            first = best.setdefault(row["model"], row)
            best[row["model"]] = max(first, row, key=lambda row: row["validation_aupr"])
    for row in best.values():
        yield _setting(row, "multi", 1.0, JOINT, epochs=row["epochs"])


def _setting(
    row: Row, setting: str, share: float, head: str, updates: int = 0, epochs: int = 0
) -> Row:
    return {
        "model": row["model"],
        "setting": setting,
        "share": share,
        "head_id": head,
        "learning_rate": row["learning_rate"],
        "updates": updates,
        "epochs": epochs,
    }


def _extraction(published: Published) -> Rows:
    """The extraction task: a SQuAD file for each split, or the spans of LegalBench-RAG."""
    catalogue, _ = _catalogue(published)
    files, settings = published.files["extraction"], published.given
    if len(files) == 1:
        rows = read_legalbench_rag(
            files[0],
            published.file("release"),
            catalogue,
            settings["legalbench_queries"],
        )
    else:
        of_split = {
            split: path
            for split in SPLITS
            for path in files
            if path.stem.endswith(split)
        }
        rows = read_squad_release(of_split, catalogue, settings["printed_types"])
    return Rows(vars(rows), rows.notes)


def read_release(
    path: str | Path, catalogue: Catalogue, author_numbers: Mapping[str, str]
) -> Release:
    """Read and check the three csv files of the zip at ``path``.

    ``author_numbers`` maps a head to the ``id`` of its rows.  Raises `BadInput` with file and row (as an
    editor counts lines) for the first error.
    """
    rows = _ExampleRows(catalogue, author_numbers)
    for split, place, where, record in _all_records(path):
        rows.add(split, place, where, record)
    texts = [
        {
            "text_id": text_id,
            "text": text,
            "words": len(text.split()),
            "examples": rows.uses[text_id],
        }
        for text_id, text in sorted(rows.texts.items())
    ]
    return Release(rows.examples, texts, dict(sorted(rows.notes.items())))


def read_catalogue(
    path: str | Path, recorded: Catalogue
) -> tuple[Catalogue, dict[str, int]]:
    """Return the questions of the csv files in the zip, and notes; see `released_catalogue`."""
    return released_catalogue((record for *_, record in _all_records(path)), recorded)


def _all_records(path: str | Path) -> Iterator[tuple[str, int, str, dict[str, str]]]:
    """Yield (split, 1-based place in its file, place for messages, record) of the csv files.

    Columns may have any order; the string "None" is an answer.
    """
    with archives.opened(path) as archive:
        for split in sorted(SPLITS):
            name = f"MAUD_{split}.csv"
            with archive.open(archives.member(archive, name)) as lines:
                for place, (where, record) in enumerate(
                    csv_records(lines, name, COLUMNS), 1
                ):
                    yield split, place, where, record


class _ExampleRows:
    """Collects examples and texts.  Files are read in the order of their names, so examples are sorted."""

    def __init__(self, catalogue: Catalogue, author_numbers: Mapping[str, str]) -> None:
        self.catalogue, self.author_numbers = catalogue, author_numbers
        self.examples: list[Row] = []
        self.texts: dict[str, str] = {}
        self.uses: Counter[str] = Counter()
        self.first: dict[bytes, str] = {}
        self.notes: Counter[str] = Counter(
            rows_without_a_contract=0,
            rare_rows_that_stand_twice=0,
            answers_outside_the_list=0,
            rows_whose_id_is_not_the_authors=0,
        )

    def add(
        self, split: str, place: int, where: str, record: Mapping[str, str]
    ) -> None:
        data_type = DATA_TYPES.get(record["data_type"])
        if data_type is None:
            raise BadInput(
                f"the data type {record['data_type']!r} is not known",
                where=where,
                do=f"use one of {', '.join(DATA_TYPES)}",
            )
        if not record["text"].strip():
            raise BadInput(
                "the text is empty", where=where, do="restore it from the release"
            )
        self._check_once(data_type, where, record)
        head = self._head(where, record)
        label = self._label(head, data_type, where, record)
        contract: str | None = record["contract_name"]
        if _NO_CONTRACT.fullmatch(contract):
            contract = None
            self.notes["rows_without_a_contract"] += 1
        if author_number(record["id"]) != self.author_numbers[head.head_id]:
            self.notes["rows_whose_id_is_not_the_authors"] += 1
        text_id = hashlib.sha256(record["text"].encode()).hexdigest()[:16]
        text = self.texts.setdefault(text_id, record["text"])
        assert text == record["text"], "two texts share 64 bits of their SHA-256"
        self.uses[text_id] += 1
        self.examples.append(
            {
                "example_id": f"{split}-{place:05d}",
                "split": split,
                "data_type": data_type,
                "contract": contract,
                "head_id": head.head_id,
                "question": head.question.question,
                "subquestion": head.subquestion,
                "text_type": head.question.text_type,
                "category": head.question.category,
                "answer": record["answer"],
                "label": label,
                "text_id": text_id,
            }
        )

    def _check_once(
        self, data_type: str, where: str, record: Mapping[str, str]
    ) -> None:
        cells = hashlib.sha256(
            "\0".join(record[column] for column in COLUMNS).encode()
        ).digest()
        if cells not in self.first:
            self.first[cells] = where
        elif data_type == "rare":
            self.notes["rare_rows_that_stand_twice"] += 1
        else:
            raise BadInput(
                f"the row appears twice (first at {self.first[cells]})",
                where=where,
                do="drop one of the two",
            )

    def _head(self, where: str, record: Mapping[str, str]) -> Head:
        question = self.catalogue.question(record["question"])
        if question is None:
            raise BadInput(
                f"the question {record['question']!r} is not in the catalogue",
                where=where,
            )
        for column, expected in (
            ("text_type", question.text_type),
            ("category", question.category),
        ):
            if collapse_space(record[column]) != collapse_space(expected):
                raise BadInput(
                    f"the {column} is {record[column]!r} where {question.question!r} has {expected!r}",
                    where=where,
                )
        subquestion = (
            None if record["subquestion"] == NO_SUBQUESTION else record["subquestion"]
        )
        head = self.catalogue.head(question, subquestion)
        if head is None:
            allowed = "one of its answers" if question.multilabel else NO_SUBQUESTION
            raise BadInput(
                f"{question.question!r} has no subquestion {record['subquestion']!r}",
                where=where,
                do=f"write {allowed} there",
            )
        return head

    def _label(
        self, head: Head, data_type: str, where: str, record: Mapping[str, str]
    ) -> int:
        answer, answers = record["answer"], head.question.answers
        label = whole_number(record["label"])
        if label is None:
            raise BadInput(
                f"the label {record['label']!r} is not a whole number", where=where
            )
        if head.subquestion is None:
            labels = {collapse_space(text): place for place, text in enumerate(answers)}
            expected = labels.get(collapse_space(answer))
            outside = [answer] if expected is None else []
        else:
            # Not stripped, as in the released code: an answer after two spaces does not count.
            selected = answer.split(", ")
            expected = int(record["subquestion"] in selected)
            listed = {collapse_space(text) for text in answers} | _NO_ANSWERS
            outside = sorted({collapse_space(text) for text in selected} - listed)
        if outside and (head.subquestion is None or data_type == "main"):
            raise BadInput(
                f"the answer {outside[0]!r} is not in the list of {head.question.question!r}",
                where=where,
                do=f"use one of {'; '.join(answers)}",
            )
        self.notes["answers_outside_the_list"] += bool(outside)
        if label != expected:
            raise BadInput(
                f"the label is {record['label']} where the answer {answer!r} has the label {expected}",
                where=where,
                do="correct the one or the other",
            )
        return int(expected)


def contract_rows(path: str | Path, examples: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of `contracts`, one text in memory at a time.

    These are the contracts of the zip and those of the examples; the latter may have no text in the zip.
    """
    used = Counter(
        example["contract"] for example in examples if example["contract"] is not None
    )
    with archives.opened(path) as archive:
        files = _contract_files(archive, Path(path).name)
        for contract in sorted(files.keys() | used.keys()):
            yield {
                "contract_id": contract,
                "examples": used[contract],
                "text": _contract_text(archive, files[contract])
                if contract in files
                else None,
            }


def _contract_files(archive: zipfile.ZipFile, zip_name: str) -> dict[str, str]:
    files: dict[str, str] = {}
    for name in archive.namelist():
        if match := _CONTRACT_FILE.fullmatch(name):
            if match[1] in files:
                raise BadInput(
                    f"holds two texts of {match[1]}",
                    where=zip_name,
                    do="drop one of the two",
                )
            files[match[1]] = name
    return files


def _contract_text(archive: zipfile.ZipFile, name: str) -> str:
    text = archives.text(archive, name)
    if not text.strip():
        raise BadInput(
            "the contract is empty", where=name, do="restore the file from the release"
        )
    return text


def read_squad_release(
    files: Mapping[str, str | Path], catalogue: Catalogue, printed: Mapping[str, str]
) -> Extraction:
    """Read the extraction task's SQuAD files: ``files`` maps a split to its file.

    ``printed`` maps a deal point type as spelled in these files to that of the catalogue, if they differ.
    Raises `BadInput` with file and question for the first error.
    """
    types = {collapse_space(text_type): text_type for text_type in catalogue.text_types}
    types |= {
        collapse_space(other): types[collapse_space(text_type)]
        for other, text_type in printed.items()
    }
    rows = _ExtractionRows()
    for split in sorted(files):
        name = Path(files[split]).name
        # The type is in the question's wording, which the paper defines; ids may be anything.
        for document in squad.read_squad(
            Path(files[split]).read_bytes(), name, lambda _, __: ""
        ):
            rows.add(split, _typed(document, types, name))
    return rows.sorted(
        {
            "questions_without_an_answer": sum(
                not row["answers"] for row in rows.questions
            )
        }
    )


def _typed(
    document: squad.Document, types: Mapping[str, str], name: str
) -> squad.Document:
    questions, first = [], {}
    for question in document.questions:
        where = f"{name}, question {question.question_id!r}"
        match = _QUESTION_TYPE.search(collapse_space(question.question))
        text_type = types.get(collapse_space(match[1])) if match else None
        if text_type is None:
            raise BadInput(
                f"asks about no known deal point type: {question.question!r:.120}",
                where=where,
            )
        if text_type in first:
            raise BadInput(
                f"asks {document.contract_id} about {text_type!r} again, after {first[text_type]!r}",
                where=where,
                do="drop one of the two",
            )
        first[text_type] = question.question_id
        questions.append(replace(question, category=text_type))
    return replace(document, questions=tuple(questions))


class _ExtractionRows:
    """Collects the rows of the four tables."""

    def __init__(self) -> None:
        self.contracts: list[Row] = []
        self.questions: list[Row] = []
        self.answers: list[Row] = []
        self.examples: list[Row] = []
        self.split_of: dict[str, str] = {}

    def add(self, split: str, document: squad.Document) -> None:
        contract = document.contract_id
        if contract in self.split_of:
            raise BadInput(
                f"{contract} is in {self.split_of[contract]} and in {split}",
                do="keep it in one split",
            )
        self.split_of[contract] = split
        self.contracts.append(
            {"contract_id": contract, "split": split, "text": document.text}
        )
        self.questions += squad.question_rows(document, split)
        self.answers += squad.answer_rows(document)
        for question in document.questions:
            parts = [
                replace(
                    question,
                    question_id=f"{question.question_id}_{index}",
                    answers=(answer,),
                )
                for index, answer in enumerate(question.answers)
            ] or [replace(question, question_id=f"{question.question_id}_0")]
            self.examples += [
                squad.example_row(document, part, question.question_id)
                for part in parts
            ]

    def sorted(self, notes: dict[str, int]) -> Extraction:
        return Extraction(
            sorted(self.contracts, key=itemgetter("contract_id")),
            sorted(self.questions, key=itemgetter("question_id")),
            sorted(self.answers, key=itemgetter("question_id", "index")),
            sorted(self.examples, key=itemgetter("example_id")),
            notes,
        )


def read_legalbench_rag(
    spans: str | Path,
    path: str | Path,
    catalogue: Catalogue,
    queries: Mapping[str, str],
) -> Extraction:
    """Map LegalBench-RAG's spans onto the contracts of the zip at ``path``.

    ``queries`` maps the part of a query after the agreement's name to a deal point type; annotations of other
    queries have no type in the extraction task and are left out and counted.  Files are named by the parties;
    each is matched to the only contract that has all its spans at their offsets.  A contract has questions
    only for its annotated types, because LegalBench-RAG dropped spans that it could not locate.

    The split is ours, see `split_contracts`.
    """
    name = Path(spans).name
    files: dict[str, dict[str, list[Snippet]]] = {}
    notes: Counter[str] = Counter(
        annotations=0, spans=0, annotations_of_no_type=0, spans_of_no_type=0
    )
    type_of = {collapse_space(query): text_type for query, text_type in queries.items()}
    for where, text, file, snippets in read_queries(Path(spans)):
        query = collapse_space(
            text.partition(";")[2]
        )  # after "Consider the <agreement>;"
        notes["annotations"] += 1
        notes["spans"] += len(snippets)
        if query in files.setdefault(file, {}):
            raise BadInput(
                f"asks {query!r} of {file} again", where=where, do="drop one of the two"
            )
        files[file][query] = snippets
        if query not in type_of:
            notes["annotations_of_no_type"] += 1
            notes["spans_of_no_type"] += len(snippets)
    with archives.opened(path) as archive:
        members = _contract_files(archive, Path(path).name)
        contracts = (
            (contract, _contract_text(archive, members[contract]))
            for contract in sorted(members)
        )
        all_snippets = {
            file: [*itertools.chain(*files[file].values())] for file in sorted(files)
        }
        contract_of = match_files(all_snippets, contracts, name)
        splits = split_contracts(contract_of.values())
        rows = _ExtractionRows()
        for file, contract in contract_of.items():
            of_type = {
                type_of[query]: snippets
                for query, snippets in files[file].items()
                if query in type_of
            }
            questions = tuple(
                squad.Question(
                    f"{contract}__{text_type}",
                    text_type,
                    QUESTION.format(text_type),
                    tuple(
                        squad.Answer(s.span[0], s.answer) for s in of_type[text_type]
                    ),
                )
                for text_type in catalogue.text_types
                if text_type in of_type
            )
            document = squad.Document(
                contract, _contract_text(archive, members[contract]), questions
            )
            rows.add(splits[contract], document)
    return rows.sorted(dict(notes))


def split_contracts(contracts: Iterable[str]) -> dict[str, str]:
    """Return {contract: split}, 80-10-10 as in Appendix A.14, in the order of the SHA-256 of contract ids."""
    shuffled = sorted(
        contracts, key=lambda contract: hashlib.sha256(contract.encode()).hexdigest()
    )
    tenth = round(len(shuffled) / 10)
    names = itertools.chain(
        ["dev"] * tenth, ["test"] * tenth, itertools.repeat("train")
    )
    return dict(zip(shuffled, names, strict=False))
