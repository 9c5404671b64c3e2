"""ContractEval's reader: CUAD's questions, with the released test split."""

import json
import zipfile

import pytest

from lextables.pipeline.dataset import read as rows_of
from lextables.pipeline.errors import BadInput
from registered import SAMPLE, read, written


def test_the_sample_gives_the_registered_tables(tmp_path):
    written(
        "contracteval", "contracteval", tmp_path, read("contracteval", "contracteval")
    )
    cuad = list(read("cuad", "cuad").of["training_examples"])
    assert [*rows_of(tmp_path / "training_examples.parquet")] == cuad


@pytest.mark.parametrize(
    "changed",
    [{"title": "Another"}, {"paragraphs": [{"context": "No text.", "qas": []}]}],
)
def test_a_test_contract_that_is_missing_from_all_contracts_is_an_error(
    tmp_path, changed
):
    with zipfile.ZipFile(SAMPLE / "cuad/data.zip") as archive:
        names = {name.rpartition("/")[2]: name for name in archive.namelist()}
        files = {
            name: json.loads(archive.read(names[name]))
            for name in ("CUADv1.json", "test.json")
        }
    files["test.json"]["data"][0] |= changed
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, json.dumps(content))
    with pytest.raises(BadInput, match="test.json and CUADv1.json differ"):
        read("contracteval", "contracteval", files={"release": [tmp_path / "data.zip"]})
