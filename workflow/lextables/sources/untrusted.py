"""What stands where a published file should: a word for what a mirror's file is in its place, and where else
the file itself may lie."""

from collections.abc import Sequence
from pathlib import Path

# How files begin that are no data, and what they are.
BEGINNINGS = {
    b"<!doctype html": "a web page, such as one that asks to log in",
    b"<html": "a web page, such as one that asks to log in",
    b"version https://git-lfs": "a pointer of Git LFS, which holds no data",
}


def looks(path: Path) -> str:
    """Return what a file is by its first bytes, in words; empty where they say nothing."""
    with path.open("rb") as file:
        start = file.read(512).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start:
        return "an empty file"
    return next((words for mark, words in BEGINNINGS.items() if start.startswith(mark)), "")


def misplaced(source: str, file: str, mirrors: Sequence[str | Path]) -> str:
    """Say what in a mirror may be ``<source>/<file>`` at a wrong place or unpacked; else nothing."""
    name = Path(file).name
    for mirror in map(Path, mirrors):
        if (mirror / source / file).is_dir():
            return f"{mirror / source / file} is a folder: put the file itself there, as it was published"
        for place in (mirror / name, mirror.parent / source / name):
            if place.is_file():
                return f"{place} has its name: move it to {mirror / source / file}"
        folder = mirror / source
        beside = sorted(folder.iterdir()) if folder.is_dir() else []
        if alike := [path for path in beside if path.suffix == Path(name).suffix and path.is_file()]:
            return f"rename {alike[0]} to {name} if it is that"
    return ""
