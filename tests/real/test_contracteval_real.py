"""ContractEval on the real contracts: the data set, and the scores of fixed outputs."""

import pytest

from helpers.registered import read, written
from lextables.metrics.containment import gold_texts
from lextables.metrics.containment_scores import scores
from lextables.tasks.spans.outputs import contract_of, fixed


@pytest.fixture(scope="module")
def rows(mirror, tmp_path_factory):
    """Return {table: rows} of the data set, which has the registered census."""
    if not (mirror / "cuad/data.zip").is_file():
        pytest.skip(f"no real data: there is no file {mirror / 'cuad/data.zip'}")
    data = read("contracteval", "contracteval", mirror)
    folder = tmp_path_factory.mktemp("data")
    written("contracteval", "contracteval", folder, data, "rebuilt")
    return data.of


METRICS = ("F1", "F2", "Jaccard", "false rate", "F1, strict")


@pytest.mark.parametrize(
    ("output", "values"),  # those of `METRICS`, in their order
    [
        ("${contract}", (0.297, 0.514, 0.044, 0, 0)),
        ("No related clause. ${contract}", (1, 1, 0.044, 1, 0)),
        ("No related clause.", (0, 0, 0.0025, 1, 0)),
    ],
)
def test_fixed_outputs_have_their_stored_scores(rows, output, values):
    golds = gold_texts(rows["answers"])
    contract_of_question = contract_of(rows["questions"], "test")
    assert len(contract_of_question) == 4182
    assert len(contract_of_question.keys() & golds.keys()) == 1244
    texts = {row["contract_id"]: row["text"] for row in rows["contracts"]}
    # Of short contracts only, because the time depends on the length of the outputs.
    asked = {}
    for question, contract in contract_of_question.items():
        if len(texts[contract]) <= 20_000:
            asked[question] = contract
    outputs = fixed(asked, texts, output)
    rows_of_scores, _ = scores(outputs, golds, asked, resamples=1)
    value_of = {row["metric"]: row["value"] for row in rows_of_scores}
    assert [value_of[name] for name in METRICS] == pytest.approx(values, abs=0.0005)
