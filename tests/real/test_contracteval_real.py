"""ContractEval on the real contracts: the data set, and the scores of fixed outputs."""

import pytest

from lextables.metrics.containment import gold_texts
from lextables.metrics.containment_scores import scores
from lextables.tasks.spans.outputs import contract_of, fixed
from registered import read, written


@pytest.fixture(scope="module")
def rows(mirror, tmp_path_factory):
    if not (mirror / "cuad/data.zip").is_file():
        pytest.skip(f"no real data: there is no file {mirror / 'cuad/data.zip'}")
    found = read("contracteval", "contracteval", mirror)
    written(
        "contracteval",
        "contracteval",
        tmp_path_factory.mktemp("data"),
        found,
        "rebuilt",
    )
    return found.of


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "${contract}",
            {
                "F1": 0.459,
                "F2": 0.679,
                "Jaccard": 0.033,
                "false rate": 0,
                "F1, strict": 0,
            },
        ),
        (
            "No related clause. ${contract}",
            {"F1": 1, "F2": 1, "Jaccard": 0.033, "false rate": 1, "F1, strict": 0},
        ),
        ("No related clause.", {"F1": 0, "F2": 0, "Jaccard": 0.003, "false rate": 1}),
    ],
)
def test_scores_of_fixed_outputs(rows, output, expected):
    golds, test = gold_texts(rows["answers"]), contract_of(rows["questions"], "test")
    assert (len(test), len(test.keys() & golds.keys())) == (4182, 1244)
    texts = {row["contract_id"]: row["text"] for row in rows["contracts"]}
    rows_of_scores, _ = scores(fixed(test, texts, output), golds, test, resamples=1)
    found = {row["metric"]: row["value"] for row in rows_of_scores}
    assert {name: found[name] for name in expected} == pytest.approx(
        expected, abs=0.0005
    )
