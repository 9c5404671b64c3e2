"""Read LegalBench-RAG's queries and spans, and cut files into passages.

MAUD's queries are released as ``{"tests": [{"query", "snippets": [{"file_path", "span", "answer"}]}]}``.
CUAD's released queries are not available here.  They are made from its contracts in SQuAD form, as the
released generator does from the clause table, with two differences in "Consider the <title>; <question>": the
title is the contract's annotated name and parties (a language model wrote the released titles), and the
question is CUAD's.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lextables.corpora.snippets import Snippet, match_files, read_queries
from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.sources import archives
from lextables.tasks.spans.squad import Document, read_squad

CONTRACTS = "CUADv1.json"
Span = tuple[int, int]  # first character, and the one after the last


@dataclass(frozen=True)
class Query:
    """A query with its 1-based number in the benchmark, and the sorted spans of its file that answer it."""

    benchmark: str
    number: int
    text: str
    file: str
    spans: tuple[Span, ...]

    @property
    def query_id(self) -> str:
        return f"{self.benchmark}-{self.number:04d}"


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set ``name``, which determines how files are cut into passages."""
    settings = published.given
    cut = {
        "legalbench_rag": partial(fixed, size=settings["chunk"]),
        "legalbench_rag_rcts": partial(recursive, size=settings["chunk"], separators=settings["separators"]),
    }[name]
    contracts, texts, notes = cuad(published.file("cuad"), settings["unasked"], settings["titles"])
    queries = mini(contracts, settings["queries"])
    released, snippets = maud(published.file("maud"))
    queries += mini(released, settings["queries"])
    used = {query.file for query in queries}
    snippets = {file: snippets[file] for file in sorted(used & snippets.keys())}
    texts = {file: text for file, text in texts.items() if file in used}
    texts |= agreements(published.file("agreements"), snippets, published.file("maud").name)
    notes |= {"files": len(texts), "characters": sum(map(len, texts.values()))}
    passages = {file: [*_passages(place, texts[file], cut)] for place, file in enumerate(sorted(texts), 1)}
    queries.sort(key=lambda query: query.query_id)
    return Rows(
        {
            "documents": (row | {"file": file} for file, rows in passages.items() for row in rows),
            "queries": map(_query_row, queries),
            "snippets": (
                {"query_id": query.query_id, "start": start, "end": end}
                for query in queries
                for start, end in query.spans
            ),
            "judgements": (row for query in queries for row in _judgements(query, passages[query.file])),
        },
        notes,
    )


def mini(queries: Iterable[Query], most: int) -> list[Query]:
    """Return LegalBench-RAG-mini: the first ``most`` queries, with files in random order.

    The random number of a file has the file's name as seed, as in the released code.
    """
    return sorted(queries, key=lambda query: random.Random(query.file).random())[:most]


def maud(path: Path) -> tuple[list[Query], dict[str, list[Snippet]]]:
    """Return the released queries, and {file: snippets}."""
    queries: list[Query] = []
    snippets_of: dict[str, list[Snippet]] = defaultdict(list)
    for number, (where, text, file, snippets) in enumerate(read_queries(path), 1):
        spans = tuple(sorted(snippet.span for snippet in snippets))
        if not _are_disjoint(spans):
            raise BadInput("has spans that are empty, overlap or touch", where=where)
        queries.append(Query("maud", number, text, file, spans))
        snippets_of[file] += snippets
    return queries, snippets_of


def _are_disjoint(spans: Sequence[Span]) -> bool:
    """Whether sorted spans are not empty and have characters between them."""
    ends = [-1, *(end for _, end in spans)]
    return all(before < start < end for before, (start, end) in zip(ends, spans, strict=False))


def agreements(path: Path, snippets: Mapping[str, Sequence[Snippet]], name: str) -> dict[str, str]:
    """Return {file: its text}, from the contracts of the zip; see `match_files`."""
    with archives.opened(path) as archive:
        members = sorted(member for member in archive.namelist() if member.endswith(".txt"))
        contracts = ((member, archives.text(archive, member)) for member in members)
        matched = match_files(snippets, contracts, name)
        return {file: archives.text(archive, member) for file, member in matched.items()}


def cuad(
    path: Path, unasked: Iterable[str], titles: Mapping[str, str]
) -> tuple[list[Query], dict[str, str], dict[str, int]]:
    """Return queries about CUAD's contracts, {file: its text}, and counts of what was left out.

    As in the released generator, a question is left out if one of its answers occurs more than once in the
    contract, and answers that overlap or are one character apart are joined.  Contracts without a name or
    parties are left out, and contracts with the same title, which queries could not distinguish.
    """
    with archives.opened(path) as archive:
        content = archive.read(archives.member(archive, CONTRACTS))
    documents = list(read_squad(content, CONTRACTS, lambda query, title: query.removeprefix(f"{title}__")))
    named = {document.contract_id: _title(document, titles) for document in documents}
    several = Counter(named.values())
    notes = Counter(contracts_without_a_title=0, contracts_of_one_title=0, questions_with_repeated_answers=0)
    queries: list[Query] = []
    texts: dict[str, str] = {}
    for document in documents:
        title, file = named[document.contract_id], f"cuad/{document.contract_id}.txt"
        if not title or several[title] > 1:
            notes["contracts_of_one_title" if title else "contracts_without_a_title"] += 1
            continue
        texts[file] = document.text
        for question in document.questions:
            if question.category in unasked or not question.answers:
                continue
            if any(document.text.count(answer.text) > 1 for answer in question.answers):
                notes["questions_with_repeated_answers"] += 1
                continue
            question_text = question.question.partition("Details: ")[2] or question.category
            spans = _merged((answer.start, answer.end) for answer in question.answers)
            text = f"Consider the {title}; {question_text}"
            queries.append(Query("cuad", len(queries) + 1, text, file, spans))
    return queries, texts, dict(notes)


def _title(document: Document, titles: Mapping[str, str]) -> str:
    """Return `<name> between <parties>`: the first annotated name, and parties of more than one word."""
    marked = {
        question.category: [" ".join(answer.text.split()) for answer in sorted(question.answers)]
        for question in document.questions
    }
    names, parties = (dict.fromkeys(marked.get(titles[part], ())) for part in ("name", "parties"))
    full_names = [party for party in parties if " " in party] or [*parties]
    return f"{next(iter(names))} between {', '.join(full_names)}" if names and full_names else ""


def _merged(spans: Iterable[Span], gap: int = 1) -> tuple[Span, ...]:
    """Join spans that overlap or have at most ``gap`` characters between them."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1] + gap:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return tuple(joined)


def fixed(text: str, size: int) -> list[str]:
    """Return pieces of ``size`` characters (the paper's naive chunking)."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def recursive(text: str, size: int, separators: Sequence[str]) -> list[str]:
    """Cut at the first of ``separators`` that occurs, and pieces of ``size`` or more at the next ones.

    Adjacent shorter pieces are joined up to ``size`` characters.  This is LangChain's
    RecursiveCharacterTextSplitter with the authors' settings: no overlap, separators at the beginning of the
    next piece, nothing stripped.  The last separator is empty and cuts anywhere.
    """
    at = next(place for place, separator in enumerate(separators) if separator in text)
    passages: list[str] = []
    short: list[str] = []
    for piece in _pieces(text, separators[at]):
        if len(piece) < size:
            short.append(piece)
            continue
        passages += _joined(short, size)
        short = []
        rest = separators[at + 1 :]
        passages += recursive(piece, size, rest) if rest else [piece]
    return [*passages, *_joined(short, size)]


def _pieces(text: str, separator: str) -> list[str]:
    """Split at a separator; each piece but the first begins with it."""
    if not separator:
        return [*text]
    head, *rest = text.split(separator)
    return [piece for piece in (head, *(separator + part for part in rest)) if piece]


def _joined(pieces: Sequence[str], size: int) -> Iterator[str]:
    joined = ""
    for piece in pieces:
        if joined and len(joined) + len(piece) > size:
            yield joined
            joined = ""
        joined += piece
    if joined:
        yield joined


def _passages(place: int, text: str, cut: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file's passages, without the file's name."""
    start = 0
    for passage in cut(text):
        end = start + len(passage)
        yield {"document_id": f"{place:03d}-{start:07d}", "start": start, "end": end, "text": passage}
        start = end


def _query_row(query: Query) -> Row:
    return {
        "query_id": query.query_id,
        "text": query.text,
        "benchmark": query.benchmark,
        "file": query.file,
        "characters": sum(end - start for start, end in query.spans),
        "split": "test",
    }


def _judgements(query: Query, passages: Iterable[Row]) -> Iterator[Row]:
    """Yield the number of characters of a query's spans in each passage of its file that has any."""
    for passage in passages:
        common = (min(end, passage["end"]) - max(start, passage["start"]) for start, end in query.spans)
        if gain := sum(max(0, length) for length in common):
            yield {"query_id": query.query_id, "document_id": passage["document_id"], "gain": gain}
