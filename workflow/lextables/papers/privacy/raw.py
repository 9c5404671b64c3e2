"""Read and check the release of the privacy policy corpus: three files of JSON lines.

Policies are long, so only one site's is in memory at a time: a first pass checks the file and stores where
each site's line begins.  A highlight is [document, paragraph, sentence]; the document's label is a number
in the codings and a string in the policies.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from nltk import redos
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.sources.records import RESTORE, Record, json_lines, value

LIKERT = range(1, 6)
# Characters; Punkt's time grows with the square of the longest text.
LONGEST_PARAGRAPH = 100_000
# Punkt stops after five seconds a match by default, which would depend on the load of the machine.
redos.DEFAULT_TIMEOUT = None
ABBREVIATIONS = frozenset(
    "e.g i.e etc inc ltd co corp llc no nos sec art mr mrs ms dr st jr sr vs cf al u.s u.k e.u d.c a.m p.m "
    "p.o ave ste blvd fla cal approx".split()
)
Highlight = tuple[str, int, int]


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set; raises `BadInput` with file and line for the first error.

    A highlight outside its site's documents is an error, unless the policies are other snapshots than the
    coded ones (``other_snapshots`` in the registry).
    """
    questions = read_questions(published.file("questions"))
    policies = Policies.indexed(published.file("policies"))
    coded = published.variants.get("policies") not in published.given["other_snapshots"]
    codings = read_codings(
        published.file("codings"), questions, policies.sizes if coded else {}
    )
    return Rows(
        _rows(questions, policies, codings), _notes(questions, policies, codings)
    )


@dataclass(frozen=True)
class Question:
    """A question's row and its options, (label, text) in order."""

    row: Row
    options: Sequence[tuple[str, str]]

    @property
    def places(self) -> dict[str, int]:
        """{label of an option: its place}."""
        return {label: place for place, (label, _) in enumerate(self.options)}


@dataclass(frozen=True)
class Response:
    """A coder's answer: places of options, Likert confidence, highlights."""

    coder: str
    options: tuple[int, ...]
    likert: int | None
    highlights: tuple[Highlight, ...]


Codings = Mapping[tuple[str, str], Sequence[Response]]
# {site: {document: sentences of each of its paragraphs}}
Sizes = Mapping[str, Mapping[str, Sequence[int]]]


def read_questions(path: str | Path) -> dict[str, Question]:
    """Return {question id: question}, in the file's order."""
    questions: dict[str, Question] = {}
    for where, record in _records(path):
        question_id = _text(record, "label", where)
        if question_id in questions:
            raise BadInput(
                f"question {question_id!r} appears twice",
                where=where,
                do="drop one of the two",
            )
        options = [
            (_text(option, "label", where), value(option, "text", str, where))
            for option in value(record, "options", list, where)
        ]
        labels = [label for label, _ in options]
        if not labels:
            raise BadInput(
                f"question {question_id!r} has no options", where=where, do=RESTORE
            )
        if repeated := _repeated(labels):
            raise BadInput(
                f"question {question_id!r} has the option {repeated!r} twice",
                where=where,
                do=RESTORE,
            )
        row = {
            "question_id": question_id,
            "category": _text(record, "category", where),
            "question": _text(record, "question", where),
            "options": [text for _, text in options],
            "several": value(record, "allow_multiselect", bool, where),
        }
        questions[question_id] = Question(row, options)
    return questions


@dataclass(frozen=True)
class Policies:
    """The file of policies: where the line of each site begins, and the sizes of its documents."""

    path: Path
    starts: Mapping[str, int]
    sizes: Sizes = field(repr=False)

    @classmethod
    def indexed(cls, path: str | Path) -> "Policies":
        """Read and check the file at ``path``."""
        starts: dict[str, int] = {}
        sizes: dict[str, dict[str, list[int]]] = {}
        with Path(path).open("rb") as file:
            lines = _LinesWithOffsets(file)
            for where, record in json_lines(lines, Path(path).name):
                site = _text(record, "url", where)
                if site in starts:
                    raise BadInput(
                        f"the site {site} appears twice",
                        where=where,
                        do="drop one of the two",
                    )
                starts[site] = lines.start
                sizes[site] = {
                    label: [len(sentence_spans(text)) for text in paragraphs]
                    for label, paragraphs in _checked_documents(record, site, where)
                }
        return cls(Path(path), starts, sizes)

    def documents(self, site: str) -> list[Record]:
        """Return the documents of a site as released, with labels as strings; [] if it has no policy."""
        if site not in self.starts:
            return []
        with self.path.open("rb") as file:
            file.seek(self.starts[site])
            documents = json.loads(file.readline().decode("utf-8-sig"))[
                "policy_documents"
            ]
        return [document | {"label": str(document["label"])} for document in documents]

    def paragraphs(self, site: str) -> Iterator[tuple[str, int, str]]:
        """Yield (document, place in it, text) of each paragraph of a site, in reading order."""
        for document in self.documents(site):
            for place, text in enumerate(document["paragraphs"]):
                yield document["label"], place, text


class _LinesWithOffsets:
    """The lines of a file; ``start`` is the offset of the last line that was read, in bytes."""

    def __init__(self, file: Any) -> None:
        self.file, self.start, self.end = file, 0, 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self.file:
            self.start, self.end = self.end, self.end + len(line)
            yield line


def _checked_documents(
    record: Record, site: str, where: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield the label and the paragraphs of each document of a site."""
    seen: set[str] = set()
    documents = value(record, "policy_documents", list, where)
    if not documents:
        raise BadInput(f"{site} has no document", where=where, do=RESTORE)
    for document in documents:
        label = _label(document, where)
        if label in seen:
            raise BadInput(
                f"{site} has the document {label!r} twice", where=where, do=RESTORE
            )
        seen.add(label)
        value(document, "name", str, where)
        paragraphs = value(document, "paragraphs", list, where)
        for place, text in enumerate(paragraphs):
            value({f"paragraph {place}": text}, f"paragraph {place}", str, where)
            if len(text) > LONGEST_PARAGRAPH:
                what = f"paragraph {place} of {site} has more than {LONGEST_PARAGRAPH:,} characters"
                raise BadInput(what, where=where, do=RESTORE)
        if not "".join(paragraphs).strip():
            raise BadInput(
                f"the document {label!r} of {site} has no text", where=where, do=RESTORE
            )
        yield label, paragraphs


def _label(document: Any, where: str) -> str:
    """Return a document's label as a string; policies have strings or numbers, highlights numbers."""
    if isinstance(document, dict) and type(document.get("label")) is int:
        return str(document["label"])
    return _text(document, "label", where)


def read_codings(
    path: str | Path, questions: Mapping[str, Question], sizes: Sizes
) -> Codings:
    """Return {(site, question id): its responses}; highlights must lie in the documents of ``sizes``."""
    places = {name: question.places for name, question in questions.items()}
    codings: dict[tuple[str, str], list[Response]] = {}
    first: dict[tuple[str, str], str] = {}
    for where, record in _records(path):
        site, question = _text(record, "url", where), _text(record, "question", where)
        if question not in questions:
            raise BadInput(
                f"question {question!r} is not in the file of questions",
                where=where,
                do=RESTORE,
            )
        if earlier := first.get((site, question)):
            raise BadInput(
                f"{question} of {site} is coded twice (first at {earlier})",
                where=where,
                do="drop one of the two",
            )
        first[site, question] = where
        codings[site, question] = [
            _response(
                response,
                places[question],
                sizes.get(site),
                f"{question} of {site}",
                where,
            )
            for response in value(record, "responses", list, where)
        ]
    return codings


def _response(
    record: Any,
    places: Mapping[str, int],
    sizes: Mapping[str, Sequence[int]] | None,
    of: str,
    where: str,
) -> Response:
    labels = value(record, "selected_option_labels", list, where)
    for label in labels:
        if not isinstance(label, str) or label not in places:
            raise BadInput(f"{label!r} is no option of {of}", where=where, do=RESTORE)
    if repeated := _repeated(labels):
        raise BadInput(
            f"the option {repeated!r} is chosen twice for {of}", where=where, do=RESTORE
        )
    likert = record.get("reported_likert_confidence")
    if likert is not None and (type(likert) is not int or likert not in LIKERT):
        raise BadInput(
            f"the confidence {likert!r} is not 1 to 5", where=where, do=RESTORE
        )
    highlights = tuple(
        _highlight(triple, sizes, of, where)
        for triple in value(record, "highlighted_sentences", list, where)
    )
    if repeated := _repeated(highlights):
        raise BadInput(
            f"the highlight {list(repeated)} appears twice for {of}",
            where=where,
            do=RESTORE,
        )
    coder = value(record, "coder_id", object, where)
    return Response(
        str(coder), tuple(sorted(places[label] for label in labels)), likert, highlights
    )


def _highlight(
    triple: Any, sizes: Mapping[str, Sequence[int]] | None, of: str, where: str
) -> Highlight:
    if (
        not isinstance(triple, list)
        or len(triple) != 3
        or not all(_is_place(n) for n in triple[1:])
    ):
        raise BadInput(
            f"the highlight {triple!r} is not a document, a paragraph and a sentence",
            where=where,
            do=RESTORE,
        )
    document, paragraph, sentence = str(triple[0]), triple[1], triple[2]
    if sizes is not None:
        outside = f"the highlight {triple!r} for {of} lies outside the site's documents"
        if document not in sizes:
            raise BadInput(
                f"{outside}: none is labelled {document!r}", where=where, do=RESTORE
            )
        if paragraph >= (paragraphs := len(sizes[document])):
            raise BadInput(
                f"{outside}: {document!r} has {paragraphs} paragraphs",
                where=where,
                do=RESTORE,
            )
    return document, paragraph, sentence


def _is_place(number: Any) -> bool:
    return type(number) is int and number >= 0


def _records(path: str | Path) -> Iterator[tuple[str, Record]]:
    with Path(path).open("rb") as file:
        yield from json_lines(file, Path(path).name)


def _text(record: Any, key: str, where: str) -> str:
    text = value(record, key, str, where)
    if not text.strip():
        raise BadInput(f"{key!r} is empty", where=where, do=RESTORE)
    return text


def _repeated(values: Collection[Any]) -> Any:
    return next((item for item, count in Counter(values).items() if count > 1), None)


@cache
def _punkt() -> PunktSentenceTokenizer:
    parameters = PunktParameters()
    parameters.abbrev_types = set(ABBREVIATIONS)
    return PunktSentenceTokenizer(parameters)


def sentence_spans(paragraph: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence of ``paragraph``, by Punkt (Kiss and Strunk 2006).

    The authors' coding tool uses NLTK's Punkt model for English news, which is a download.  Here the
    algorithm has `ABBREVIATIONS` instead, so results may differ after other abbreviations.
    """
    return list(_punkt().span_tokenize(paragraph)) if paragraph.strip() else []


# Rows


def _rows(
    questions: Mapping[str, Question], policies: Policies, codings: Codings
) -> dict[str, Iterator[Row]]:
    sites = sorted({site for site, _ in codings} | policies.starts.keys())
    return {
        "sites": _sites(sites, policies, codings),
        "documents": _documents(sites, policies),
        "paragraphs": _paragraphs(sites, policies),
        "sentences": _sentences(sites, policies),
        "questions": (question.row for question in questions.values()),
        "options": _options(questions),
        "responses": _responses(codings),
        "highlights": _highlights(codings, policies.sizes),
    }


def _words(paragraphs: Sequence[str]) -> int:
    return sum(len(text.split()) for text in paragraphs)


def _sites(sites: Sequence[str], policies: Policies, codings: Codings) -> Iterator[Row]:
    pairs = Counter(site for site, _ in codings)
    coders: Counter[str] = Counter()
    for (site, _), responses in codings.items():
        coders[site] = max(coders[site], len(responses))
    for site in sites:
        documents = policies.documents(site)
        yield {
            "site": site,
            "documents": len(documents),
            "paragraphs": sum(len(document["paragraphs"]) for document in documents),
            "words": sum(_words(document["paragraphs"]) for document in documents),
            "pairs": pairs[site],
            "coders": coders[site],
        }


def _documents(sites: Sequence[str], policies: Policies) -> Iterator[Row]:
    for site in sites:
        for place, document in enumerate(policies.documents(site)):
            yield {
                "site": site,
                "place": place,
                "document": document["label"],
                "name": document["name"],
                "paragraphs": len(document["paragraphs"]),
                "words": _words(document["paragraphs"]),
            }


def paragraph_id(site: str, document: str, place: int) -> str:
    """Return the id of a paragraph: site, document and place in the document."""
    return f"{site}/{document}/{place}"


def _paragraphs(sites: Sequence[str], policies: Policies) -> Iterator[Row]:
    for site in sites:
        for place, (document, within, text) in enumerate(policies.paragraphs(site)):
            yield {
                "site": site,
                "place": place,
                "paragraph_id": paragraph_id(site, document, within),
                "document": document,
                "text": text,
            }


def _sentences(sites: Sequence[str], policies: Policies) -> Iterator[Row]:
    for row in _paragraphs(sites, policies):
        for sentence, (start, end) in enumerate(sentence_spans(row["text"])):
            yield {key: row[key] for key in ("site", "place", "paragraph_id")} | {
                "sentence": sentence,
                "start": start,
                "end": end,
            }


def _options(questions: Mapping[str, Question]) -> Iterator[Row]:
    for question_id, question in sorted(questions.items()):
        for place, (label, text) in enumerate(question.options):
            yield {
                "question_id": question_id,
                "place": place,
                "label": label,
                "text": text,
            }


def _responses(codings: Codings) -> Iterator[Row]:
    for (site, question_id), responses in sorted(codings.items()):
        for place, response in enumerate(responses):
            yield {
                "site": site,
                "question_id": question_id,
                "response": place,
                "reader_id": response.coder,
                "options": list(response.options),
                "confidence": None
                if response.likert is None
                else (response.likert - 1) / (len(LIKERT) - 1),
            }


def _highlights(codings: Codings, sizes: Sizes) -> Iterator[Row]:
    for (site, question_id), responses in sorted(codings.items()):
        for place, response in enumerate(responses):
            for document, paragraph, sentence in sorted(response.highlights):
                yield {
                    "site": site,
                    "question_id": question_id,
                    "response": place,
                    "document": document,
                    "paragraph": paragraph,
                    "sentence": sentence,
                    "paragraph_id": paragraph_id(site, document, paragraph),
                    "here": _sentences_of(sizes, site, document, paragraph) is not None,
                }


def _sentences_of(sizes: Sizes, site: str, document: str, paragraph: int) -> int | None:
    """Return the number of sentences of a paragraph; None if the policies do not have it."""
    paragraphs = sizes.get(site, {}).get(document, ())
    return paragraphs[paragraph] if paragraph < len(paragraphs) else None


def _notes(
    questions: Mapping[str, Question], policies: Policies, codings: Codings
) -> dict[str, int]:
    """Count irregularities of the data."""
    notes = Counter(
        highlights_beyond_our_sentences=0,
        highlights_outside_the_policies=0,
        pairs_with_two_like_responses=0,
        responses_without_an_option=0,
        single_choices_with_several_options=0,
    )
    for (site, question_id), responses in codings.items():
        notes["pairs_with_two_like_responses"] += len(set(responses)) < len(responses)
        for response in responses:
            notes["responses_without_an_option"] += not response.options
            several = questions[question_id].row["several"]
            notes["single_choices_with_several_options"] += (
                not several and len(response.options) > 1
            )
            for document, paragraph, sentence in response.highlights:
                size = _sentences_of(policies.sizes, site, document, paragraph)
                notes["highlights_outside_the_policies"] += size is None
                notes["highlights_beyond_our_sentences"] += (
                    size is not None and sentence >= size
                )
    sites = {site for site, _ in codings}
    notes["sites_coded_without_a_policy_here"] = len(sites - policies.starts.keys())
    notes["sites_with_a_policy_and_no_coding"] = len(policies.starts.keys() - sites)
    return dict(sorted(notes.items()))
