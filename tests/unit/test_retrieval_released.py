"""LawngNLI's released code of retrieval: chunks of rows instead of pools, logits,
deviations.

The released code scores chunks of rows of several queries with the first query of each
chunk (`okapi.released_chunks`).
"""

import math
from dataclasses import replace

import pytest

from helpers.retrieval_hits import store
from lextables import ROOT
from lextables.metrics.intervals import exact_share_interval
from lextables.registry.packages import load
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.planner import Reranker, Retriever
from lextables.tasks.retrieval.rankers import okapi
from lextables.tasks.retrieval.ranking import Chunks, Ranking

# Four queries with three candidates each, as 1,322 with 1,000: each document is one
# word.
TASK = {"training": "train", "validation": "valid", "test": "test"}
POOLS = {
    "q1": {"a1": "u", "a2": "v", "a3": "one"},
    "q2": {"b1": "two", "b2": "x", "b3": "two"},
    "q3": {"c1": "w", "c2": "three", "c3": "z"},
    "q4": {"d1": "three", "d2": "y", "d3": "four"},
}
TARGETS = {"q1": "a3", "q2": "b1", "q3": "c2", "q4": "d3"}
TEXTS = {"q1": "one", "q2": "two", "q3": "three", "q4": "four"}
CHUNKS = {"number": 3, "by": "label"}
SETTINGS = {"form": "text", "chunks": CHUNKS}
# Okapi's score of the document with the word: of four in a chunk one has it, all
# equally long.
SCORE = math.log(3.5 / 1.5)


def collection(labels=None, targets=TARGETS):
    documents, queries, judged = {}, {}, {}
    for name, pool in POOLS.items():
        documents.update(pool)
        judged[name] = dict.fromkeys(pool, 0)
        if name in targets:
            judged[name][targets[name]] = 1
        label = (labels or {}).get(name, "entail")
        queries[name] = {"split": "test", "label": label, "text": TEXTS[name]}
    return Collection(documents, queries, judged, TASK)


def chunks_of(data, number=3):
    found = okapi.released_chunks(
        data, sorted(POOLS), Chunks(number=number, by="label")
    )
    return [[document for _, document in chunk] for chunk in found]


def test_a_chunk_has_the_rows_of_several_queries_and_is_scored_with_the_first_of_them():
    data = collection()
    assert chunks_of(data) == [
        ["a1", "a2", "a3", "b1"],
        ["b2", "b3", "c1", "c2"],
        ["c3", "d1", "d2", "d3"],
    ]
    hits = okapi.rank(Ranking(data, {"text": SETTINGS}))["text"]
    # Of q2 only b2 and b3 are scored with "two"; c2 is scored with "two", all of q4
    # with "three".
    assert hits == {
        "q1": [("a3", pytest.approx(SCORE)), ("a1", 0), ("a2", 0)],
        "q2": [("b3", pytest.approx(SCORE)), ("b1", 0), ("b2", 0)],
        "q3": [("c1", 0), ("c2", 0), ("c3", 0)],
        "q4": [("d1", pytest.approx(SCORE)), ("d2", 0), ("d3", 0)],
    }
    # Without chunks each pool is scored with its own query.
    of_pools = okapi.rank(Ranking(data, {"text": SETTINGS | {"chunks": None}}))["text"]
    assert (of_pools["q3"][0][0], of_pools["q4"][0][0]) == ("c2", "d3")


def test_the_first_chunks_have_a_row_more_if_the_rows_do_not_divide():
    lengths = [len(chunk) for chunk in chunks_of(collection(), number=5)]
    assert lengths == [3, 3, 2, 2, 2]
    # More chunks than rows: each row is alone.
    assert chunks_of(collection(), number=20) == [
        [name] for of in POOLS.values() for name in of
    ]


def test_each_label_has_chunks_of_its_own():
    labels = {"q1": "contradict", "q3": "contradict"}
    assert chunks_of(collection(labels), number=2) == [
        ["a1", "a2", "a3"],
        ["c1", "c2", "c3"],
        ["b1", "b2", "b3"],
        ["d1", "d2", "d3"],
    ]


def test_a_query_without_its_target_among_the_hits_is_left_out_before(tmp_path):
    data = collection()
    hits = {query: list(pool) for query, pool in POOLS.items()}
    hits["q2"] = ["b3", "b2"]
    files = [store(hits, tmp_path / "hits.parquet")]
    found = okapi.rank(Ranking(data, {"text": SETTINGS}, {"text": files}))["text"]
    # Nine rows in three chunks of three: each is a pool by chance, of q1, q3 and q4.
    assert sorted(found) == ["q1", "q3", "q4"]
    assert [found[query][0][0] for query in sorted(found)] == ["a3", "c2", "d3"]


def test_chunks_follow_the_order_of_the_hits_and_of_filtered_documents(tmp_path):
    data = collection()
    hits = {query: list(pool)[::-1] for query, pool in POOLS.items()}
    files = [store(hits, tmp_path / "hits.parquet")]
    for read in ("whole", "filtered"):
        settings = SETTINGS | {"documents": read}
        found = okapi.rank(Ranking(data, {"text": settings}, {"text": files}))["text"]
        # Chunks: a3 a2 a1 b3 | b2 b1 c3 c2 | c1 d3 d2 d1, scored with q1, q2 and q3.
        assert [name for name, _ in found["q2"]] == ["b1", "b3", "b2"]
        assert [name for name, _ in found["q3"]] == ["c3", "c2", "c1"]
        assert [name for name, _ in found["q4"]] == ["d1", "d3", "d2"]


def test_a_document_is_cut_for_its_own_query_and_scored_with_that_of_the_chunk():
    data = collection()
    # For "two" the first five paragraphs are kept, for "one" the last one would be.
    documents = {**data.documents, "a3": "k", "b1": "p\nq\nr\ns\nt\none"}
    data = replace(data, documents=documents)
    of_b1 = {}
    for read in ("whole", "filtered"):
        settings = SETTINGS | {"documents": read}
        hits = okapi.rank(Ranking(data, {"text": settings}))["text"]
        of_b1[read] = dict(hits["q2"])["b1"]
    assert of_b1["filtered"] == 0
    assert of_b1["whole"] != 0


def test_rows_as_released_have_the_settings_of_the_released_code():
    task = load(ROOT / "resources/papers/lawngnli.yaml").tasks["lawngnli_retrieval"]
    # zero_shot_retrieval.py: np.array_split(data, 1000); retrieval.py:
    # np.array_split(data, 100).
    assert task.retrievers["bm25-released"].chunks == Chunks(number=1000, by="label")
    assert task.rerankers["bm25-released"].chunks == Chunks(number=100, by="label")
    # The rows of a pool come by the similarity to the query.
    assert task.names.order == "similarity"
    # retrieval.py: outputs["logits"][..., 0 if DocNLI else retrieval].
    for key in (
        "albert-anli-lawngnli",
        "albert-anli",
        "albert-control",
        "albert-docnli",
    ):
        published, released = task.rerankers[key], task.rerankers[f"{key}-released"]
        assert (published.score, released.score) == ("probability", "logit")
        assert (published.additional, released.additional) == (False, True)
        assert released.row == f"{published.row}, as released"
    assert task.rerankers["albert-docnli"].answers == {"contradict": "not entail"}
    assert task.rerankers["albert-docnli-released"].answers == {"contradict": "entail"}


def test_the_papers_deviation_is_that_of_the_queries_with_a_hit_times_their_share():
    # Table 6: 0.505 of 1,322 queries have a hit among the first hundred, with 0.003.
    queries, with_hit = 1322, 668
    low, high = exact_share_interval(with_hit, with_hit)
    deviation = max(1 - low, high - 1)
    assert round(with_hit / queries, 3) == 0.505
    assert round(deviation * with_hit / queries, 3) == 0.003
    # Table 17 has the interval over all queries, for the same share.
    low, high = exact_share_interval(with_hit, queries)
    share = with_hit / queries
    assert round(max(share - low, high - share), 3) == 0.027


def test_only_okapi_has_chunks():
    fault = "only okapi has chunks"
    assert Retriever(row="A", chunks=CHUNKS, kind="bm25").fault() == fault
    with pytest.raises(ValueError, match=fault):
        Reranker(row="A", chunks=CHUNKS, kind="bi-encoder", model="x")


def test_only_a_classifier_has_logits():
    with pytest.raises(ValueError, match="only a classifier has logits"):
        Reranker(row="A", kind="bi-encoder", model="x", score="logit")
