"""The user's cache folder on this machine, by default ``~/.cache/lextables``."""

import os
from contextlib import suppress
from pathlib import Path

from lextables.pipeline.errors import BadInput


def user_cache() -> Path:
    """Return the folder ``lextables`` in XDG_CACHE_HOME, else in ``.cache`` of the home
    folder.

    The path is relative if there is no home folder, or if the variable is relative.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    with suppress(RuntimeError):
        caches = caches.expanduser()
    return caches / "lextables"


def make_cache(folder: Path) -> Path:
    """Return a folder in the user's cache, which is created if needed.

    Raises `BadInput` if its path is relative, or if it cannot be written.
    """
    is_writable = False
    if folder.is_absolute():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            is_writable = os.access(folder, os.W_OK)
    if not is_writable:
        do = (
            "set the environment variable XDG_CACHE_HOME to a folder that you can write"
        )
        raise BadInput(
            "this folder for caches cannot be written", where=str(folder), do=do
        )
    return folder
