r"""Measure what the chunks of LawngNLI's released code do to BM25, on real opinions
(docs/lawngnli.md).

Queries are parentheticals of opinions of United States Reports that begin with a
participle; the target is the cited opinion, if a volume has it.  A pool has the
opinions with the highest TF-IDF products, and for one query in 1.322 a document, as in
the paper (1,322 queries, 1,000 documents).  The script prints Recall@1, @10 and @10 %
of the pool, for one pool a query and for the released code's chunks: of all documents
(Table 17), and of the first tenth of each pool (Table 6).

    PYTHONPATH=workflow python bench/measure_released_bm25.py --mirror ../shared/mirror
    480 481 … 544
"""

import argparse
import re
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from lextables.corpora.caselaw.opinion import MAJORITY, Opinion
from lextables.corpora.caselaw.volume import read_volume
from lextables.metrics.ranking import recall
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.rankers import okapi
from lextables.tasks.retrieval.ranking import Ranking

QUERIES_A_DOCUMENT = 1.322
PARENTHETICAL = re.compile(
    r"\b(\d{3}) U\. ?S\. (\d{1,4})[^()]{0,60}\(\d{4}\) \(([a-z]+ing [^()]{40,400})\)"
)
TASK = {"training": "train", "validation": "valid", "test": "test"}


def majorities(mirror: Path, volumes: list[str]) -> dict[str, str]:
    """Return {volume and first page: the text of the case's majority opinion}."""
    texts = {}
    for volume in volumes:
        path = mirror / f"caselaw/us/{volume}.zip"
        if not path.is_file():
            continue
        for opinion in read_volume(path):
            if not isinstance(opinion, Opinion):
                continue
            row = opinion.row()
            if row["opinion_type"] == MAJORITY and row["majorities"] == 1:
                texts[f"{row['volume']}-{row['first_page']}"] = row["text"]
    return texts


def parentheticals(texts: dict[str, str]) -> list[tuple[str, str]]:
    """Return (hypothesis, target) of each different parenthetical, in the order of the
    opinions.
    """
    targets = {}
    for text in texts.values():
        for match in PARENTHETICAL.finditer(text):
            target = f"{match[1]}-{match[2]}"
            if target in texts:
                targets.setdefault(match[3], target)
    return list(targets.items())


def collection_of(
    texts: dict[str, str], pairs: list[tuple[str, str]], share: float
) -> Collection:
    """Return the queries with their pools, nearest first, cut to ``share`` of each
    pool.
    """
    names = list(texts)
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    documents = vectorizer.fit_transform(texts.values())
    products = (
        vectorizer.transform([text for text, _ in pairs]) @ documents.T
    ).toarray()
    size = round(len(pairs) / QUERIES_A_DOCUMENT)
    queries, judged = {}, {}
    for number, (text, target) in enumerate(pairs):
        query = f"q{number:04}"
        nearest = [names[at] for at in np.argsort(-products[number], kind="stable")]
        pool = nearest[:size]
        if target not in pool:
            pool[-1] = target
        kept = pool[: round(size * share)]
        queries[query] = {"split": "test", "label": "entail", "text": text}
        judged[query] = {document: int(document == target) for document in kept}
    return Collection(texts, queries, judged, TASK)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("volumes", nargs="+")
    args = parser.parse_args()
    texts = majorities(args.mirror, args.volumes)
    pairs = parentheticals(texts)
    for share in (1.0, 0.1):
        data = collection_of(texts, pairs, share)
        size = max(len(pool) for pool in data.judged.values())
        of_pools = round(len(pairs) / QUERIES_A_DOCUMENT)
        print(f"{len(texts):,} opinions, {len(pairs)} queries, {size} documents each")
        for name, chunks in (
            ("one pool a query", None),
            ("as released", {"number": size, "by": "label"}),
        ):
            settings = {"form": "text", "chunks": chunks}
            hits = okapi.rank(Ranking(data, {"text": settings}))["text"]
            run = {
                query: [document for document, _ in ranking]
                for query, ranking in hits.items()
            }
            values = []
            for cutoff in (1, 10, round(of_pools / 10)):
                found = recall(data.judged, run, cutoff).values()
                # A query without its target among the candidates counts as one without
                # a hit.
                values.append(f"{np.nansum(list(found)) / len(pairs):.3f}")
            print(f"  {name}: {' '.join(values)}")


if __name__ == "__main__":
    main()
