"""Files of a model folder that loading reads, and their kind."""

import importlib.util
import json
from pathlib import Path

# Files that loading needs; the same weights in other formats are not fetched.
HUB_FILES = ("*.json", "*.txt", "*.safetensors", "*.model")


def gguf_file(place: str | Path) -> Path | None:
    """Return ``place`` if it is a file, or the only GGUF file of a folder without other weights."""
    place = Path(place)
    if place.is_file():
        return place
    files = sorted(place.glob("*.gguf"))
    return files[0] if len(files) == 1 and not (place / "config.json").is_file() else None


def reads_gguf() -> bool:
    """Whether a package that reads GGUF files is installed."""
    return any(importlib.util.find_spec(name) for name in ("llama_cpp", "gguf"))


def model_files(folder: str | Path) -> list[Path]:
    """Return the files of a model that loading reads, including those of a sentence encoder's modules.

    Other files of a folder (checkpoints, optimiser state, a model card) are not part of the model.  For a
    GGUF file, or a folder without other weights, the result is the GGUF files.
    """
    folder = Path(folder)
    if folder.is_file():
        return [folder]
    if not (folder / "config.json").is_file() and (files := sorted(folder.glob("*.gguf"))):
        return files
    places = [folder, *(folder / path for _, path in modules_of(folder))]
    found = {file for place in places for pattern in HUB_FILES for file in place.glob(pattern)}
    return sorted(file for file in found if file.is_file())


def modules_of(folder: Path) -> list[tuple[str, str]]:
    """Return the (kind, folder) of each module of a sentence-transformers model; empty for any other."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        return [(part["type"].rpartition(".")[2], part["path"]) for part in listed]
    except (ValueError, TypeError, KeyError, AttributeError):
        return []
