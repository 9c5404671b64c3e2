"""Damaged JSON, parquet and csv files: one sentence with the file, and the way to
repair it.
"""

import ast
import json
import os
import re
import subprocess
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import Field

from helpers.site_results import RUN, write_results
from lextables import ROOT
from lextables.pipeline import atomic, dataset
from lextables.pipeline.content import Contents
from lextables.pipeline.dataset import Census
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import (
    Strict,
    Text,
    json_value,
    read_json,
    read_record,
    replacing_result,
    set_variable,
    typed,
    variable,
    write_result,
)
from lextables.pipeline.run import Record
from lextables.report import datasets
from lextables.report.results import read_part, read_run
from lextables.tables.inputs import Inputs

DAMAGE = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "without its end": lambda content: content[:-3],
    "not UTF-8": lambda content: b"\xff\xfe" + content,
    "another kind": lambda content: b"[]\n",
}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is no JSON (Expecting value)"),
        (b"{", "is no JSON (Expecting property name"),
        (b"{} {}", "is no JSON (Extra data)"),
        (b"\0\0\0", "is no JSON (Expecting value)"),
        ('{"a": 1}'.encode("utf-16"), "the byte 0xff at 0 is not UTF-8"),
        (b'{"a": "\xe9"}', "the byte 0xe9 at 7 is not UTF-8"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"a":' * 100_000, "it is nested too deeply"),
        (b"1" * 5000, "it has a number of too many digits"),
        (b"[-" + b"1" * 5000 + b"]", "it has a number of too many digits"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "'c' appears twice in one object"),
        (b'{"": 1, "": 1}', "'' appears twice in one object"),
        (rb'{"a": "x\ud800"}', 'it holds half of a character after \'{"a": "x\''),
        (rb'{"\udfff": 1}', "it holds half of a character after '{\"'"),
    ],
)
def test_a_fault_of_json_is_a_sentence(content, fault):
    with pytest.raises(BadInput) as error:
        json_value(content, "f, line 3")
    assert str(error.value).startswith(f"f, line 3: {fault}")
    assert str(error.value).endswith("; restore the file from the release.")


def test_json_is_read_as_before():
    value = {"a": [1, -2.5, None, True, "\U0001f600"], "b": {"c": 10**400}}
    assert json_value(json.dumps(value), "f") == value
    assert (
        json_value(
            b"\xef\xbb\xbf \n"
            + json.dumps(value, ensure_ascii=False).encode()
            + b" \r\n",
            "f",
        )
        == value
    )


class Clause(Strict):
    number: int
    text: Text
    marks: list[str] = Field(default_factory=list)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"number": "1"},
            "number = '1' is not allowed (allowed: a whole number); restore",
        ),
        ({"number": True}, "number = True is not allowed"),
        ({"number": 1.0}, "number = 1.0 is not allowed"),
        ({"number": None}, "number = nothing is not allowed"),
        ({"text": " \n"}, "text: it is empty; restore"),
        ({"text": ["a"]}, "text = ['a'] is not allowed (allowed: text); restore"),
        ({"marks": ["a", 1]}, "marks.1 = 1 is not allowed"),
        ({"marks": "ab"}, "marks = 'ab' is not allowed"),
    ],
)
def test_a_wrong_value_of_a_record_is_named_with_its_key(change, fault):
    record = {"number": 1, "text": "a", "more": 1}
    assert typed(Clause, record, "f") == Clause(number=1, text="a")
    with pytest.raises(BadInput) as error:
        typed(Clause, record | change, "f, line 2")
    assert str(error.value).startswith(f"f, line 2: {fault}")
    with pytest.raises(
        BadInput, match=r"^f: number is missing \(allowed: a whole number\); restore"
    ):
        typed(Clause, {"text": "a"}, "f")


@pytest.mark.parametrize(
    ("kind", "content", "fault"),
    [
        (Census, {"data": {}}, "sources is missing"),
        (Census, {"data": 3, "sources": []}, "data = 3 is not allowed"),
        (Census, {"data": {"a": 1}, "sources": []}, "data.a = 1 is not allowed"),
        (
            Census,
            {"data": {}, "sources": [{"source": "a", "file": "b", "comparable": True}]},
            "sources.0.variant is missing",
        ),
        (Record, {}, "settings is missing"),
        (
            Record,
            {"settings": {}, "device": 1, "seconds": 1, "libraries": {}},
            "device = 1 is not allowed",
        ),
        (dict[str, int], [], "[] is not allowed"),
    ],
)
def test_a_result_without_its_keys_is_named(tmp_path, kind, content, fault):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(BadInput) as error:
        read_json(path, kind)
    assert str(error.value).startswith(f"{path}: the file is damaged: {fault}")
    assert str(error.value).endswith("; delete it, and repeat the command.")


READERS = {
    "read": lambda path, columns: list(dataset.read(path, columns)),
    "read_table": dataset.read_table,
    "row_groups": lambda path, columns: list(dataset.row_groups(path, columns)),
    "batches": lambda path, columns: list(dataset.batches(path, columns, 2)),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("damage", [*DAMAGE, "pages", "texts", "column"])
def test_a_damaged_parquet_file_is_named(tmp_path, reader, damage):
    path = tmp_path / "clauses.parquet"
    texts = pa.array(["ab" * 50, "cd" * 50, "ef" * 50])
    pq.write_table(
        pa.table({"id": [1, 2, 3], "text": texts}),
        path,
        compression="zstd",
        use_dictionary=False,
    )
    read = READERS[reader]
    assert read(path, ["id", "text"])
    content, columns = path.read_bytes(), ["id", "text"]
    if damage == "column":
        columns = ["id", "other"]
    elif damage == "pages":
        path.write_bytes(b"PAR1" + bytes(200) + content[204:])
    elif damage == "texts":
        binary = pa.array([b"\xff", b"\xfe"]).view(pa.string())
        pq.write_table(pa.table({"id": [1, 2], "text": binary}), path)
        if reader != "read":  # the others do not decode texts
            return
    else:
        path.write_bytes(DAMAGE[damage](content))
    with pytest.raises(BadInput) as error:
        read(path, columns)
    assert str(error.value).startswith(f"{path}: the file is damaged")
    assert str(error.value).endswith("; delete it, and repeat the command.")


def test_errors_of_a_reader_s_caller_and_of_the_disk_are_not_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        next(dataset.read(tmp_path / "absent.parquet"))
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "absent.json")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "x.parquet")
    with pytest.raises(ZeroDivisionError):
        [row["id"] / 0 for row in dataset.read(tmp_path / "x.parquet")]


def consumed(root):
    """Read the results of `site_results` as the tables and the report do."""
    read_part("acord", root / "acord.yaml", root)
    datasets.read(root / "data/acord/census.json")
    for record in sorted(root.glob("runs/**/run.json")):
        read_run(record)
        assert Inputs(
            root,
            root,
            [{"runs": {"a": [record.parent.relative_to(root).as_posix()]}}],
            (),
            None,
        ).scores


RESULTS = (
    "data/acord/census.json",
    "data/acord/judgements.parquet",
    "tables/acord/table3.csv",
    "tables/acord/table3.comparison.csv",
    f"{RUN}/seed0/run.json",
    f"{RUN}/seed0/scores.parquet",
)


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_result_is_named_with_its_repair(tmp_path, name, damage):
    write_results(tmp_path)
    path = tmp_path / name
    consumed(tmp_path)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(BadInput) as error:
        consumed(tmp_path)
    assert str(error.value).startswith(f"{path}: the file is damaged")
    assert str(error.value).endswith("; delete it, and repeat the command.")


@pytest.mark.parametrize("damage", [*DAMAGE, "other types"])
def test_digests_are_taken_again_if_their_file_is_damaged(tmp_path, damage):
    (tmp_path / "x").write_text("x")
    contents = Contents(tmp_path / "kept")
    digest = contents.file(tmp_path / "x")
    (kept,) = contents.kept.glob("*.json")
    types = lambda _: b'{"x": 3}'  # noqa: E731
    kept.write_bytes(DAMAGE.get(damage, types)(kept.read_bytes()))
    assert contents.file(tmp_path / "x") == digest


def test_a_missing_or_damaged_record_is_none(tmp_path):
    path = tmp_path / "x.json"
    assert read_record(path) is None
    for content, record in (("{", None), ('{"a": "b"}', None), ('{"a": 1}', {"a": 1})):
        path.write_text(content)
        assert read_record(path, dict[str, int]) == record


# Modules with their own message for each fault of a parquet file.
OPEN_PARQUET = {"pipeline/dataset.py"}


def test_parquet_files_are_opened_by_the_shared_reader_alone():
    package, opened = ROOT / "workflow/lextables", set()
    calls = re.compile(r"pq\.(ParquetFile|read_\w+)|pd\.read_parquet")
    for path in [*package.rglob("*.py"), *(ROOT / "workflow/scripts").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and calls.fullmatch(ast.unparse(node.func)):
                opened.add(
                    path.relative_to(package).as_posix()
                    if package in path.parents
                    else path.name
                )
    assert opened == OPEN_PARQUET


def flipped(content, at):
    """Return ``content`` with one other bit; ``at`` counts bits."""
    changed = bytearray(content)
    changed[at // 8] ^= 1 << at % 8
    return bytes(changed)


def test_no_flipped_bit_of_a_parquet_file_is_read_as_another_value(tmp_path):
    """A bit of a page or of the footer is noticed; one that no reader uses leaves the
    rows as they are.
    """
    path = tmp_path / "x.parquet"
    columns = (
        dataset.Column("id", pa.int64(), "id"),
        dataset.Column("x", pa.float64(), "x"),
    )
    table = dataset.Table("x", "x", columns, key=("id",))
    rows = [{"id": n, "x": n / 7} for n in range(200)]
    dataset.write(table, rows, path)
    content = path.read_bytes()
    assert list(dataset.read(path)) == rows
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    random = Random(0)
    for first, end, least in ((0, footer, 200), (footer, len(content), 300)):
        messages = []
        for _ in range(300):
            path.write_bytes(flipped(content, random.randrange(8 * first, 8 * end)))
            try:
                assert list(dataset.read(path)) == rows
            except BadInput as error:
                messages.append(str(error))
        assert len(messages) >= least
        sentences = {re.split(" [(]|: its", message)[0] for message in messages}
        assert sentences == {f"{path}: the file is damaged"}
    plain = tmp_path / "plain.parquet"  # as earlier versions wrote it
    pq.write_table(pa.table({"id": [1]}), plain)
    assert list(dataset.read(plain)) == [{"id": 1}]


@pytest.mark.parametrize("name", RESULTS)
def test_no_flipped_bit_of_a_result_is_read(tmp_path, name):
    write_results(tmp_path)
    path = tmp_path / name
    content = path.read_bytes()
    random = Random(0)
    footer = 0
    if path.suffix == ".parquet":
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for _ in range(20):
        path.write_bytes(
            flipped(content, random.randrange(8 * footer, 8 * len(content)))
        )
        with pytest.raises(BadInput) as error:
            consumed(tmp_path)
        assert str(error.value) == (
            f"{path}: the file is damaged: its content is not what was written; "
            "delete it, and repeat the command."
        )
    path.unlink()
    write_results(tmp_path)
    consumed(tmp_path)


def test_a_digest_belongs_to_what_was_written_last(tmp_path):
    path = tmp_path / "a.json"
    write_result(path, '{"a": 1}')
    assert (tmp_path / ".a.json.sha256").read_text() == (
        "f9d86028c6e0d64e225186f96acb69338b2c59764df79162107f5c4bb34d1310\n"
    )
    path.write_text('{"a": 2}')
    with pytest.raises(BadInput, match="its content is not what was written"):
        read_json(path)
    assert read_record(path) is None
    write_result(path, '{"a": 2}')
    assert read_json(path) == {"a": 2}
    atomic.write_text(
        path, '{"a": 3}'
    )  # without a digest, as earlier versions wrote it
    assert read_json(path) == {"a": 3}
    (tmp_path / ".a.json.sha256").write_bytes(b"\xff")
    with pytest.raises(BadInput, match="its content is not what was written"):
        read_json(path)


def test_a_result_that_fails_is_not_written(tmp_path):
    path = tmp_path / "a.json"
    write_result(path, "{}")
    with pytest.raises(ZeroDivisionError), replacing_result(path):
        raise ZeroDivisionError
    assert read_json(path) == {}
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        ".a.json.sha256",
        "a.json",
    ]


def test_of_a_file_in_a_folder_output_the_folder_is_named(tmp_path):
    folder = tmp_path / "run/weights"
    (folder / "deep").mkdir(parents=True)
    (folder / ".snakemake_timestamp").touch()
    for name in ("a.json", "deep/a.json"):
        (folder / name).write_text("{")
        with pytest.raises(
            BadInput, match="; delete the folder .*/run/weights, and repeat"
        ):
            read_json(folder / name)
    (tmp_path / "run/a.json").write_text("{")
    with pytest.raises(BadInput, match="; delete it, and repeat the command"):
        read_json(tmp_path / "run/a.json")


def test_processes_start_with_a_long_environment_variable(monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    paths = {f"digest {number}": f"/ü/{number}" * 20 for number in range(2000)}
    for value in (paths, {}, {"a": 1}):
        set_variable("PATHS", value)
        assert variable("PATHS") == value
        subprocess.run(["true"], env=os.environ, check=True)
    assert not [name for name in os.environ if name.startswith("PATHS_")]
    assert variable("OTHERS") == {}
