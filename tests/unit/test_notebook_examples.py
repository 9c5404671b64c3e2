"""The examples of the Python functions run: those of their page, and the notebook."""

import json
import re

import pytest

import lextables
from helpers.notebook_folder import write_folder
from lextables import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with the sample's data sets as the release's, and predictions
    for them.
    """
    return write_folder(tmp_path_factory.mktemp("project"))


def test_the_examples_of_the_page_run(folder, monkeypatch, capsys):
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == 4
    monkeypatch.chdir(folder)
    names = {}
    exec("\n".join(blocks), names)
    assert "NDCG@10" in capsys.readouterr().out
    assert {*names["tests"]["one"]} <= {"Common words / None", "Longest / None"}
    assert f"all {len(lextables.published()):,} values" in page


def test_the_cells_of_the_example_notebook_run(folder, tmp_path, monkeypatch, capsys):
    """They run on the sample; the stored outputs are from the published data."""
    file = ROOT / "examples/score_and_compare.ipynb"
    notebook = json.loads(file.read_text(encoding="utf-8"))
    (tmp_path / "results").symlink_to(folder / "results")
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        exec("".join(cell["source"]), names)
        output = capsys.readouterr().out
        stored = "".join(text for each in cell["outputs"] for text in each["text"])
        # The same columns and rows, with other values.
        assert output.split("\n")[0].split()[:1] == stored.split("\n")[0].split()[:1]
        assert output.count("\n") == stored.count("\n")
    assert {*names["tests"]["one"]} <= {"Common words / None", "Longest / None"}
    assert names["scores"].attrs["data"] == "release"
