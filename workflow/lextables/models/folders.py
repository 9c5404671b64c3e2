"""What a folder lacks to be a model that can be loaded, from the names of its files."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lextables.models.files import (
    COPY,
    SAFETENSORS,
    check_inside,
    gguf_file,
    model_files,
    modules_of,
    settings_content,
)
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import Strict, json_value, typed

SAVED = "name a folder saved by transformers or sentence-transformers"  # advice
LFS = b"version https://git-lfs.github.com"  # beginning of a pointer of Git LFS
# Files of weights, and indexes of weights in several files; pickles as in old models.
WEIGHTS, INDEX = SAFETENSORS
PICKLED = "pytorch_model.bin"
PICKLED_INDEX = "pytorch_model.bin.index.json"
ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")
# A folder with one of these files has a tokenizer.
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_MERGE = "merge it into its model (merge_and_unload of peft), and name that folder"


class _Index(Strict):
    """The index of weights in several files: the file of each tensor."""

    weight_map: dict[str, str]


@dataclass(frozen=True)
class Fault:
    """Why a folder is no model that can be loaded, and how to fix it."""

    what: str
    do: str = SAVED


def fault(folder: Path, *, pickles: bool = False) -> Fault | None:
    """Return the first fault of a folder, or None if all files of a model are there.

    With ``pickles`` the weights may be pytorch_model.bin, as in old models of the hub.
    """
    try:
        return _fault(folder, pickles)
    except BadInput as error:
        return Fault(f"{error.where}: {error.what}", error.do)


def _fault(folder: Path, pickles: bool) -> Fault | None:
    """`fault`; raises `BadInput` for a file of settings that is damaged, not regular or
    too large.
    """
    if not folder.is_dir():
        return Fault(f"the folder {str(folder)!r} does not exist")
    is_gguf = gguf_file(folder) is not None
    first_fault = _adapter(folder) or _damaged(folder)
    if first_fault or is_gguf:
        return first_fault
    bodies = bodies_of(folder)
    first_fault = _without_config(folder, bodies)
    for body in bodies:
        first_fault = first_fault or _adapter(body)
        first_fault = first_fault or _without_weights(body, pickles)
        first_fault = first_fault or _without_tokenizer(body)
    return first_fault


def bodies_of(folder: Path) -> list[Path]:
    """Return the folders of a model's transformers; empty for one of word vectors.

    A model with a route for queries and one for documents may have two.
    """
    modules = modules_of(folder)
    if not modules:
        return [folder]
    return [folder / path for kind, path in modules if kind == "Transformer"]


def _adapter(folder: Path) -> Fault | None:
    """A fault for an adapter (LoRA and others), without or beside the model that it
    changes: loading would leave it out.
    """
    if not (folder / "adapter_config.json").is_file():
        return None
    if not _has_any(folder, SAFETENSORS):
        return Fault(f"the folder {str(folder)!r} contains only an adapter", _MERGE)
    if not _has_any(folder, ADAPTERS):
        return None
    what = f"the folder {str(folder)!r} contains a model and an adapter"
    do = f"{_MERGE}, or delete the files adapter_* to use the model without it"
    return Fault(what, do)


def _has_any(folder: Path, names: Iterable[str]) -> bool:
    """Whether one of the files is in the folder."""
    return any((folder / name).is_file() for name in names)


def _damaged(folder: Path) -> Fault | None:
    """A fault for an empty file, or a pointer of Git LFS in place of a file."""
    for file in model_files(folder):
        start = b""
        if file.stat().st_size:
            with file.open("rb") as opened:
                start = opened.read(len(LFS))
        if start == LFS:
            return Fault(f"{file} is a pointer of Git LFS", "run git lfs pull there")
        if not start and file.suffix in (".safetensors", ".bin"):
            return Fault(f"{file} is empty", COPY)
    return None


def _without_config(folder: Path, bodies: Iterable[Path]) -> Fault | None:
    """A fault for a missing config.json; it names a model's folder below, if any."""
    modules = modules_of(folder)
    places = list(bodies)
    for kind, path in modules:
        if kind in ("Pooling", "Dense"):
            places.append(folder / path)
    for place in places:
        if (place / "config.json").is_file():
            continue
        below = []
        if not modules:
            below = sorted(place.glob("*/config.json"))
            below = below or sorted(place.glob("*/*/config.json"))
        do = f"name {str(below[0].parent)!r}" if below else SAVED
        return Fault(f"the folder {str(place)!r} contains no config.json", do)
    return None


def _without_weights(folder: Path, pickles: bool) -> Fault | None:
    """A fault for missing weights, or for a missing part of them."""
    index = folder / INDEX
    single = WEIGHTS
    if pickles and not _has_any(folder, SAFETENSORS):
        index = folder / PICKLED_INDEX
        single = PICKLED
    names = [single]
    if index.exists():
        content = settings_content(index)
        try:
            parts = typed(_Index, json_value(content, str(index)))
        except BadInput:
            return Fault(f"{index} is damaged", COPY)
        names = sorted(set(parts.weight_map.values()))
    for name in names:
        check_inside(name, index)
        if Path(name).suffix != Path(single).suffix:
            what = f"names {name!r:.80}, which is no file of weights"
            raise BadInput(what, where=str(index), do=COPY)
        if not (folder / name).is_file():
            what = f"the folder {str(folder)!r} contains no weights ({name})"
            return Fault(what, "save them as safetensors, as save_pretrained does")
    return None


def _without_tokenizer(folder: Path) -> Fault | None:
    """A fault for a missing tokenizer."""
    for pattern in TOKENIZERS:
        if any(path.is_file() for path in folder.glob(pattern)):
            return None
    what = f"the folder {str(folder)!r} contains no tokenizer"
    return Fault(what, "save the model's tokenizer in the folder")
