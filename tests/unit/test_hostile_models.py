"""Malicious model folders: pickles, and code that loading could run."""

import builtins
import json
import shutil
from pathlib import Path

import pytest
import torch
from sentence_transformers.sentence_transformer.modules import Dense
from transformers import dynamic_module_utils

from helpers.tiny_encoders import save
from lextables.models import (
    bi_encoder,
    constituency,
    cross_encoder,
    files,
    inspection,
    loading,
    multi_head,
)
from lextables.models.local_language_model import CausalModel
from lextables.models.tokenizers import load_tokenizer
from lextables.pipeline.errors import BadInput

CPU = torch.device("cpu")
CODE = """
from pathlib import Path
Path({marker!r}).write_text("run")
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

class HostileConfig(BertConfig):
    model_type = "hostile"

class Hostile(BertModel):
    config_class = HostileConfig

class HostileTokenizer(PreTrainedTokenizerFast):
    pass
"""


class Evil:
    """An object that writes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return exec, (f"open({str(self.marker)!r}, 'w').write('run')",)


@pytest.fixture
def marker(tmp_path, monkeypatch) -> Path:
    """Path of the file that hostile code would write.

    Questions whether to run code are answered with yes.
    """
    monkeypatch.setattr(builtins, "input", lambda *_: "y")
    monkeypatch.setattr(
        dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules")
    )
    return tmp_path / "marker"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    """A complete encoder."""
    return Path(save(tmp_path_factory.mktemp("encoders"), "bert")["bert"])


def change(folder, files):
    """Replace ``files``, {path: new content, or changes of the JSON object in it}."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, dict) and path.is_file():
            content = json.loads(path.read_text()) | content
        path.write_text(json.dumps(content))


def hostile(
    encoder: Path, folder: Path, marker: Path, config: dict, tokenizer: dict
) -> Path:
    """Copy an encoder to ``folder``, change its configuration files, and add a file
    with hostile code.
    """
    shutil.copytree(encoder, folder)
    change(folder, {"config.json": config, "tokenizer_config.json": tokenizer})
    (folder / "evil.py").write_text(CODE.format(marker=str(marker)))
    return folder


USUAL = "sentence_transformers.models."


def modules(*types):
    rows = []
    for number, kind in enumerate(types):
        path = f"{number}_Module" if number else ""
        rows.append({"idx": number, "name": str(number), "path": path, "type": kind})
    return rows


LOADERS = {
    "tokenizer": load_tokenizer,
    "span head": lambda folder: loading.load_span_model(folder, CPU),
    "own heads": lambda folder: multi_head.load(folder, [2], "own", 0),
    "family's head": lambda folder: multi_head.load(folder, [2], "family", 0),
    "bi-encoder": lambda folder: bi_encoder.load(folder, CPU),
    "cross-encoder": lambda folder: cross_encoder.load(
        folder, CPU, 16, fresh_head=True
    ),
    "language model": lambda folder: CausalModel(folder, CPU),
    "parser": constituency.load,
}
MAP = {
    "AutoConfig": "evil.HostileConfig",
    "AutoTokenizer": ["evil.HostileTokenizer", None],
}
HEADS = ("", "CausalLM", "MaskedLM", "QuestionAnswering", "SequenceClassification")
for head in HEADS:
    MAP[f"AutoModelFor{head}" if head else "AutoModel"] = "evil.Hostile"


@pytest.mark.parametrize("loader", LOADERS)
def test_code_in_a_model_folder_is_not_run(encoder, marker, tmp_path, loader):
    folder = hostile(
        encoder,
        tmp_path / "model",
        marker,
        {"model_type": "hostile", "auto_map": MAP},
        {"tokenizer_class": "HostileTokenizer", "auto_map": MAP},
    )
    with pytest.raises((BadInput, ValueError, OSError)):
        LOADERS[loader](str(folder))
    assert not marker.exists()


@pytest.mark.parametrize("loader", sorted(LOADERS.keys() - {"tokenizer"}))
def test_pickled_weights_are_not_loaded(encoder, marker, tmp_path, loader):
    folder = hostile(encoder, tmp_path / "model", marker, {"benepar": {}}, {})
    (folder / "model.safetensors").unlink()
    for name in ("pytorch_model.bin", "benepar_model.bin"):
        torch.save({"weights": Evil(marker)}, folder / name)
    torch.load(folder / "pytorch_model.bin", weights_only=False)
    assert marker.read_text() == "run"  # without protection the code runs
    marker.unlink()
    with pytest.raises(Exception, match=r"(?i)weights.only|unpickl|weights_only"):
        LOADERS[loader](str(folder))
    assert not marker.exists()


def test_a_sentence_encoder_loads_no_python_module_from_its_folder(
    encoder, marker, tmp_path
):
    folder = hostile(encoder, tmp_path / "model", marker, {}, {})
    types = (f"{USUAL}Transformer", "evil.Hostile")
    change(folder, {"modules.json": modules(*types)})
    with pytest.raises(BadInput, match="the weights do not load") as error:
        bi_encoder.load(str(folder), CPU)
    assert "trust_remote_code" in str(error.value.__cause__)
    assert not marker.exists()


HARMFUL = "torch.utils.collect_env.main"
OLD_ACTIVATION = "sbert_ce_default_activation_function"
SETTINGS = "sentence_bert_config.json"
MISC = "sentence_transformers.util.misc"
LOADED = {
    "bi-encoder": LOADERS["bi-encoder"],
    "cross-encoder": LOADERS["cross-encoder"],
    "inspection": lambda folder: inspection.check(folder, "bi-encoder", "Mine"),
}


def named(encoder, tmp_path, files):
    """Copy an encoder and `change` files of the copy."""
    folder = shutil.copytree(encoder, tmp_path / "model")
    change(folder, files)
    return folder


@pytest.mark.parametrize("kind", LOADED)
@pytest.mark.parametrize(
    ("file", "types", "content"),
    [
        ("config.json", "", {"sentence_transformers": {"activation_fn": HARMFUL}}),
        ("config.json", "", {OLD_ACTIVATION: HARMFUL}),
        ("config.json", "", {OLD_ACTIVATION: "torch.nn.modules.activation.torch.seed"}),
        ("modules.json", "", modules("sentence_transformers.base.modules.dense.torch")),
        ("modules.json", "", modules("sentence_transformers.util.import_from_string")),
        (
            "2_Module/config.json",
            "Transformer Pooling Dense",
            {"activation_function": "torch.utils.collect_env.namedtuple"},
        ),
        ("router_config.json", "Router", {"types": {"query_0_X": f"{MISC}.json"}}),
        (
            "wordembedding_config.json",
            "WordEmbeddings",
            {"tokenizer_class": f"{MISC}.importlib"},
        ),
        (SETTINGS, "", {"model_args": {"weights_only": False}}),
        (SETTINGS, "", {"model_kwargs": {"use_safetensors": False}}),
        (SETTINGS, "", {"modality_config": {"text": {"method": "push_to_hub"}}}),
        ("config.json", "", {"attn_implementation": "someone/kernel"}),
    ],
)
def test_configuration_files_cannot_select_other_code(
    encoder, tmp_path, monkeypatch, kind, file, types, content
):
    files = {file: content}
    if types:
        usual = [f"{USUAL}{name}" for name in types.split()]
        files["modules.json"] = modules(*usual)
    folder = named(encoder, tmp_path, files)
    monkeypatch.setattr(HARMFUL, lambda: pytest.fail("it was called"))
    says = "which would run other code; use one of the usual modules"
    with pytest.raises(BadInput, match=says):
        LOADED[kind](str(folder))


def test_configuration_files_behind_symbolic_links_cannot_select_other_code(
    encoder, tmp_path
):
    types = (f"{USUAL}Transformer", f"{USUAL}Dense")
    folder = named(encoder, tmp_path, {"modules.json": modules(*types)})
    change(tmp_path, {"elsewhere/config.json": {"activation_function": HARMFUL}})
    (folder / "1_Module").symlink_to(tmp_path / "elsewhere")
    (folder / "loop").symlink_to(folder)
    with pytest.raises(BadInput, match="which would run other code"):
        bi_encoder.load(str(folder), CPU)


def test_only_configuration_files_are_inspected(tmp_path):
    others = {"vocab.json", "tokenizer.json", "config.txt", "notes.json"}
    inspected = {"config.json", "sentence_bert_config.json", "modules.json"}
    for name in others | inspected:
        (tmp_path / name).touch()
    assert {path.name for path in files._configurations(tmp_path)} == inspected


def test_configurations_with_usual_modules_are_accepted(encoder, tmp_path):
    usual = {"torch_dtype": "float32", "_attn_implementation": "sdpa"}
    activation = {"activation_fn": "torch.nn.modules.linear.Identity"}
    usual["sentence_transformers"] = activation
    folder = named(encoder, tmp_path, {"config.json": usual})
    pairs = LOADED["cross-encoder"](str(folder))
    assert isinstance(pairs.activation_fn, torch.nn.Identity)
    model = bi_encoder.load(str(folder), CPU)
    size = model.get_embedding_dimension()
    model.append(Dense(size, 4, activation_function=torch.nn.GELU()))
    model.save(str(tmp_path / "saved"))
    assert bi_encoder.load(str(tmp_path / "saved"), CPU).get_embedding_dimension() == 4
