"""The census of LawngNLI, and the error that is raised if no example is left after a
filter step.
"""

import json

import pytest

from lextables.papers.lawngnli.census import (
    NOTE,
    check_examples_left,
    ingested,
    total,
    volume_sources,
)
from lextables.papers.lawngnli.steps import StepCounts, write_counts
from lextables.pipeline.errors import BadInput


def test_counts_of_shards_are_summed_in_the_order_of_the_steps(tmp_path):
    steps = [
        StepCounts(
            {"citations": 9, "resolved": 4},
            {"supra citations": 2},
            ("1-0, character 7: never closed.",),
        ),
        StepCounts({"a pincite": 3}, {}),
        StepCounts(
            {"citations": 1, "resolved": 0}, {"supra citations": 0, "id citations": 1}
        ),
        StepCounts({"a pincite": 0}, {"rejected": 1}),
    ]
    for number, step in enumerate(steps):
        write_counts(step, tmp_path / f"{number}.json")
    found = total(
        json.loads((tmp_path / f"{n}.json").read_text(encoding="utf-8"))
        for n in range(4)
    )
    assert list(found.funnel.items()) == [
        ("citations", 10),
        ("resolved", 4),
        ("a pincite", 3),
    ]
    # A step that kept nothing in any shard is still in the funnel.
    assert total(
        [{"funnel": {"citations": 0, "resolved": 0}, "counts": {}}] * 2
    ).funnel == {"citations": 0, "resolved": 0}
    assert found.counts == {"supra citations": 2, "id citations": 1, "rejected": 1}


def test_opinions_and_excluded_volumes_are_counted_over_all_shards():
    reports = [
        {"opinions": 4, "cases left out": 2, "set_aside": ["us/1"]},
        {"opinions": 0, "cases left out": 1, "set_aside": ["us/3", "us/2"]},
    ]
    notes, set_aside = ingested(iter(reports))
    assert notes == {"opinions": 4, "cases left out": 3, "volumes set aside": 3}
    assert set_aside == ["us/1", "us/3", "us/2"]


def volume(place, size, variant="published"):
    words = {
        "source": "caselaw",
        "variant": variant,
        "licence": "CC0",
        "citation": "CAP",
    }
    return words | {
        "obtained_from": place,
        "bytes": size,
        "digest": "sha256:0",
        "comparable": True,
    }


def test_volumes_are_grouped_into_sources_that_are_not_comparable():
    one = {
        "volumes": [
            volume("https://static.case.law/us/1.zip", 5),
            volume("/mirror/caselaw", 7),
        ]
    }
    two = {
        "volumes": [
            volume("https://static.case.law/ill/2.zip?x=1", 6),
            volume("https://static.case.law/us/9.zip", 1, "unverified"),
        ]
    }
    shared = {
        "source": "caselaw",
        "licence": "CC0",
        "citation": "CAP",
        "comparable": False,
        "note": NOTE,
    }
    host = "https://static.case.law"
    expected = [
        ("published", host, "2 volumes", 11),
        ("published", "/mirror/caselaw", "1 volumes", 7),
        ("unverified", host, "1 volumes", 1),
    ]
    names = ("variant", "obtained_from", "file", "bytes")
    assert volume_sources([one, two]) == [
        shared | dict(zip(names, e, strict=True)) for e in expected
    ]
    assert volume_sources([{"volumes": []}]) == []


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (
            [("citations", 1200), ("balanced", 0), ("with twins", 0)],
            "0 after the step 'balanced', 1,200 before it",
        ),
        ([("citations", 0), ("balanced", 0)], "0 after the step 'citations'"),
    ],
)
def test_the_error_for_an_empty_data_set_names_the_step_that_emptied_it(
    counts, sentence
):
    with pytest.raises(BadInput) as error:
        check_examples_left(counts)
    do = "name more volumes in caselaw, such as those that these cite."
    assert str(error.value) == f"LawngNLI: no example is left: {sentence}; {do}"
    check_examples_left([("citations", 200), ("balanced", 6), ("with twins", 12)])
