"""A file that was cut short is told from a whole one by its form, wherever it was cut."""

import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from lextables import damage


def parquet(path):
    pq.write_table(pa.table({"text": ["a", "b"] * 50}), path)


def archive(path):
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("a.txt", "x" * 500)


FORMS = {
    "a.parquet": parquet,
    "a.zip": archive,
    "a.npz": lambda path: np.savez(path, a=np.ones(9)),
    "a.json": lambda path: path.write_text(json.dumps({"a": [1, 2, 3]})),
    "a.safetensors": lambda path: save_file({"a": np.ones(9), "b": np.ones(2)}, path, metadata={"of": "x"}),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_file_is_whole_or_cut_at_whatever_byte(tmp_path, name):
    path = tmp_path / name
    FORMS[name](path)
    assert damage.cut_short([path]) is None
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert damage.cut_short([path]) == path, length


def test_a_file_in_a_folder_is_named_and_what_is_gone_or_has_no_form_is_not(tmp_path):
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/config.json").write_text('{"layers": ')
    (tmp_path / "notes.txt").write_text("")
    found = damage.cut_short([tmp_path / "gone.parquet", tmp_path / "notes.txt", tmp_path / "weights"])
    assert found == tmp_path / "weights/config.json"


def test_a_sources_file_is_as_long_as_what_was_fetched_whatever_its_form(tmp_path):
    path = tmp_path / "lines.json"
    path.write_text('{"a": 1}\n{"a": 2}\n')
    (tmp_path / "lines.json.json").write_text(json.dumps({"bytes": path.stat().st_size}))
    assert damage.cut_short([path]) is None
    path.write_text('{"a": 1}\n')
    assert damage.cut_short([path]) == path
