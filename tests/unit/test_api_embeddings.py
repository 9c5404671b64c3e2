"""Embeddings by an API: their order, their cache, and invalid vectors."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.api_calls import SECRET, files
from helpers.language_model_server import always, reply
from lextables.models import api
from lextables.models.api import embed
from lextables.models.spending import Limits
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.rankers import embedding_api
from lextables.tasks.retrieval.ranking import Ranking


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(api.KEY, SECRET)


def test_embeddings_are_in_the_order_of_their_texts(serve, tmp_path):
    """The server returns vectors (length of the text, 1) in reverse order, after one
    rejection.
    """

    def answer(handler, path, asked):
        if len(server.asked) == 1:
            reply(handler, 429, {"error": {"message": "slow down"}}, Retry_After="0.01")
            return
        data = [
            {"index": at, "embedding": [len(text), 1.0]}
            for at, text in enumerate(asked["input"])
        ]
        reply(
            handler,
            200,
            {"data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}},
        )

    server = serve(answer)
    texts = ["abc", "a", "abc", "ab"]
    options = {"cache": tmp_path, "limits": Limits(concurrency=1), "batch_size": 2}
    vectors = embed(server.base, "text-embedding-3-small", texts, **options)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors[:, 0] / vectors[:, 1], [3, 1, 3, 2])
    assert np.array_equal(
        embed(server.base, "text-embedding-3-small", texts, **options), vectors
    )
    assert server.asked[0][0] == "/v1/embeddings"
    # The rejected batch is sent again, a repeated text is sent once, and a cached text
    # is not sent.
    assert [body["input"] for _, _, body in server.asked] == [
        ["a", "ab"],
        ["a", "ab"],
        ["abc"],
    ]
    with pytest.raises(BadInput, match="llm_budget, text-embedding-3-large"):
        embed(
            server.base,
            "text-embedding-3-large",
            ["a"],
            cache=tmp_path,
            limits=Limits(dollars=0),
        )
    assert len(server.asked) == 3
    assert embed(server.base, "text-embedding-3-small", [], **options).shape == (0, 0)
    assert len(server.asked) == 3


def test_a_ranking_uses_the_cache_and_limits_of_its_params(serve, tmp_path):
    data = [{"index": at, "embedding": [2.0, at]} for at in range(2)]
    server = serve(
        lambda handler, path, asked: reply(
            handler,
            200,
            {"data": data[: len(asked["input"])], "usage": {"prompt_tokens": 1}},
        )
    )
    collection = Collection(
        {"d": "a", "e": "b"},
        {"q": {"split": "test", "short": "c"}},
        {"q": {"d": 0, "e": 1}},
        {"validation": "valid", "test": "test"},
    )
    settings = {"api": server.base, "weights": "served", "form": "short"}
    asking = {"kept": tmp_path / "calls", "limits": {"tokens": 0}}
    ranking = Ranking(collection, {"short": settings}, asking=asking)
    (hits,) = embedding_api.rank(ranking)["short"].values()
    assert [document for document, _ in hits] == ["d", "e"]
    assert len(files(tmp_path / "calls")) == 2
    with pytest.raises(BadInput, match="llm_tokens"):
        embedding_api.rank(
            replace(
                ranking, asking={"kept": tmp_path / "other", "limits": {"tokens": 1}}
            )
        )


@pytest.mark.parametrize(
    "number", [float("nan"), float("inf"), 1e400, 0.0, [1.0], None, "x"]
)
def test_invalid_vectors_are_not_cached(number, serve, tmp_path):
    data = [{"index": 0, "embedding": [number, 0.0]}]
    server = serve(always(200, {"data": data, "usage": {"prompt_tokens": 1}}))
    with pytest.raises(BadInput, match="does not have the form of OpenAI's API"):
        embed(server.base, "m", ["a"], cache=tmp_path, limits=Limits())
    assert files(tmp_path) == []


def test_vectors_of_different_lengths_are_an_error(serve, tmp_path):
    def answer(handler, path, asked):
        vector = [1.0] * (2 + len(asked["input"][0]))
        reply(
            handler,
            200,
            {
                "data": [{"index": 0, "embedding": vector}],
                "usage": {"prompt_tokens": 1},
            },
        )

    with pytest.raises(BadInput, match="m returned vectors of different lengths"):
        embed(
            serve(answer).base,
            "m",
            ["a", "bb"],
            cache=tmp_path,
            limits=Limits(),
            batch_size=1,
        )
