"""Files of a model folder that loading reads, their kind, and the code that they
name.
"""

import importlib.util
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import Strict, json_value, typed

# Files that loading needs; the same weights in other formats are not fetched.
HUB_FILES = ("*.json", "*.txt", "*.safetensors", "*.model", "*.jinja")
# Weights of a folder without safetensors.  They are loaded with ``weights_only`` (the
# default of transformers and sentence-transformers), which unpickles tensors and
# nothing else.
PICKLES = ("pytorch_model.bin", "pytorch_model-*.bin")
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
COPY = "copy or fetch the file again"
MAX_SETTINGS = 32 << 20  # bytes; the index of a model with 60,000 tensors has 10 MB
MAX_WEIGHTS = 4 << 40  # bytes
MAX_OTHER = 1 << 30  # bytes, such as those of a vocabulary
COMMIT = re.compile("[0-9a-f]{40}")  # of a repository on the hub; a branch moves
OF_WEIGHTS = (".safetensors", ".bin", ".gguf")
MOST_PARTS = 9  # nested folders in the path of a module
ROUTERS = ("Asym", "Router")  # kinds of modules that consist of other modules
WITHOUT_WEIGHTS = ("Pooling", "Normalize", *ROUTERS)  # kinds of modules


class _Module(Strict):
    """A module of a sentence-transformers model."""

    type: str
    path: str


class _Router(Strict):
    """The modules of a router: {folder below the router's: type}."""

    types: dict[str, str]


def cache_folder(hub: str) -> Path:
    """Return the folder of a model in the hub's cache, which may not exist."""
    from huggingface_hub.constants import HF_HUB_CACHE  # slow to import

    return Path(HF_HUB_CACHE, f"models--{hub.replace('/', '--')}")


def gguf_file(place: str | Path) -> Path | None:
    """Return ``place`` if it is a file, or the only GGUF file of a folder without other
    weights.
    """
    place = Path(place)
    if place.is_file():
        return place
    gguf_files = [file for file in sorted(place.glob("*.gguf")) if file.is_file()]
    if len(gguf_files) != 1 or (place / "config.json").is_file():
        return None
    return gguf_files[0]


def reads_gguf() -> bool:
    """Whether a package that reads GGUF files is installed."""
    return any(importlib.util.find_spec(name) for name in ("llama_cpp", "gguf"))


def model_files(folder: str | Path) -> list[Path]:
    """Return the files of a model that loading reads, including those of a sentence
    encoder's modules.

    Other files of a folder (checkpoints, optimiser state, a model card) are not part of
    the model.  For a GGUF file, or a folder without other weights, the result is the
    GGUF files.  Raises `BadInput` for a pipe, a device or a socket in place of a file.
    """
    folder = Path(folder)
    if folder.is_file():
        return [folder]
    gguf_files = _regular(folder.glob("*.gguf"))
    if gguf_files and not (folder / "config.json").is_file():
        return gguf_files
    loaded: set[Path] = set()
    modules = [folder / path for _, path in modules_of(folder)]
    for place in (folder, *modules):
        for pattern in HUB_FILES:
            loaded.update(place.glob(pattern))
    for pattern in pickle_patterns(folder):
        loaded.update(folder.glob(pattern))
    return _regular(loaded)


def _regular(files: Iterable[Path]) -> list[Path]:
    """Return the files that are there, sorted; `BadInput` for one that is not regular,
    or has no end.
    """
    regular_files = []
    for file in sorted(files):
        if not file.exists() or file.is_dir():
            continue
        most = MAX_WEIGHTS if file.suffix in OF_WEIGHTS else MAX_OTHER
        if not file.is_file() or file.stat().st_size > most:
            raise BadInput("is no regular file of a model", where=str(file), do=COPY)
        regular_files.append(file)
    return regular_files


def settings_content(path: Path) -> bytes:
    """Return the content of a file of settings.

    Raises `BadInput` for anything but a regular file of at most `MAX_SETTINGS` bytes,
    `OSError` if it cannot be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise BadInput("is no regular file", where=str(path), do=COPY)
    with path.open("rb") as file:
        content = file.read(MAX_SETTINGS + 1)
    if len(content) > MAX_SETTINGS:
        what = f"has more than {MAX_SETTINGS >> 20} MiB"
        raise BadInput(what, where=str(path), do=COPY)
    return content


def check_inside(name: str, where: Path, *, parts: int = 1) -> None:
    """Raise `BadInput` if ``name`` in the file ``where`` is no path below its folder.

    The path has at most ``parts`` parts, by default one: a file of the folder itself.
    Files elsewhere would not be part of the model's digest.
    """
    path = PurePosixPath(name)
    if (
        path.is_absolute()
        or ".." in path.parts
        or "\0" in name
        or len(path.parts) > parts
    ):
        what = f"names {name!r:.80}, which is no file of its folder"
        raise BadInput(what, where=str(where), do=COPY)


def pickle_patterns(folder: Path) -> list[str]:
    """Return the patterns of the pickled weights that loading reads, for each part
    without safetensors.

    They are relative to ``folder``; empty if all parts of the model have safetensors.
    """
    modules = modules_of(folder)
    places = [path for kind, path in modules if kind not in WITHOUT_WEIGHTS]
    patterns = []
    for place in places or [""]:
        files = [folder / place / name for name in SAFETENSORS]
        if not any(file.is_file() for file in files):
            patterns += [str(PurePosixPath(place, name)) for name in PICKLES]
    return patterns


def modules_of(folder: Path) -> list[tuple[str, str]]:
    """Return the (kind, folder) of each module of a sentence-transformers model, a
    router's own modules after it; empty for any other model.

    Raises `BadInput` if a file with modules is damaged.
    """
    path = folder / "modules.json"
    if not path.exists():
        return []
    where = str(path)
    content = json_value(settings_content(path), where, COPY)
    kinds = []
    for module in typed(list[_Module], content, where, COPY):
        check_inside(module.path, path, parts=MOST_PARTS)
        _, _, kind = module.type.rpartition(".")
        kinds.append((kind, module.path))
        if kind in ROUTERS:
            kinds += _routed(folder, module.path)
    return kinds


def _routed(folder: Path, router: str) -> list[tuple[str, str]]:
    """Return the (kind, folder) of each module of the router in a folder of a model."""
    path = folder / router / "router_config.json"
    if not path.exists():  # an older model
        path = folder / router / "config.json"
    if not path.exists():
        return []  # loading reports it
    content = json_value(settings_content(path), str(path), COPY)
    kinds = []
    for name, module_type in typed(_Router, content, str(path), COPY).types.items():
        check_inside(name, path, parts=MOST_PARTS)
        _, _, kind = module_type.rpartition(".")
        kinds.append((kind, str(PurePosixPath(router, name))))
    return kinds


# The files of a sentence-transformers model name Python code, which the library imports
# and calls.  Even without ``trust_remote_code`` it accepts any name that begins with
# ``torch.`` or ``sentence_transformers.``, and settings that read a pickle or fetch
# code.  Only the usual parts of such models are allowed here.

_IMPORTED = ("torch.", "sentence_transformers.")
_MODULES = """Asym BoW CLIPModel CNN Dense Dropout LayerNorm LogitScore LSTM Normalize Pooling Router
    StaticEmbedding Transformer WeightedLayerPooling WordEmbeddings WordWeights PhraseTokenizer
    WhitespaceTokenizer"""
_ACTIVATIONS = """CELU ELU GELU Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid LogSoftmax
    Mish PReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softplus Softsign Tanh"""
_ALLOWED = re.compile(
    rf"sentence_transformers\.(\w+\.)*({'|'.join(_MODULES.split())})"
    rf"|torch\.nn\.(modules\.(activation|linear)\.)?({'|'.join(_ACTIVATIONS.split())})"
    r"|torch\.b?float\d+"
)
# Settings with which transformers would read a pickle.
_PICKLES = ("weights_only", "use_safetensors")
# Settings that name a method to call, or code to fetch, and their allowed values.
_NAMED = {
    "method": re.compile(r"forward|get_\w+_features"),
    "attn_implementation": re.compile(r"\w+"),
    "_attn_implementation": re.compile(r"\w+"),
}


def check_named_code(folder: str | Path) -> None:
    """Raise `BadInput` if a configuration file in ``folder`` names code that such
    models do not need.
    """
    for path in _configurations(Path(folder)):
        try:
            content = json.loads(settings_content(path))
        except (OSError, ValueError, RecursionError):
            continue  # loading reports it
        for key, value in _entries(content):
            if not _allowed(key, value):
                what = f"{key!r} is {value!r:.80}, which would run other code"
                do = "use one of the usual modules or activations there"
                raise BadInput(what, where=str(path), do=f"{do}, or another model")


def _allowed(key: str, value: Any) -> bool:
    """Whether a key of a configuration may have this value, which is no mapping or
    list.
    """
    if key in _PICKLES:
        return value is True
    if not isinstance(value, str):
        return True
    if value.startswith(_IMPORTED) and not _ALLOWED.fullmatch(value):
        return False
    return key not in _NAMED or bool(_NAMED[key].fullmatch(value))


def _configurations(folder: Path) -> Iterator[Path]:
    """Yield the configuration files in a folder; each folder once, through links
    too.
    """
    real_folders = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        real = Path(parent).resolve()
        if real in real_folders:
            folders.clear()
            continue
        real_folders.add(real)
        for name in names:
            is_config = "config" in name and name.endswith(".json")
            if is_config or name == "modules.json":
                yield Path(parent, name)


def _entries(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield the (key, value) pairs of a JSON value; items of a list have the key of the
    list.
    """
    pending = [("", content)]
    while pending:
        key, value = pending.pop()
        if isinstance(value, dict):
            pending += value.items()
        elif isinstance(value, list):
            pending += ((key, item) for item in value)
        else:
            yield key, value
