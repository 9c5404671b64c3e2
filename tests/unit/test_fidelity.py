"""The settings of trainings compared with the papers', on the page docs/fidelity.md."""

import pytest
from pydantic import ValidationError

from lextables.pipeline.errors import BadInput
from lextables.planning import fidelity


def test_the_page_agrees_with_the_registries():
    text = fidelity.PAGE.read_text(encoding="utf-8")
    assert text == fidelity.page(text), (
        "run: PYTHONPATH=workflow python -m lextables.planning.fidelity"
    )
    # Every grid of a paper that is trained is compared.
    assert text.count("\n## ") == 5 and text.count("| no: ") < text.count("| yes ")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"theirs": [1, 5], "key": "cuad.grids.paper.epochs"}, r"is 1; 4, not 1; 5"),
        (
            {"theirs": {"clip": None}, "key": "cuad.grids.paper.optimiser"},
            "is clip 1, not clip none",
        ),
        (
            {"theirs": 1, "key": "cuad.grids.paper.epoch"},
            "there is no setting cuad.grids.paper.epoch",
        ),
        ({"theirs": 1, "key": "cuad.grids.paper.epochs.first"}, "there is no setting"),
        ({"theirs": "a", "ours": "b", "same": False}, "is b, not a"),
    ],
)
def test_a_difference_needs_a_reason(tmp_path, monkeypatch, row, message):
    path = tmp_path / "fidelity.yaml"
    rows = [row | {"setting": "a setting", "source": "paper"}]
    path.write_text(f"cuad: {rows!r}".replace("None", "null").replace("False", "false"))
    monkeypatch.setattr(fidelity, "SETTINGS", path)
    with pytest.raises(BadInput, match=message):
        fidelity.tables()


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"key": "a", "ours": 1, "same": True},
        {"ours": 1},
        {"same": True},
        {"key": "a", "same": True},
    ],
)
def test_a_row_has_a_key_or_a_stated_value(row):
    with pytest.raises(ValidationError, match="needs either a key, or ours and same"):
        fidelity.Setting(setting="s", source="paper", theirs=1, **row)
