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

QUERIES_A_DOCUMENT = 1.322  # of a pool
# A citation of United States Reports with its year and a parenthetical that begins with
# a participle: volume, page, text.
PARENTHETICAL = re.compile(
    r"\b(\d{3}) U\. ?S\. (\d{1,4})[^()]{0,60}\(\d{4}\) \(([a-z]+ing [^()]{40,400})\)"
)
TASK = {"training": "train", "validation": "valid", "test": "test"}


def majority_opinions(mirror: Path, volumes: list[str]) -> dict[str, str]:
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
    """Return (hypothesis, name of the cited opinion) of each different parenthetical,
    in the order of the opinions.
    """
    targets = {}
    for text in texts.values():
        for match in PARENTHETICAL.finditer(text):
            target = f"{match[1]}-{match[2]}"
            if target in texts:
                targets.setdefault(match[3], target)
    return list(targets.items())


def pool_size(pairs: list[tuple[str, str]]) -> int:
    """Return the number of documents of a whole pool."""
    return round(len(pairs) / QUERIES_A_DOCUMENT)


def collection_of(
    texts: dict[str, str], pairs: list[tuple[str, str]], share: float
) -> Collection:
    """Return the queries of ``pairs`` (`parentheticals`) with their pools, nearest
    first, cut to ``share`` of each pool.
    """
    names = list(texts)
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    documents = vectorizer.fit_transform(texts.values())
    query_vectors = vectorizer.transform([text for text, _ in pairs])
    products = (query_vectors @ documents.T).toarray()
    size = pool_size(pairs)
    queries = {}
    judged = {}
    for number, (text, target) in enumerate(pairs):
        query = f"q{number:04}"
        nearest_first = np.argsort(-products[number], kind="stable")
        pool = [names[place] for place in nearest_first[:size]]
        if target not in pool:
            pool[-1] = target
        candidates = pool[: round(size * share)]
        queries[query] = {"split": "test", "label": "entail", "text": text}
        judged[query] = {document: int(document == target) for document in candidates}
    return Collection(texts, queries, judged, TASK)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("volumes", nargs="+")
    arguments = parser.parse_args()
    texts = majority_opinions(arguments.mirror, arguments.volumes)
    pairs = parentheticals(texts)
    cutoffs = (1, 10, round(pool_size(pairs) / 10))
    for share in (1.0, 0.1):
        data = collection_of(texts, pairs, share)
        size = max(len(pool) for pool in data.judged.values())
        print(f"{len(texts):,} opinions, {len(pairs)} queries, {size} documents each")
        for name, chunks in (
            ("one pool a query", None),
            ("as released", {"number": size, "by": "label"}),
        ):
            settings = {"form": "text", "chunks": chunks}
            hits = okapi.rank(Ranking(data, {"text": settings}))["text"]
            run = {}
            for query, ranking in hits.items():
                run[query] = [document for document, _ in ranking]
            values = []
            for cutoff in cutoffs:
                recalls = recall(data.judged, run, cutoff).values()
                # A query without its target among the candidates has the recall NaN; it
                # counts as one without a hit.
                values.append(f"{np.nansum(list(recalls)) / len(pairs):.3f}")
            print(f"  {name}: {' '.join(values)}")


if __name__ == "__main__":
    main()
