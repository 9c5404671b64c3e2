"""Pools are the paper's if the examples, the collection and the encoder are."""

import pytest

from lextables.papers.lawngnli.dataset.pool_sources import pool_sources

EXAMPLES = {"variant": "release", "comparable": True, "note": ""}
BUILT = {"variant": "rebuilt", "comparable": False, "note": "other volumes"}


@pytest.mark.parametrize(
    ("whole", "encoder", "variant"),
    [
        (True, "mpnet", "release"),
        (False, "mpnet", "incomplete collection"),
        (True, "minilm", "pools of another encoder"),
        (False, "minilm", "incomplete collection"),
    ],
)
def test_pools_are_comparable_with_the_papers_examples_collection_and_encoder(
    whole, encoder, variant
):
    examples, built = pool_sources(
        [EXAMPLES, BUILT], whole=whole, encoder=encoder, paper_encoder="mpnet"
    )
    assert examples["variant"] == variant
    assert examples["comparable"] == (variant == "release")
    assert built == BUILT


def test_the_note_names_both_encoders():
    (pools,) = pool_sources(
        [EXAMPLES], whole=True, encoder="minilm", paper_encoder="mpnet"
    )
    assert pools["note"] == "pools chosen by minilm, where the paper had mpnet"
