"""Model folders with pipes, devices, huge or wrong files: one sentence, at once."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lextables.models import files, folders, inspection
from lextables.models.files import check_named_code, model_files, modules_of
from lextables.models.inspection import inspect
from lextables.pipeline.config import ExtraModel
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput

SAMPLE = Path(__file__).parents[2] / "resources/sample/models/sample-encoder"
INDEX = "model.safetensors.index.json"
READ = (
    "config.json",
    "modules.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "sentence_bert_config.json",
    "model.safetensors",
    "1_Pooling/config.json",
    INDEX,
)


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(SAMPLE, tmp_path / "mine"))


@pytest.fixture(autouse=True)
def without_loading(monkeypatch):
    monkeypatch.setattr(inspection, "_loading_fault", lambda *_: None)


def sentence(folder, tmp_path):
    """The message of planning with a model; empty if it is accepted."""
    extra = ExtraModel(name="Mine", kind="bi-encoder", model=str(folder))
    message = ""
    try:
        inspect(extra, {"folder": str(folder)}, False, Contents(tmp_path / "kept"))
    except BadInput as error:
        message = str(error)
    starts = ("config, extra_models, Mine: ", f"{folder}/")
    assert not message or message.startswith(starts)
    assert not message or (message.endswith(".") and "\n" not in message)
    return message


# {name: a function that puts something at a path, which is no regular file}


def bound_socket(path):
    here = os.open(path.parent, os.O_RDONLY)
    try:  # the name of a socket may have 100 characters
        socket.socket(socket.AF_UNIX).bind(f"/proc/self/fd/{here}/{path.name}")
    finally:
        os.close(here)


IRREGULAR = {
    "zeros": lambda path: path.symlink_to("/dev/zero"),
    "random": lambda path: path.symlink_to("/dev/urandom"),
    "null": lambda path: path.symlink_to("/dev/null"),
    "pipe": os.mkfifo,
    "socket": bound_socket,
    "terminal": lambda path: path.symlink_to("/dev/ptmx"),
    "memory": lambda path: path.symlink_to("/proc/kcore"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("kind", IRREGULAR)
def test_a_file_that_is_not_regular_is_one_sentence(folder, tmp_path, kind, name):
    if kind == "memory" and not Path("/proc/kcore").is_file():
        pytest.skip("this system shows no memory")
    (folder / name).unlink(missing_ok=True)
    IRREGULAR[kind](folder / name)
    assert str(folder / name) in sentence(folder, tmp_path)
    shutil.rmtree(tmp_path / "kept", ignore_errors=True)
    (folder / name).unlink()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", IRREGULAR)
def test_a_gguf_file_that_is_not_regular_is_no_model(tmp_path, kind):
    if kind == "memory" and not Path("/proc/kcore").is_file():
        pytest.skip("this system shows no memory")
    folder = tmp_path / "mine"
    folder.mkdir()
    IRREGULAR[kind](folder / "model.gguf")
    assert "is no regular file" in sentence(folder, tmp_path)


@pytest.mark.parametrize("name", READ[:5])
def test_a_folder_or_a_loop_of_links_in_place_of_a_file(folder, tmp_path, name):
    (folder / name).unlink()
    (folder / name).mkdir()
    assert sentence(folder, tmp_path) or name in READ[3:5]
    (folder / name).rmdir()
    (folder / name).symlink_to(name)
    assert sentence(folder, tmp_path) or name in READ[1:2] + READ[3:5]


@pytest.mark.parametrize(
    "name", ["modules.json", "config.json", INDEX, "tokenizer_config.json"]
)
def test_a_huge_file_of_settings_is_not_read(folder, tmp_path, name, monkeypatch):
    with (folder / name).open("wb") as file:
        file.write(b'{"a": "')
        file.truncate(100 << 20)  # without space on the disk
    monkeypatch.setattr(Contents, "folder", lambda *_: "sha256:0")
    assert "has more than 32 MiB" in sentence(folder, tmp_path)


DAMAGED = [
    b"",
    b"[",
    b"null",
    b"5",
    b'"text"',
    b"{}",
    b"[5]",
    b'[["type", "path"]]',
    b'[{"type": "a.Transformer"}]',
    b'[{"path": ""}]',
    b'[{"type": "a.Transformer", "path": 5}]',
    b'[{"type": null, "path": ""}]',
    b'[{"type": "a.Transformer", "path": ["a"]}]',
    b'[{"type": "a.Transformer", "path": "/etc"}]',
    b'[{"type": "a.Transformer", "path": ".."}]',
    b'[{"type": "a.Transformer", "path": "a/../../b"}]',
    b'[{"type": "a.Transformer", "path": "a\\u0000b"}]',
    b'[{"type": "a.Transformer", "path": "' + b"a/" * 2000 + b'"}]',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"\xff\xfe[]",
    b'[{"type": 1' + b"0" * 5000 + b"}]",
]


@pytest.mark.parametrize("content", DAMAGED)
def test_damaged_modules_are_one_sentence(folder, tmp_path, content):
    (folder / "modules.json").write_bytes(content)
    with pytest.raises(BadInput):
        modules_of(folder)
    assert "modules.json: " in sentence(folder, tmp_path)


def index(weight_map):
    return json.dumps({"weight_map": weight_map}).encode()


INDEXES = [
    b"",
    b"[]",
    b"{}",
    index({"a": 5}),
    index({"a": None}),
    index({"a": ["model.safetensors"]}),
    index("model.safetensors"),
    index(["model.safetensors"]),
    index({"a": "/etc/passwd"}),
    index({"a": "../model.safetensors"}),
    index({"a": "/model.safetensors"}),
    index({"a": "sub/model.safetensors"}),
    index({"a": "model.safetensors\0"}),
    index({"a": "config.json"}),
    index({"a": "pytorch_model.bin"}),
    index({"a": ""}),
    b'{"weight_map":' * 100_000,
    b"\xff",
]


@pytest.mark.parametrize("content", INDEXES)
def test_damaged_indexes_of_weights_are_one_sentence(folder, tmp_path, content):
    (folder / INDEX).write_bytes(content)
    message = sentence(folder, tmp_path)
    assert f"{INDEX}: names " in message or f"{INDEX} is damaged; " in message
    (folder / INDEX).write_bytes(index({"a": "model.safetensors"}))
    assert sentence(folder, tmp_path) == ""


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors", "vocab.txt"])
def test_a_file_that_is_larger_than_any_model_is_not_read(folder, tmp_path, name):
    with (folder / name).open("wb") as file:
        file.truncate(5 << 40)
    assert f"{name}: is no regular file of a model" in sentence(folder, tmp_path)


def test_a_chat_template_in_its_own_file_is_part_of_the_model(folder):
    template = folder / "chat_template.jinja"
    template.write_text("{{ messages }}")
    assert template in model_files(folder)


def test_a_valid_folder_and_links_to_regular_files_are_accepted(folder, tmp_path):
    assert sentence(folder, tmp_path) == ""
    # As in the cache of the hub.
    for name in READ[:6]:
        blob = tmp_path / name.replace("/", "-")
        (folder / name).rename(blob)
        (folder / name).symlink_to(blob)
    shutil.rmtree(tmp_path / "kept")
    assert sentence(folder, tmp_path) == ""
    assert len(model_files(folder)) >= 6


def test_configurations_of_settings_are_bounded(folder, monkeypatch):
    monkeypatch.setattr(files, "MAX_SETTINGS", 10)
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint/config.json").write_text('{"a": 1}')
    for path in folder.rglob("*.json"):
        if path.parent.name != "checkpoint":
            path.unlink()
    check_named_code(folder)
    (folder / "checkpoint/config.json").write_text('{"a": 100}')
    check_named_code(folder)
    (folder / "checkpoint/config.json").write_text('{"a": 1000}')
    with pytest.raises(BadInput, match="has more than"):
        check_named_code(folder)


LOADING = [sys.executable, "-m", "lextables.models.loading"]


@pytest.mark.parametrize(
    ("seconds", "memory", "reasons"),
    [(1, 16 << 30, "processor seconds"), (120, 1 << 20, "cannot load it")],
)
def test_loading_is_limited(folder, monkeypatch, seconds, memory, reasons):
    monkeypatch.undo()
    monkeypatch.setattr(inspection, "SECONDS", seconds)
    monkeypatch.setattr(inspection, "MEMORY", memory)
    config = json.loads((folder / "config.json").read_text())
    config["num_hidden_layers"] = 10**7
    (folder / "config.json").write_text(json.dumps(config))
    fault = inspection._loading_fault(str(folder), "bi-encoder", 0)
    assert reasons in fault.what or "needs more than" in fault.what
    assert fault.do


def test_damage_has_advice():
    assert folders.fault(Path("/nowhere")).do
    assert subprocess.run([*LOADING], capture_output=True, check=False).returncode
