"""ContractEval on the real contracts: the data set, and the scores of fixed outputs."""

import pytest

from helpers.registered import read, written
from lextables.metrics.containment import gold_texts
from lextables.metrics.containment_scores import scores
from lextables.tasks.spans.outputs import contract_of, fixed


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
    ("output", "values"),
    [
        ("${contract}", (0.297, 0.514, 0.044, 0, 0)),
        ("No related clause. ${contract}", (1, 1, 0.044, 1, 0)),
        ("No related clause.", (0, 0, 0.0025, 1, 0)),
    ],
)
def test_scores_of_fixed_outputs(rows, output, values):
    golds = gold_texts(rows["answers"])
    test = contract_of(rows["questions"], "test")
    assert (len(test), len(test.keys() & golds.keys())) == (4182, 1244)
    texts = {row["contract_id"]: row["text"] for row in rows["contracts"]}
    # Of short contracts only, because the time depends on the length of the outputs.
    test = {name: of for name, of in test.items() if len(texts[of]) <= 20_000}
    rows_of_scores, _ = scores(fixed(test, texts, output), golds, test, resamples=1)
    found = {row["metric"]: row["value"] for row in rows_of_scores}
    metrics = ("F1", "F2", "Jaccard", "false rate", "F1, strict")
    assert [found[name] for name in metrics] == pytest.approx(values, abs=0.0005)
