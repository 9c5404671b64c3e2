"""LawngNLI, Section 4.2: the retrieval data set, and the training set for rerankers.

Queries are the Entail and Contradict examples of the test split whose long premise is
in the analysis subset, which all of the paper's experiments use. The pool of a query
has its target opinion and the 999 most similar other opinions. Documents are majority
opinions as published, "before dataset processing". Choices that the paper leaves open:

- An opinion is used if it is the only majority opinion of its case, as for long
  premises.
- "Same state" is the jurisdiction of the target's case.
- The other opinions are those with the highest inner products, the target left out;
  ties go to the earlier opinion in volume order. The citing case, whose opinion
  contains the hypothesis as a parenthetical, is not excluded, because the paper does
  not exclude it; `PoolCounts` counts how often it is in the pool.

Rerankers (footnote 11, Appendix A.2) are trained with realistic negatives. Premises are
opinions as published: nothing is prepended, and citations are kept. Entail and
Contradict examples keep their opinion. A Neutral hypothesis is paired with a random one
of the hundred opinions nearest to it, except the cited one. Premises are cut to the
paragraphs that BM25 ranks highest for the hypothesis, like all reranked documents. Two
choices are ours because the paper leaves them open: the hundred opinions are from the
jurisdiction of the cited case, as in the pools, and the draw depends on the example's
id.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

import faiss
import numpy as np
import pyarrow as pa

from lextables.corpora.caselaw.ingest import read_opinions
from lextables.corpora.caselaw.opinion import MAJORITY
from lextables.models.okapi import Paragraphs
from lextables.papers.lawngnli.dataset.labels import (
    CONTRADICT,
    ENTAIL,
    LABELS,
    NEUTRAL,
    draw,
)
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table
from lextables.tasks.classification import schema
from lextables.tasks.classification.schema import content_id

QUERIES = Table(
    name="queries",
    description="Section 4.2: the Entail and Contradict hypotheses of the test split's analysis subset.",
    columns=(
        Column(
            "query_id",
            pa.string(),
            "the example's id, with `+twin` behind it for a twin",
        ),
        Column("split", pa.string(), "test"),
        Column(
            "label",
            pa.string(),
            "entail or contradict: what the target does to the query",
        ),
        Column("negated", pa.bool_(), "whether the hypothesis has pivotal negation"),
        Column(
            "jurisdiction",
            pa.string(),
            "state of the target and its pool, or `United States`",
        ),
        Column(
            "cited_case_id", pa.int64(), "the case whose majority opinion is the target"
        ),
        Column("citing_case_id", pa.int64(), "the case that the hypothesis is from"),
        Column("text", pa.string(), "the hypothesis"),
    ),
    key=("query_id",),
    labels=("split", "label", "negated", "jurisdiction"),
)
DOCUMENTS = Table(
    name="documents",
    description="Section 4.2: the majority opinions that are in some query's pool.",
    columns=(
        Column("document_id", pa.string(), "the opinion, `<case_id>-<position>`"),
        Column("case_id", pa.int64(), "its case"),
        Column(
            "jurisdiction", pa.string(), "state, or `United States` for federal courts"
        ),
        Column(
            "text",
            pa.string(),
            "the opinion as published, citations in it; a paragraph is a line",
        ),
    ),
    key=("document_id",),
    labels=("jurisdiction",),
    ordered=False,
    row_group=64,
)
JUDGEMENTS = Table(
    name="judgements",
    description="Section 4.2: a query's pool, the target and the opinions that are most like the query.",
    columns=(
        Column("query_id", pa.string(), "the query"),
        Column("document_id", pa.string(), "an opinion of its pool"),
        Column("gain", pa.int8(), "1 for the target, 0 for any other"),
        Column(
            "similarity",
            pa.float32(),
            "inner product of the hypothesis and the opinion",
        ),
    ),
    key=("query_id", "document_id"),
    labels=("gain",),
)
EXAMPLES = replace(
    schema.EXAMPLES,
    description="LawngNLI's hypotheses, each with an opinion as published, cut to its nearest paragraphs.",
    columns=(
        *schema.EXAMPLES.columns,
        Column("pair_id", pa.string(), "the text of the hypothesis"),
        Column("opinion_id", pa.string(), "the opinion that the premise is of"),
        Column(
            "analysis",
            pa.bool_(),
            "whether it is of the analysis subset, all that the paper uses",
        ),
    ),
    labels=("split", "label", "analysis"),
)
HEADS = schema.HEADS
# The texts are in the order of the opinions.
TEXTS = replace(schema.TEXTS, ordered=False)
RERANKING = (EXAMPLES, HEADS, TEXTS)

OTHERS = 999  # opinions of a pool in addition to the target
# Opinions from which the premise of a Neutral example for rerankers is drawn.
CANDIDATES = 100
NLI = "nli"
TWIN = "+twin"
TEST = "test"
# Opinions per encoding and search step: about 100 MB of text.
BATCH = 4096
# Columns that are read of the examples, and of the opinions.
_EXAMPLE = [
    "example_id",
    "is_twin",
    "split",
    "analysis",
    "label",
    "negated",
    "hypothesis",
    "citing_case_id",
    "cited_case_id",
    "cited_jurisdiction",
]
_OPINION = ["opinion_id", "case_id", "jurisdiction", "opinion_type", "majorities"]

Encode = Callable[[Sequence[str]], np.ndarray]  # n texts to an array (n, d)


@dataclass
class PoolCounts:
    """Counts for the census."""

    size: int
    """The intended number of documents in a pool."""
    queries: int = 0
    opinions: int = 0
    """Opinions that were searched."""
    small: dict[str, int] = field(default_factory=dict)
    """{jurisdiction with fewer opinions than ``size``: how many it has}."""
    target_first: int = 0
    """Queries whose target is their nearest opinion."""
    citing_in_pool: int = 0
    """Queries whose pool contains the opinion that they are from."""


class Jurisdiction:
    """The queries of one jurisdiction and the opinions nearest to each so far.

    An opinion is known by its position among the opinions of the jurisdiction; ``ids``
    has the id of each.  ``nearest`` (positions) and ``products`` have one row per
    query, best first.
    """

    def __init__(self, queries: Sequence[Row], encode: Encode) -> None:
        self.queries = queries
        self.vectors = np.ascontiguousarray(
            encode([row["text"] for row in queries]), dtype=np.float32
        )
        self.nearest = np.empty((len(queries), 0), dtype=np.int64)
        self.products = np.empty((len(queries), 0), dtype=np.float32)
        self.ids: list[str] = []
        # {case id: its position, its product with each query}
        self.targets: dict[int, tuple[int, np.ndarray]] = {}

    def search(self, batch: Sequence[Row], encode: Encode, most: int) -> None:
        """Search a batch; keep the ``most`` nearest opinions to each query so far."""
        vectors = np.ascontiguousarray(
            encode([opinion["text"] for opinion in batch]), dtype=np.float32
        )
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        products, places = index.search(self.vectors, min(most, len(batch)))
        places = np.hstack([self.nearest, places + len(self.ids)])
        products = np.hstack([self.products, products])
        order = np.lexsort((places, -products))[:, :most]
        self.nearest = np.take_along_axis(places, order, axis=1)
        self.products = np.take_along_axis(products, order, axis=1)
        target_cases = {row["cited_case_id"] for row in self.queries}
        for opinion, vector in zip(batch, vectors, strict=True):
            position = len(self.ids)
            self.ids.append(opinion["opinion_id"])
            if opinion["case_id"] in target_cases:
                target = (position, self.vectors @ vector)
                self.targets[opinion["case_id"]] = target

    def near(self, number: int) -> list[str]:
        """The ids of the opinions nearest to the query ``number``, best first."""
        return [self.ids[position] for position in self.nearest[number]]

    def pool(self, number: int, others: int) -> dict[str, tuple[int, float]]:
        """{id of an opinion: its gain and product} of the pool of the query ``number``:
        the target, then the nearest ``others``.
        """
        target, products = self.targets[self.queries[number]["cited_case_id"]]
        pool = {self.ids[target]: (1, float(products[number]))}
        near = zip(self.nearest[number], self.products[number], strict=True)
        for position, product in near:
            if position != target and len(pool) <= others:
                pool[self.ids[position]] = (0, float(product))
        return pool


def write_retrieval(
    examples: str | Path,
    opinions: Sequence[str | Path],
    encode_query: Encode,
    encode_document: Encode,
    tables: Mapping[str, str | Path],
    others: int = OTHERS,
) -> PoolCounts:
    """Write the three tables to the paths in ``tables``, by name; return what was
    counted.

    ``opinions`` are the files of `caselaw.ingest.OPINIONS`.  The encoders turn n texts
    into arrays (n, d) whose inner product is the similarity; opinions are encoded in
    batches.  Memory: `BATCH` opinions, the ids of the opinions of the queried
    jurisdictions, and 12 bytes per document of each pool.
    """
    queries = queries_of(examples)
    size = others + 1
    jurisdictions = searched(queries, opinions, encode_query, encode_document, size)
    counts = PoolCounts(size, queries=len(queries))
    for name, jurisdiction in jurisdictions.items():
        counts.opinions += len(jurisdiction.ids)
        if len(jurisdiction.ids) < size:
            counts.small[name] = len(jurisdiction.ids)
    documents: set[str] = set()

    def judged() -> Iterator[Row]:
        """Yield the rows of `JUDGEMENTS`; count, and gather the ``documents``."""
        # {jurisdiction: the number of its next query}
        numbers: Counter[str] = Counter()
        for query in queries:
            name = query["jurisdiction"]
            pool = jurisdictions[name].pool(numbers[name], others)
            numbers[name] += 1
            documents.update(pool)
            target, *beside = pool
            counts.target_first += all(
                pool[target][1] >= pool[other][1] for other in beside
            )
            counts.citing_in_pool += any(
                case_of(other) == query["citing_case_id"] for other in pool
            )
            for document, (gain, product) in sorted(pool.items()):
                yield {
                    "query_id": query["query_id"],
                    "document_id": document,
                    "gain": gain,
                    "similarity": product,
                }

    dataset.write(QUERIES, queries, tables["queries"])
    dataset.write(JUDGEMENTS, judged(), tables["judgements"])
    dataset.write(DOCUMENTS, _documents(opinions, documents), tables["documents"])
    return counts


def searched(
    queries: Sequence[Row],
    opinions: Sequence[str | Path],
    encode_query: Encode,
    encode_document: Encode,
    most: int,
) -> dict[str, Jurisdiction]:
    """{jurisdiction: its queries with the ``most`` opinions nearest to each}.

    Queries are rows with ``jurisdiction``, ``cited_case_id`` and ``text``; the queries
    of a jurisdiction keep their order.
    """
    queries_of: dict[str, list[Row]] = defaultdict(list)
    for row in queries:
        queries_of[row["jurisdiction"]].append(row)
    jurisdictions = {}
    for name in sorted(queries_of):
        jurisdictions[name] = Jurisdiction(queries_of[name], encode_query)
    for name, batch in _batches(_majorities(opinions, jurisdictions)):
        jurisdictions[name].search(batch, encode_document, most)
    return jurisdictions


def case_of(opinion_id: str) -> int:
    """The id of the case to which an opinion belongs."""
    return int(opinion_id.rpartition("-")[0])


def queries_of(examples: str | Path) -> list[Row]:
    """Return the rows of `QUERIES`, sorted by id."""
    rows = [
        _as_query(row)
        for row in dataset.read(examples, _EXAMPLE)
        if row["split"] == TEST
        and row["analysis"]
        and row["label"] in (ENTAIL, CONTRADICT)
    ]
    return sorted(rows, key=itemgetter("query_id"))


def _as_query(row: Row) -> Row:
    """An example with the columns of `QUERIES` in addition."""
    return {
        **row,
        "query_id": row["example_id"] + TWIN * row["is_twin"],
        "jurisdiction": row["cited_jurisdiction"],
        "text": row["hypothesis"],
    }


def _majorities(
    opinions: Sequence[str | Path], jurisdictions: Collection[str]
) -> Iterator[Row]:
    """The single majority opinions of these jurisdictions' cases, in the order of the
    files.
    """
    for row in read_opinions(opinions, [*_OPINION, "text"]):
        single = row["opinion_type"] == MAJORITY and row["majorities"] == 1
        if single and row["jurisdiction"] in jurisdictions and row["text"].strip():
            yield row


def _batches(opinions: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield (jurisdiction, some of its opinions); at most `BATCH` opinions are in
    memory.
    """
    opinions = iter(opinions)
    jurisdiction = itemgetter("jurisdiction")
    while batch := sorted(islice(opinions, BATCH), key=jurisdiction):
        for name, alike in groupby(batch, key=jurisdiction):
            yield name, list(alike)


def _documents(opinions: Sequence[str | Path], opinion_ids: set[str]) -> Iterator[Row]:
    """The rows of `DOCUMENTS`, in the order of the files."""
    for row in read_opinions(opinions, [*_OPINION, "text"]):
        if row["opinion_id"] in opinion_ids:
            yield row | {"document_id": row["opinion_id"]}


def write_reranking(
    examples: str | Path,
    unfiltered: str | Path,
    opinions: Sequence[str | Path],
    encode_query: Encode,
    encode_document: Encode,
    seed: int,
    tables: Mapping[str, str | Path],
) -> int:
    """Write the tables of `RERANKING` to the paths in ``tables``, by name; return how
    many examples.

    ``unfiltered`` gives the cited case of a Neutral hypothesis, whose example has
    another premise. Encoders and ``opinions`` as in `write_retrieval`. Memory: the
    hypotheses, and the memory of `write_retrieval`.
    """
    rows = [_as_query(row) for row in dataset.read(examples, _EXAMPLE)]
    cited = {
        row["example_id"]: row["cited_case_id"]
        for row in dataset.read(unfiltered, ["example_id", "cited_case_id"])
    }
    neutral = [
        {**row, "cited_case_id": cited[row["example_id"]]}
        for row in rows
        if row["label"] == NEUTRAL
    ]
    drawn = _drawn(neutral, opinions, encode_query, encode_document, seed)
    # {case, or id of the opinion drawn for a Neutral hypothesis: its examples}
    by_opinion: dict[int | str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["label"] != NEUTRAL:
            by_opinion[row["cited_case_id"]].append(row)
        elif row["query_id"] in drawn:
            by_opinion[drawn[row["query_id"]]].append(row)
    written: list[Row] = []
    dataset.write(TEXTS, _texts(by_opinion, opinions, written), tables["texts"])
    dataset.write(HEADS, [{"head_id": NLI, "answers": list(LABELS)}], tables["heads"])
    return dataset.write(
        EXAMPLES, sorted(written, key=lambda row: row["example_id"]), tables["examples"]
    )


def _drawn(
    neutral: Sequence[Row],
    opinions: Sequence[str | Path],
    encode_query: Encode,
    encode_document: Encode,
    seed: int,
) -> dict[str, str]:
    """{id of a Neutral query: id of the opinion that is its premise}.

    It is drawn from the `CANDIDATES` nearest opinions of other cases than the cited
    one; a query without any is left out.
    """
    negatives = {}
    jurisdictions = searched(
        neutral, opinions, encode_query, encode_document, CANDIDATES + 1
    )
    for jurisdiction in jurisdictions.values():
        for query_number, row in enumerate(jurisdiction.queries):
            near = [
                opinion
                for opinion in jurisdiction.near(query_number)
                if case_of(opinion) != row["cited_case_id"]
            ]
            if candidates := near[:CANDIDATES]:
                number = draw(seed, "reranking", row["example_id"], row["is_twin"])
                negatives[row["query_id"]] = candidates[number % len(candidates)]
    return negatives


def _texts(
    by_opinion: Mapping[int | str, Sequence[Row]],
    opinions: Sequence[str | Path],
    written: list[Row],
) -> Iterator[Row]:
    """The rows of `TEXTS`, each text once; the rows of `EXAMPLES` are added to
    ``written``.
    """
    text_ids: set[str] = set()
    columns = ["opinion_id", "case_id", "opinion_type", "majorities", "text"]
    for opinion in read_opinions(opinions, columns):
        rows: list[Row] = []
        if opinion["opinion_type"] == MAJORITY and opinion["majorities"] == 1:
            rows += by_opinion.get(opinion["opinion_id"], ())
            rows += by_opinion.get(opinion["case_id"], ())
        if not rows:
            continue
        paragraphs = Paragraphs(opinion["text"])
        for row in rows:
            texts = paragraphs.best(row["text"]), row["text"]
            ids = [content_id(text) for text in texts]
            written.append(_example(row, opinion["opinion_id"], *ids))
            for text_id, text in zip(ids, texts, strict=True):
                if text_id not in text_ids:
                    text_ids.add(text_id)
                    yield {"text_id": text_id, "text": text}


def _example(row: Row, opinion_id: str, text_id: str, pair_id: str) -> Row:
    """The row of `EXAMPLES` of a query with its premise."""
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
