"""What a folder lacks to be a model that can be loaded, from the names and sizes of its files.

Only small JSON files and the first bytes of the others are read.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables.models.files import SAFETENSORS, gguf_file, model_files, modules_of

COPY = "copy or fetch the file again"
SAVED = "name a folder saved by transformers or sentence-transformers"
LFS = b"version https://git-lfs.github.com"
INDEX, WEIGHTS = "model.safetensors.index.json", "model.safetensors"
PICKLED_INDEX, PICKLED = "pytorch_model.bin.index.json", "pytorch_model.bin"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
SHOWN = 3  # folders in a message
# Weights in formats that are not read, by the names of their files.
OTHER_FORMATS = {
    "pytorch_model*.bin*": "a pickle (pytorch_model.bin)",
    "*.pth": "a pickle (.pth)",
    "*.pt": "a pickle (.pt)",
    "*.ckpt*": "a checkpoint (.ckpt)",
    "tf_model*.h5": "TensorFlow's (tf_model.h5)",
    "saved_model.pb": "TensorFlow's (saved_model.pb)",
    "flax_model*.msgpack": "Flax's (flax_model.msgpack)",
    "*.gguf": "GGUF",
    "*.onnx": "ONNX",
    "onnx/*.onnx": "ONNX",
    "openvino*.xml": "OpenVINO's",
    "openvino/*.xml": "OpenVINO's",
}
# Kinds of adapters that are no change of a model's weights.
PROMPTS = ("PROMPT_TUNING", "PREFIX_TUNING", "P_TUNING", "MULTITASK_PROMPT_TUNING")


@dataclass(frozen=True)
class Fault:
    """Why a folder is no model that can be loaded, and how to fix it."""

    what: str
    do: str = SAVED


def fault(folder: Path, *, pickles: bool = False) -> Fault | None:
    """Return the first fault of a folder, or None if all files of a model are there.

    With ``pickles`` the weights may be pytorch_model.bin, as in old models of the hub.
    """
    for look in (_adapter, _damaged, _elsewhere, _missing_module):
        if found := look(folder):
            return found
    body = body_of(folder)
    if body is None or gguf_file(folder):
        return None
    return (
        _without_config(body)
        or _without_weights(body, pickles)
        or _without_tokenizer(body)
    )


def body_of(folder: Path) -> Path | None:
    """Return the folder of a model's transformer; None for a sentence encoder of word vectors."""
    modules = modules_of(folder)
    if not modules:
        return folder
    kind, path = modules[0]
    return folder / path if kind == "Transformer" else None


def _adapter(folder: Path) -> Fault | None:
    """A fault for an adapter (LoRA and others) without the model that it changes."""
    file = folder / "adapter_config.json"
    if not file.is_file() or any(
        (folder / name).is_file() for name in (INDEX, WEIGHTS)
    ):
        return None
    about = _object(file)
    base = about.get("base_model_name_or_path")
    base = (
        base if isinstance(base, str) and base else "(not named in adapter_config.json)"
    )
    what = f"the folder {str(folder)!r} contains only an adapter ({about.get('peft_type')}) of the model {base}"
    if about.get("peft_type") in PROMPTS:
        return Fault(
            what,
            "name a model with all its weights, since such an adapter cannot be merged",
        )
    do = "merge it into that model first (merge_and_unload of the package peft) and name the merged folder"
    return Fault(what, do)


def _damaged(folder: Path) -> Fault | None:
    """A fault for a link to nothing, an empty file, or a pointer of Git LFS in place of a file."""
    places = [folder, *(folder / path for _, path in modules_of(folder))]
    for place in places:
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if path.is_symlink() and not path.exists():
                return Fault(f"{path} is a link to a file that does not exist", COPY)
    for file in model_files(folder):
        with file.open("rb") as opened:
            start = opened.read(len(LFS))
        if start == LFS:
            return Fault(
                f"{file} is a pointer of Git LFS in place of the file",
                "run git lfs pull there",
            )
        if not start and file.suffix in (".safetensors", ".bin"):
            kind = (
                "safetensors file"
                if file.suffix == ".safetensors"
                else "file of weights"
            )
            return Fault(f"{file} is no complete {kind} (it is empty)", COPY)
    return None


def _elsewhere(folder: Path) -> Fault | None:
    """A fault for a folder around or beside the folder of a model, as in the hub's cache."""
    if (
        (folder / "config.json").is_file()
        or modules_of(folder)
        or any(folder.glob("*.gguf"))
    ):
        return None
    root = folder.parent if folder.name in ("blobs", "refs", "snapshots") else folder
    is_cache = (root / "snapshots").is_dir() or root.name.startswith("models--")
    found = sorted(
        {
            path.parent
            for pattern in ("*", "*/*")
            for path in root.glob(f"{pattern}/config.json")
        }
    )
    # Of a sentence encoder with the transformer in a folder of its own, the folder above counts.
    found = [
        place
        for place in found
        if not (place.parent != root and modules_of(place.parent))
    ]
    if found:
        names = [repr(str(place)) for place in found[:SHOWN]]
        more = " and others" if len(found) > SHOWN else ""
        where = "a folder of the hub's cache" if is_cache else "no model's folder"
        what = (
            f"the folder {str(folder)!r} is {where}, since it contains no config.json"
        )
        return Fault(what, f"name {' or '.join(names)}{more}")
    if is_cache:
        what = f"the folder {str(folder)!r} of the hub's cache has no model in snapshots/<commit>"
        return Fault(what, "fetch the model again (hf download)")
    return None


def _missing_module(folder: Path) -> Fault | None:
    for kind, path in modules_of(folder):
        if (
            kind in ("Pooling", "Dense")
            and not (folder / path / "config.json").is_file()
        ):
            return Fault(f"the folder {str(folder / path)!r} contains no config.json")
    return None


def _without_config(folder: Path) -> Fault | None:
    if (folder / "config.json").is_file():
        return None
    return Fault(f"the folder {str(folder)!r} contains no config.json")


def _without_weights(folder: Path, pickles: bool) -> Fault | None:
    index, single = INDEX, WEIGHTS
    if pickles and not any((folder / name).is_file() for name in SAFETENSORS):
        index, single = PICKLED_INDEX, PICKLED
    names = _indexed(folder / index) if (folder / index).is_file() else [single]
    absent = [name for name in names if not (folder / name).is_file()]
    if not absent:
        return None
    if (folder / index).is_file():
        what = f"the folder {str(folder)!r} contains no weights ({absent[0]}), which {index} names"
        return Fault(what, COPY)
    if pickles:
        return Fault(
            f"the folder {str(folder)!r} contains no weights ({WEIGHTS} or {PICKLED})"
        )
    for pattern, name in OTHER_FORMATS.items():
        if any(folder.glob(pattern)):
            what = f"the folder {str(folder)!r} contains its weights only as {name}"
            do = "convert them to model.safetensors (save_pretrained of transformers does)"
            return Fault(what, do)
    return Fault(f"the folder {str(folder)!r} contains no weights ({WEIGHTS})")


def _without_tokenizer(folder: Path) -> Fault | None:
    if any(path.is_file() for pattern in TOKENIZERS for path in folder.glob(pattern)):
        return None
    what = f"the folder {str(folder)!r} contains no tokenizer (tokenizer.json, vocab.txt or another)"
    return Fault(what, "save the model's tokenizer in the folder")


def _indexed(index: Path) -> list[str]:
    """Return the names of the files of weights in an index, sorted."""
    weight_map = _object(index).get("weight_map")
    return (
        sorted({str(name) for name in weight_map.values()})
        if isinstance(weight_map, dict)
        else []
    )


def _object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty for anything else, which loading reports."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
