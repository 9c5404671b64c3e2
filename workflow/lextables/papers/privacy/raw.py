"""Read the release of the privacy policy corpus: three files of JSON lines.

A highlight is [document, paragraph, sentence]; the document's label is a number in the
codings and a string in the policies.  The registry has a digest of each file, and a
census of the rows, so files are not checked here.  Only the policies are checked,
because their complete release was not read so far.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from nltk import redos
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import RESTORE
from lextables.sources.records import json_lines

LIKERT_STEPS = 4  # from 1 to 5
# By default Punkt stops a match after five seconds, so that its result would depend on
# the load of the machine.
redos.DEFAULT_TIMEOUT = None
ABBREVIATIONS = frozenset(
    "e.g i.e etc inc ltd co corp llc no nos sec art mr mrs ms dr st jr sr vs cf al u.s u.k e.u d.c a.m p.m "
    "p.o ave ste blvd fla cal approx".split()
)
Record = Mapping[str, Any]
Highlight = tuple[str, int, int]  # document's label, places of paragraph and sentence


@dataclass(frozen=True)
class Response:
    """A coder's answer to a question about a site."""

    coder: str
    options: tuple[int, ...]
    """Places of the chosen options among the question's."""
    confidence: float | None
    """From 0 to 1; None if the coder states none."""
    highlights: tuple[Highlight, ...]


@dataclass(frozen=True)
class Release:
    """The released files."""

    policies: Mapping[str, Sequence[Record]]
    """{site: its documents}."""
    questions: Mapping[str, Record]
    """{question id: its record}."""
    codings: Mapping[tuple[str, str], Sequence[Response]]
    """{(site, question id): the coders' answers}."""


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set.

    Raises `BadInput` for a document that a site has twice, and for a highlight outside
    its site's documents, unless the policies are other snapshots than the coded ones
    (``other_snapshots`` in the registry).
    """
    release = _read_release(published)
    paragraphs = list(_paragraphs(release))
    sentences: dict[str, list[tuple[int, int]]] = {}
    for row in paragraphs:
        if row["paragraph_id"] in sentences:
            what = f"the paragraph {row['paragraph_id']} appears twice"
            raise BadInput(what, where=published.file("policies").name, do=RESTORE)
        sentences[row["paragraph_id"]] = sentence_spans(row["text"])
    highlights = list(_highlights(release, sentences))
    if published.variants.get("policies") not in published.given["other_snapshots"]:
        _check_highlights(release, highlights)
    rows = {
        "sites": _sites(release),
        "documents": _documents(release),
        "paragraphs": paragraphs,
        "sentences": _sentences(paragraphs, sentences),
        "questions": _questions(release),
        "options": _options(release),
        "responses": _responses(release),
        "highlights": highlights,
    }
    return Rows(rows, _notes(release, highlights, sentences))


def _read_release(published: Published) -> Release:
    """Return the content of the three files; labels of documents are strings."""
    questions = {
        record["label"]: record for record in _records(published.file("questions"))
    }
    policies: dict[str, list[Record]] = {}
    for record in _records(published.file("policies")):
        documents = policies.setdefault(record["url"], [])
        for document in record["policy_documents"]:
            documents.append(document | {"label": str(document["label"])})
    codings = {}
    for record in _records(published.file("codings")):
        options = questions[record["question"]]["options"]
        labels = [option["label"] for option in options]
        codings[record["url"], record["question"]] = [
            _response(response, labels) for response in record["responses"]
        ]
    return Release(policies, questions, codings)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for _, record in json_lines(lines, path.name):
            yield record


def _response(record: Record, labels: Sequence[str]) -> Response:
    """Return a coder's answer to a question with these ``labels`` of options."""
    likert = record["reported_likert_confidence"]
    highlights = [
        (str(document), paragraph, sentence)
        for document, paragraph, sentence in record["highlighted_sentences"]
    ]
    return Response(
        str(record["coder_id"]),
        tuple(sorted(map(labels.index, record["selected_option_labels"]))),
        None if likert is None else (likert - 1) / LIKERT_STEPS,
        tuple(highlights),
    )


@cache
def _punkt() -> PunktSentenceTokenizer:
    parameters = PunktParameters()
    parameters.abbrev_types = set(ABBREVIATIONS)
    return PunktSentenceTokenizer(parameters)


def sentence_spans(paragraph: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence of ``paragraph``, by Punkt (Kiss and Strunk
    2006).

    The authors' coding tool uses NLTK's Punkt model for English news, which is a
    download.  Here the algorithm has `ABBREVIATIONS` instead, so results may differ
    after other abbreviations.
    """
    return list(_punkt().span_tokenize(paragraph)) if paragraph.strip() else []


def paragraph_id(site: str, document: str, place: int) -> str:
    """Return the id of a paragraph: site, document and place in the document."""
    return f"{site}/{document}/{place}"


# Rows


def _words(paragraphs: Sequence[str]) -> int:
    return sum(len(text.split()) for text in paragraphs)


def _sites(release: Release) -> Iterator[Row]:
    """Yield the rows of `sites`."""
    pairs = Counter(site for site, _ in release.codings)
    coders: Counter[str] = Counter()
    for (site, _), responses in release.codings.items():
        coders[site] = max(coders[site], len(responses))
    for site in sorted(pairs.keys() | release.policies.keys()):
        documents = release.policies.get(site, ())
        yield {
            "site": site,
            "documents": len(documents),
            "paragraphs": sum(len(document["paragraphs"]) for document in documents),
            "words": sum(_words(document["paragraphs"]) for document in documents),
            "pairs": pairs[site],
            "coders": coders[site],
        }


def _documents(release: Release) -> Iterator[Row]:
    """Yield the rows of `documents`."""
    for site, documents in sorted(release.policies.items()):
        for place, document in enumerate(documents):
            yield {
                "site": site,
                "place": place,
                "document": document["label"],
                "name": document["name"],
                "paragraphs": len(document["paragraphs"]),
                "words": _words(document["paragraphs"]),
            }


def _paragraphs(release: Release) -> Iterator[Row]:
    """Yield the rows of `paragraphs`."""
    for site, documents in sorted(release.policies.items()):
        place = 0
        for document in documents:
            for within, text in enumerate(document["paragraphs"]):
                yield {
                    "site": site,
                    "place": place,
                    "paragraph_id": paragraph_id(site, document["label"], within),
                    "document": document["label"],
                    "text": text,
                }
                place += 1


# {paragraph id: (start, end) of its sentences}
Sentences = Mapping[str, Sequence[tuple[int, int]]]


def _sentences(paragraphs: Sequence[Row], sentences: Sentences) -> Iterator[Row]:
    """Yield the rows of `sentences`."""
    for row in paragraphs:
        for sentence, (start, end) in enumerate(sentences[row["paragraph_id"]]):
            yield {
                "site": row["site"],
                "place": row["place"],
                "paragraph_id": row["paragraph_id"],
                "sentence": sentence,
                "start": start,
                "end": end,
            }


def _questions(release: Release) -> Iterator[Row]:
    for question_id, record in release.questions.items():
        yield {
            "question_id": question_id,
            "category": record["category"],
            "question": record["question"],
            "options": [option["text"] for option in record["options"]],
            "several": record["allow_multiselect"],
        }


def _options(release: Release) -> Iterator[Row]:
    for question_id, record in sorted(release.questions.items()):
        for place, option in enumerate(record["options"]):
            yield {
                "question_id": question_id,
                "place": place,
                "label": option["label"],
                "text": option["text"],
            }


def _responses(release: Release) -> Iterator[Row]:
    """Yield the rows of `responses`."""
    for (site, question_id), responses in sorted(release.codings.items()):
        for place, response in enumerate(responses):
            yield {
                "site": site,
                "question_id": question_id,
                "response": place,
                "reader_id": response.coder,
                "options": list(response.options),
                "confidence": response.confidence,
            }


def _highlights(release: Release, sentences: Sentences) -> Iterator[Row]:
    """Yield the rows of `highlights`."""
    for (site, question_id), responses in sorted(release.codings.items()):
        for place, response in enumerate(responses):
            for document, paragraph, sentence in sorted(response.highlights):
                marked = paragraph_id(site, document, paragraph)
                yield {
                    "site": site,
                    "question_id": question_id,
                    "response": place,
                    "document": document,
                    "paragraph": paragraph,
                    "sentence": sentence,
                    "paragraph_id": marked,
                    "here": marked in sentences,
                }


def _check_highlights(release: Release, highlights: Sequence[Row]) -> None:
    """Raise `BadInput` for a highlight outside the documents of a site with a
    policy.
    """
    for row in highlights:
        if row["site"] in release.policies and not row["here"]:
            raise BadInput(
                f"the highlight {row['paragraph_id']} for {row['question_id']} lies"
                " outside the site's documents",
                where="codings",
                do="take policies and codings from one release",
            )


def _notes(
    release: Release, highlights: Sequence[Row], sentences: Sentences
) -> dict[str, int]:
    """Count irregularities of the data."""
    notes = Counter(
        highlights_beyond_our_sentences=0,
        highlights_outside_the_policies=0,
        pairs_with_two_like_responses=0,
        responses_without_an_option=0,
        single_choices_with_several_options=0,
    )
    for (_, question_id), responses in release.codings.items():
        notes["pairs_with_two_like_responses"] += len(set(responses)) < len(responses)
        several = release.questions[question_id]["allow_multiselect"]
        for response in responses:
            chosen = len(response.options)
            notes["responses_without_an_option"] += not chosen
            notes["single_choices_with_several_options"] += not several and chosen > 1
    for row in highlights:
        spans = sentences.get(row["paragraph_id"])
        if spans is None:
            notes["highlights_outside_the_policies"] += 1
        elif row["sentence"] >= len(spans):
            notes["highlights_beyond_our_sentences"] += 1
    coded = {site for site, _ in release.codings}
    notes["sites_coded_without_a_policy_here"] = len(coded - release.policies.keys())
    notes["sites_with_a_policy_and_no_coding"] = len(release.policies.keys() - coded)
    return dict(sorted(notes.items()))
