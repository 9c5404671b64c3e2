"""First stages of retrieval, which rank the documents of a pool, and reranking of
their hits.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.retrieval_hits import documents, names, store
from helpers.small_collection import COLLECTION, DOCUMENTS, JUDGED, QUERIES, TASK
from lextables.pipeline.dataset import write
from lextables.tasks.retrieval import collection, dense
from lextables.tasks.retrieval.collection import (
    PREDICTIONS,
    Collection,
    prediction_rows,
    ranked,
    reorder,
)
from lextables.tasks.retrieval.rankers import bm25, cross_encoder
from lextables.tasks.retrieval.ranking import (
    Encoders,
    Ranking,
    RankingSettings,
    shared_out,
)


def test_a_collection_is_loaded_with_the_table_names_of_its_data_set(tmp_path):
    clauses = [{"clause_id": key, "text": text} for key, text in DOCUMENTS.items()]
    judgements = []
    for query, of_query in JUDGED.items():
        row = {"query_id": query}
        for clause, gain in of_query.items():
            judgements.append(row | {"clause_id": clause, "score": gain})
    tables = {"clauses": clauses, "queries": list(QUERIES.values())}
    tables["judgements"] = judgements
    assert collection.files(TASK) == list(tables)
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name)
    paths = [tmp_path / name for name in tables]
    assert collection.load(paths, TASK) == COLLECTION


def test_queries_are_selected_by_split_form_and_name():
    assert list(COLLECTION.of("test")) == ["assign", "cap"]
    assert list(COLLECTION.of("validation", "test")) == ["assign", "cap", "term"]
    assert list(COLLECTION.of("training")) == ["seen"]
    assert COLLECTION.texts("long", ("test",), ["cap", "term"]) == {
        "cap": "a clause about cap on liability"
    }
    assert set(COLLECTION.pool("cap", "judged")) == {"a", "b", "d"}
    assert set(COLLECTION.pool("cap", "all")) == set(DOCUMENTS)


BM25 = {
    "form": "short",
    "index": "query",
    "pool": "judged",
    "top": 10,
    "k1": 0.9,
    "b": 0.4,
    "queries": None,
}


def bm25_hits(data=COLLECTION, **changes):
    return bm25.rank(Ranking(data, {"short": BM25 | changes}))["short"]


@pytest.mark.parametrize(
    ("changes", "hits"),
    [
        ({}, ["a"]),
        ({"index": "corpus"}, ["a"]),
        ({"index": "corpus", "pool": "all"}, ["a", "c"]),
        ({"pool": "all"}, ["a", "c"]),
        ({"index": "corpus", "pool": "all", "top": 1}, ["a"]),
    ],
)
def test_bm25_ranks_the_pool(changes, hits):
    found = bm25_hits(**changes)
    assert list(found) == ["assign", "cap", "term"]
    assert names(found["cap"]) == hits


@pytest.mark.parametrize("index", ["query", "corpus"])
@pytest.mark.parametrize("pool", ["judged", "all"])
def test_bm25_returns_the_first_hits_of_a_query(index, pool):
    equal = replace(COLLECTION, documents=dict.fromkeys(DOCUMENTS, "cap"))
    hits = bm25_hits(equal, index=index, pool=pool, top=2)
    assert names(hits["cap"]) == ["a", "b"]


def test_scores_differ_between_a_corpus_index_and_a_query_index():
    (one,), (whole,) = (bm25_hits(index=index)["cap"] for index in ("query", "corpus"))
    assert one[0] == whole[0] == "a" and one[1] != whole[1]


def test_other_forms_are_ranked_only_for_their_listed_queries():
    forms = {"short": BM25, "long": BM25 | {"form": "long", "queries": ["cap"]}}
    found = bm25.rank(Ranking(COLLECTION, forms))
    assert list(found["short"]) == ["assign", "cap", "term"]
    assert list(found["long"]) == ["cap"]


VECTORS = RankingSettings(form="short", top=10)


def test_vectors_rank_the_pool_and_each_text_is_encoded_once():
    seen = []

    def encode(texts):
        seen.append(list(texts))
        rows = [[text.count("liability"), len(text)] for text in texts]
        return np.array(rows, dtype=np.float32)

    def queries(texts):
        seen.append(list(texts))
        return np.array([[1, 0]] * len(texts), dtype=np.float32)

    forms = {
        "short": VECTORS,
        "long": RankingSettings(form="long", queries=["cap"]),
        "again": RankingSettings(form="short", queries=[]),
    }
    hits = dense.retrieve(COLLECTION, forms, Encoders(encode, queries))
    assert hits["short"]["cap"] == [("a", 1.0), ("b", 0.0), ("d", 0.0)]
    assert hits["short"]["assign"] == [("c", 2.0), ("b", 0.0)]
    assert (list(hits["long"]), hits["again"]) == (["cap"], {})
    assert seen == [sorted(set(seen[0])), list(DOCUMENTS.values())]
    assert len(seen[0]) == 4


LONG = {
    "a": "liability\n\nthe seller pays\r\n  \nliability and liability",
    "b": "liability and liability and liability",
    "c": "\n",
    "d": "\nliability in the end\n",
}


@pytest.mark.parametrize(
    ("read", "hits"),
    [
        ("whole", [("a", 3.0), ("b", 3.0), ("d", 1.0)]),
        ("paragraphs", [("b", 3.0), ("a", 2.0), ("d", 1.0)]),
    ],
)
def test_a_document_is_scored_as_a_whole_or_by_its_best_paragraph(read, hits):
    def encode(texts):
        assert all(texts)
        return np.array([[text.count("liability")] for text in texts], dtype=np.float32)

    given = Collection(LONG, QUERIES, JUDGED, TASK)
    run = RankingSettings(form="short", documents=read, pool="all", top=3)
    encoders = Encoders(encode, lambda texts: np.ones((len(texts), 1), np.float32))
    found = dense.retrieve(given, {"short": run}, encoders)
    assert found["short"]["cap"] == hits


def test_equal_vectors_have_equal_similarities_wherever_they_are():
    vectors = np.random.default_rng(0).normal(size=(2, 385)).astype(np.float32)
    for count in range(1, 40):
        parts = np.repeat(vectors[1:], count, axis=0)
        found = {dense.nearest(vectors[0], parts[at:]) for at in range(count)}
        assert found == {dense.nearest(vectors[0], vectors[1:])}


def test_hits_of_the_first_stage_are_reranked_by_logits(tmp_path):
    asked = []

    def score(pairs):
        asked.extend(pairs)
        return np.array([-len(document) for _, document in pairs], dtype=np.float64)

    hits = {
        "short": {"cap": ["a", "d", "b"], "term": ["d"]},
        "long": {"cap": ["b", "a"]},
    }
    settings = {
        "short": {"form": "short"},
        "long": {"form": "long", "queries": ["cap"]},
    }
    found = cross_encoder.rerank(reranking(tmp_path, settings, hits), score)
    # Validation queries are not reranked; a test query without hits is kept.
    assert documents(found["short"]) == {"assign": [], "cap": ["d", "b", "a"]}
    assert documents(found["long"]) == {"cap": ["b", "a"]}
    assert ("a clause about cap on liability", DOCUMENTS["a"]) in asked
    assert len(asked) == 5


def reranking(folder, settings, hits):
    """A job that reads ``hits``: {condition: {query: documents, best first}}."""
    files = [store(of, folder / f"{name}.parquet") for name, of in hits.items()]
    return Ranking(COLLECTION, settings, shared_out(files, settings))


def test_files_are_shared_out_to_the_conditions_in_their_order():
    assert shared_out(["a", "b"], "xy") == {"x": ["a"], "y": ["b"]}
    assert shared_out(["a", "b"], "x") == {"x": ["a", "b"]}
    assert shared_out([], "xy") == {"x": [], "y": []}


def test_equal_scores_keep_the_previous_order():
    scores = {("q", "z"): 1, ("q", "a"): 1, ("q", "b"): 2}
    found = reorder({"q": ["z", "a", "b"]}, scores)
    assert found == {"q": [("b", 2), ("z", 1), ("a", 1)]}


def test_hits_are_stored_best_first(tmp_path):
    hits = {"cap": [("d", 2.0), ("a", 1.0)], "assign": [("b", 0.5)]}
    assert write(PREDICTIONS, prediction_rows(hits), tmp_path / "hits.parquet") == 3
    assert ranked(tmp_path / "hits.parquet") == documents(hits)
