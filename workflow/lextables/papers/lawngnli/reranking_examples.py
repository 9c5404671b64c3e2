"""LawngNLI, footnote 11 and Appendix A.2: training examples for rerankers, with realistic negatives.

Premises are opinions as published: nothing is prepended, and citations are kept. Entail and Contradict
examples keep their opinion. A Neutral hypothesis is paired with a random one of the hundred opinions nearest
to it, except the cited one. Premises are cut to the paragraphs that BM25 ranks highest for the hypothesis,
like all reranked documents. Two choices are ours because the paper leaves them open: the hundred opinions are
from the jurisdiction of the cited case, as in the pools, and the draw depends on the example's id.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lextables.corpora.caselaw.opinion import MAJORITY
from lextables.models.okapi import Paragraphs
from lextables.papers.lawngnli.labels import LABELS, NEUTRAL, draw
from lextables.papers.lawngnli.retrieval_pools import TWIN, Encode, case_of, searched
from lextables.papers.lawngnli.schema.reranking import EXAMPLES, HEADS, TEXTS
from lextables.pipeline import dataset
from lextables.tasks.classification.schema import content_id

NLI = "nli"
CANDIDATES = 100
_EXAMPLE = ["example_id", "is_twin", "split", "analysis", "label", "hypothesis"]
_EXAMPLE += ["cited_case_id", "cited_jurisdiction"]
Row = dict[str, Any]


def write_reranking(
    examples: str | Path, unfiltered: str | Path, opinions: Sequence[str | Path], encode_query: Encode,
    encode_document: Encode, seed: int, tables: Mapping[str, str | Path],
) -> int:  # fmt: skip
    """Write the tables of `schema.reranking` to the paths in ``tables``, by name; return how many examples.

    ``unfiltered`` gives the cited case of a Neutral hypothesis, whose example has another premise. Encoders
    and ``opinions`` as in `retrieval_pools.write_retrieval`. Memory: the hypotheses, and the memory of
    `write_retrieval`.
    """
    rows = [_as_query(row) for row in dataset.read(examples, _EXAMPLE)]
    cited = {
        row["example_id"]: row["cited_case_id"]
        for row in dataset.read(unfiltered, ["example_id", "cited_case_id"])
    }
    neutral = [row | {"cited_case_id": cited[row["example_id"]]} for row in rows if row["label"] == NEUTRAL]
    drawn = _drawn(neutral, opinions, encode_query, encode_document, seed)
    by_opinion: dict[int | str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["label"] != NEUTRAL:
            by_opinion[row["cited_case_id"]].append(row)
        elif row["query_id"] in drawn:
            by_opinion[drawn[row["query_id"]]].append(row)
    written: list[Row] = []
    dataset.write(TEXTS, _texts(by_opinion, opinions, written), tables["texts"])
    dataset.write(HEADS, [{"head_id": NLI, "answers": list(LABELS)}], tables["heads"])
    return dataset.write(EXAMPLES, sorted(written, key=lambda row: row["example_id"]), tables["examples"])


def _as_query(row: Row) -> Row:
    return row | {
        "query_id": row["example_id"] + TWIN * row["is_twin"],
        "jurisdiction": row["cited_jurisdiction"],
        "text": row["hypothesis"],
    }


def _drawn(
    neutral: Sequence[Row], opinions: Sequence[str | Path], encode_query: Encode, encode_document: Encode,
    seed: int,
) -> dict[str, str]:  # fmt: skip
    """{query id: id of its negative opinion}, without queries that have no other opinion."""
    negatives = {}
    places = searched(neutral, opinions, encode_query, encode_document, CANDIDATES + 1)
    for place in places.values():
        for at, row in enumerate(place.queries):
            near = [opinion for opinion in place.near(at) if case_of(opinion) != row["cited_case_id"]]
            if candidates := near[:CANDIDATES]:
                number = draw(seed, "reranking", row["example_id"], row["is_twin"])
                negatives[row["query_id"]] = candidates[number % len(candidates)]
    return negatives


def _texts(
    by_opinion: Mapping[int | str, Sequence[Row]], opinions: Sequence[str | Path], written: list[Row]
) -> Iterator[Row]:
    """The rows of `TEXTS`, each text once; those of `EXAMPLES` are added to ``written``."""
    known: set[str] = set()
    columns = ["opinion_id", "case_id", "opinion_type", "majorities", "text"]
    for path in opinions:
        for opinion in dataset.read(path, columns):
            single = opinion["opinion_type"] == MAJORITY and opinion["majorities"] == 1
            names = (opinion["opinion_id"], opinion["case_id"]) if single else ()
            rows = [row for name in names for row in by_opinion.get(name, ())]
            paragraphs = Paragraphs(opinion["text"]) if rows else None
            for row in rows:
                premise = paragraphs.best(row["text"])
                ids = [content_id(text) for text in (premise, row["text"])]
                written.append(_example(row, opinion["opinion_id"], *ids))
                for text_id, text in zip(ids, (premise, row["text"]), strict=True):
                    if text_id not in known:
                        known.add(text_id)
                        yield {"text_id": text_id, "text": text}


def _example(row: Row, opinion_id: str, text_id: str, pair_id: str) -> Row:
    return {
        "example_id": row["query_id"],
        "split": row["split"],
        "head_id": NLI,
        "text_id": text_id,
        "label": LABELS.index(row["label"]),
        "pair_id": pair_id,
        "opinion_id": opinion_id,
        "analysis": row["analysis"],
    }
