"""Read MAUD's released files: questions about deal points, and the extraction task.

``maud_v1.zip`` has ``MAUD_{train,dev,test}.csv``, written by pandas, and the agreements
as ``contracts/contract_N.txt``.  The extraction task has a SQuAD file for each split
(Appendix A.14).  If these are not available, LegalBench-RAG's spans of the agreements
are used.

The registry has a digest of each file.  No complete release was read so far, so each
row is checked against the recorded questions and answers.
"""

import hashlib
import itertools
import json
import logging
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from lextables.papers.maud import constraints
from lextables.papers.maud.catalogue import (
    DATA_TYPES,
    NO_SUBQUESTION,
    SPLITS,
    AuthorSettings,
    Catalogue,
    Head,
    collapse_space,
    read_author_settings,
    read_catalogue,
)
from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.sources import archives
from lextables.sources.records import csv_records
from lextables.tasks.classification.schema import JOINT
from lextables.tasks.spans import squad

COLUMNS = ("data_type", "contract_name", "text", "answer", "label", "question")
_NO_CONTRACT = re.compile(r"<.*>")  # <RARE_ANSWERS>: an edited text has no contract
_CONTRACT_FILE = re.compile(r"(?:.*/)?contracts/(contract_\d+)\.txt")
# The wording in A.14; other quotes and white space are accepted.
QUESTION = "Highlight the parts of the text (if any) related to “{}” that should be reviewed by a lawyer."
_QUESTION_TYPE = re.compile(
    r'related to ["“](.+?)["”] that should be reviewed by a lawyer'
)

log = logging.getLogger("lextables")


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set `maud` or `maud_extraction`."""
    catalogue = read_catalogue(published.facts["recorded"].read_bytes())
    readers = {"maud": _classification, "maud_extraction": _extraction}
    return readers[name](published, catalogue)


# Questions about deal points


def _classification(published: Published, catalogue: Catalogue) -> Rows:
    """Return questions, texts and answers, the authors' settings, and checks of the
    rows.
    """
    path = published.file("release")
    rules = published.given["constraints"]
    settings = read_author_settings(
        {path.as_posix(): path.read_bytes() for path in published.files["single"]},
        [
            (published.file("with_abridged").read_bytes(), True),
            (published.file("without_abridged").read_bytes(), False),
        ],
        catalogue,
    )
    examples, texts = read_release(path, catalogue)
    conditions = [
        constraints.Condition(rule["question"], rule["needs"], tuple(rule["answers"]))
        for rule in rules["conditional"]
    ]
    overlap = constraints.split_overlap(examples)
    counts = constraints.answer_counts(examples, catalogue)
    undefined = constraints.undefined_in_test(counts)
    for head in undefined:
        log.warning("%s", head.sentence)
    one_answer = [head for head in undefined if head.only_answer is not None]
    notes = constraints.overlap_notes(overlap) | {
        "heads_with_examples": len({row["head_id"] for row in counts}),
        "heads_with_one_answer_in_test": len(one_answer),
        "heads_without_every_answer_in_test": len(undefined),
        "conditions_of_no_question": len(constraints.unchecked(catalogue, conditions)),
        "rows_without_a_contract": sum(row["contract"] is None for row in examples),
    }
    order = itemgetter("model", "setting", "share", "head_id")
    rows = {
        "examples": examples,
        "texts": texts,
        "questions": catalogue.rows(settings.author_numbers),
        "contracts": contract_rows(path, examples),
        "hyperparameters": settings.hyperparameters,
        "multi_task_grid": settings.multi_task_grid,
        "answer_counts": counts,
        "split_overlap": overlap,
        "constraint_violations": constraints.constraint_violations(
            examples, rules["none_of_the_above"], conditions
        ),
        "published_settings": sorted(published_settings(settings), key=order),
    }
    return Rows(rows, notes)


def published_settings(settings: AuthorSettings) -> Iterator[Row]:
    """Yield the authors' best settings, as rows of `published_settings`.

    For single-task training they are the settings of each model and head.  For
    multi-task training they are the settings of each model's best training that also
    used the abridged data.
    """
    for row in settings.hyperparameters:
        yield {
            "model": row["model"],
            "setting": "single",
            "share": row["share"],
            "head_id": row["head_id"],
            "learning_rate": row["learning_rate"],
            "updates": row["updates"],
            "epochs": 0,
        }
    best: dict[str, Row] = {}
    for row in settings.multi_task_grid:
        if row["abridged"]:
            first = best.setdefault(row["model"], row)
            best[row["model"]] = max(first, row, key=itemgetter("validation_aupr"))
    for row in best.values():
        yield {
            "model": row["model"],
            "setting": "multi",
            "share": 1.0,
            "head_id": JOINT,
            "learning_rate": row["learning_rate"],
            "updates": 0,
            "epochs": row["epochs"],
        }


def read_release(path: Path, catalogue: Catalogue) -> tuple[list[Row], list[Row]]:
    """Return the rows of `examples` and `texts` of the zip, sorted by their keys.

    Raises `BadInput` with file and row (as an editor counts lines) for a row whose
    question or label differs from the catalogue's.
    """
    examples: list[Row] = []
    texts = {}
    for split, place, where, record in _records(path):
        head = _head(record, catalogue, where)
        text_id = hashlib.sha256(record["text"].encode()).hexdigest()[:16]
        texts[text_id] = record["text"]
        contract: str | None = record["contract_name"]
        if _NO_CONTRACT.fullmatch(record["contract_name"]):
            contract = None
        example = {
            "example_id": f"{split}-{place:05d}",
            "split": split,
            "data_type": DATA_TYPES[record["data_type"]],
            "contract": contract,
            "head_id": head.head_id,
            "question": head.question.question,
            "subquestion": head.subquestion,
            "text_type": head.question.text_type,
            "category": head.question.category,
            "answer": record["answer"],
            "label": int(record["label"]),
            "text_id": text_id,
        }
        examples.append(example)
    uses = Counter(example["text_id"] for example in examples)
    text_rows: list[Row] = []
    for text_id, text in sorted(texts.items()):
        row = {
            "text_id": text_id,
            "text": text,
            "words": len(text.split()),
            "examples": uses[text_id],
        }
        text_rows.append(row)
    return examples, text_rows


def _records(path: Path) -> Iterator[tuple[str, int, str, dict[str, str]]]:
    """Yield (split, 1-based place in its file, place for messages, record) of the csv
    files.

    Columns may have any order; the string "None" is an answer.
    """
    with archives.opened(path) as archive:
        for split in sorted(SPLITS):
            name = f"MAUD_{split}.csv"
            with archive.open(archives.member(archive, name)) as lines:
                records = csv_records(lines, name, COLUMNS)
                for place, (where, record) in enumerate(records, 1):
                    yield split, place, where, record


def _head(record: Mapping[str, str], catalogue: Catalogue, where: str) -> Head:
    """Return the head of a row; raise `BadInput` if its label is not its answer's."""
    head = catalogue.head(record["question"], record["subquestion"])
    if head is None:
        raise BadInput(
            f"the question {record['question']!r} with the subquestion"
            f" {record['subquestion']!r} is not recorded",
            where=where,
            do="correct resources/facts/maud_questions.yaml",
        )
    answer = record["answer"]
    if record["subquestion"] == NO_SUBQUESTION:
        answers = map(collapse_space, head.answers)
        labels = {text: str(label) for label, text in enumerate(answers)}
        label = labels.get(collapse_space(answer))
    else:
        # Not stripped, as in the released code: an answer after two spaces does not
        # count.
        label = str(int(record["subquestion"] in answer.split(", ")))
    if record["label"] != label:
        raise BadInput(
            f"the label is {record['label']} where the answer {answer!r} has the label {label}",
            where=where,
            do="correct resources/facts/maud_questions.yaml",
        )
    return head


def contract_rows(path: Path, examples: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of `contracts`, one text in memory at a time.

    These are the contracts of the zip, and the contracts of the examples, which may
    have no text in the zip.
    """
    used = Counter(example["contract"] for example in examples)
    del used[None]
    with archives.opened(path) as archive:
        members = _contract_members(archive)
        for contract in sorted(members.keys() | used.keys()):
            text = None
            if contract in members:
                text = archives.text(archive, members[contract])
            yield {"contract_id": contract, "examples": used[contract], "text": text}


def _contract_members(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return {contract: its member of the zip}."""
    matches = map(_CONTRACT_FILE.fullmatch, archive.namelist())
    return {match[1]: match[0] for match in matches if match}


# The extraction task


def _extraction(published: Published, catalogue: Catalogue) -> Rows:
    """Return the extraction task: from a SQuAD file for each split, or from
    LegalBench-RAG's spans.
    """
    files = published.files["extraction"]
    settings = published.given
    if len(files) > 1:
        return read_squad_release(files, catalogue, settings["printed_types"])
    return read_legalbench_rag(
        files[0], published.file("release"), catalogue, settings["legalbench_queries"]
    )


def read_squad_release(
    files: Iterable[Path], catalogue: Catalogue, printed: Mapping[str, str]
) -> Rows:
    """Return the rows of the extraction task's SQuAD files, whose names end in the
    split.

    ``printed`` maps a deal point type as spelled in these files to that of the
    catalogue, if they differ.  Raises `BadInput` for a question about an unknown type.
    """
    types = {collapse_space(text_type): text_type for text_type in catalogue.text_types}
    for spelling, text_type in printed.items():
        types[collapse_space(spelling)] = text_type
    documents = []
    for path in files:
        split = path.stem.rpartition("_")[2]
        # The type is in the question's wording, which the paper defines; ids may be
        # anything.
        for document in squad.read_squad(path.read_bytes(), path.name, lambda *_: ""):
            documents.append((split, _with_types(document, types, path.name)))
    rows = _extraction_rows(documents)
    without = [row for row in rows["questions"] if not row["answers"]]
    return Rows(rows, {"questions_without_an_answer": len(without)})


def _with_types(
    document: squad.Document, types: Mapping[str, str], name: str
) -> squad.Document:
    """Return a document whose questions have the deal point type as category."""
    questions = []
    for question in document.questions:
        match = _QUESTION_TYPE.search(collapse_space(question.question))
        text_type = types.get(collapse_space(match[1])) if match else None
        if text_type is None:
            raise BadInput(
                f"asks about no known deal point type: {question.question!r:.120}",
                where=f"{name}, question {question.question_id!r}",
                do="add its type to printed_types in resources/papers/maud.yaml",
            )
        questions.append(replace(question, category=text_type))
    return replace(document, questions=tuple(questions))


def _extraction_rows(
    documents: Iterable[tuple[str, squad.Document]],
) -> dict[str, list[Row]]:
    """Return the sorted rows of the four tables of (split, document) pairs.

    A question has a training example for each answer, or one if it has no answer.
    """
    contracts: list[Row] = []
    questions: list[Row] = []
    answers: list[Row] = []
    examples: list[Row] = []
    for split, document in documents:
        contract = {
            "contract_id": document.contract_id,
            "split": split,
            "text": document.text,
        }
        contracts.append(contract)
        questions += squad.question_rows(document, split)
        answers += squad.answer_rows(document)
        for question in document.questions:
            for index in range(max(1, len(question.answers))):
                example_id = f"{question.question_id}_{index}"
                single = question.answers[index : index + 1]
                example = replace(question, question_id=example_id, answers=single)
                row = squad.example_row(document, example, question.question_id)
                examples.append(row)
    return {
        "contracts": sorted(contracts, key=itemgetter("contract_id")),
        "questions": sorted(questions, key=itemgetter("question_id")),
        "answers": sorted(answers, key=itemgetter("question_id", "index")),
        "training_examples": sorted(examples, key=itemgetter("example_id")),
    }


Snippet = Mapping[str, Any]


def read_legalbench_rag(
    spans: Path, release: Path, catalogue: Catalogue, queries: Mapping[str, str]
) -> Rows:
    """Map LegalBench-RAG's spans onto the contracts of the zip ``release``.

    The format is ``{"tests": [{"query", "snippets": [{"file_path", "span",
    "answer"}]}]}``.  ``queries`` maps the part of a query after the agreement's name to
    a deal point type; annotations of other queries have no type in the extraction task
    and are left out and counted.  A contract has questions only for its annotated
    types, because LegalBench-RAG dropped spans that it could not locate.

    The split is ours, see `split_contracts`.
    """
    type_of = {collapse_space(query): text_type for query, text_type in queries.items()}
    # {file: {deal point type, or None for another query: its snippets}}
    files: dict[str, dict[str | None, list[Snippet]]] = defaultdict(
        lambda: defaultdict(list)
    )
    notes = Counter(annotations_of_no_type=0, spans_of_no_type=0)
    for annotation in json.loads(spans.read_bytes())["tests"]:
        # The query begins with "Consider the <agreement>;".
        query = collapse_space(annotation["query"].partition(";")[2])
        snippets = annotation["snippets"]
        text_type = type_of.get(query)
        files[snippets[0]["file_path"]][text_type] += snippets
        notes.update(annotations=1, spans=len(snippets))
        if text_type is None:
            notes.update(annotations_of_no_type=1, spans_of_no_type=len(snippets))
    documents = []
    with archives.opened(release) as archive:
        for contract, member in sorted(_contract_members(archive).items()):
            text = archives.text(archive, member)
            file = _file_of(text, files)
            if file:
                questions = _questions(contract, files[file], catalogue.text_types)
                documents.append(squad.Document(contract, text, questions))
    splits = split_contracts(document.contract_id for document in documents)
    rows = _extraction_rows((splits[each.contract_id], each) for each in documents)
    return Rows(rows, notes)


def _file_of(
    text: str, files: Mapping[str, Mapping[str | None, Sequence[Snippet]]]
) -> str | None:
    """Return the file whose snippets are all at their places in a contract's text; None
    if there is no such file.
    """
    for file, snippets_of in files.items():
        snippets = itertools.chain.from_iterable(snippets_of.values())
        if all(text[slice(*each["span"])] == each["answer"] for each in snippets):
            return file
    return None


def _questions(
    contract: str,
    snippets_of: Mapping[str | None, Sequence[Snippet]],
    text_types: Iterable[str],
) -> tuple[squad.AnnotatedQuestion, ...]:
    """Return a contract's questions of the annotated types, in the catalogue's
    order.
    """
    questions = []
    for text_type in text_types:
        if text_type in snippets_of:
            answers = []
            for snippet in snippets_of[text_type]:
                start, _ = snippet["span"]
                answers.append(squad.Answer(start, snippet["answer"]))
            question = squad.AnnotatedQuestion(
                f"{contract}__{text_type}",
                text_type,
                QUESTION.format(text_type),
                tuple(answers),
            )
            questions.append(question)
    return tuple(questions)


def split_contracts(contracts: Iterable[str]) -> dict[str, str]:
    """Return {contract: split}, 80-10-10 as in Appendix A.14, in the order of the
    SHA-256 of contract ids.
    """
    digest_of = {}
    for contract in contracts:
        digest_of[contract] = hashlib.sha256(contract.encode()).hexdigest()
    shuffled = sorted(digest_of, key=digest_of.__getitem__)
    tenth = round(len(shuffled) / 10)
    split_of = dict.fromkeys(shuffled, "train")
    split_of.update(dict.fromkeys(shuffled[:tenth], "dev"))
    split_of.update(dict.fromkeys(shuffled[tenth : 2 * tenth], "test"))
    return split_of
