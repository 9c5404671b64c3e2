"""Models in NLTK's data folders, where `benepar.download` stores its parsers.

They are fetched with benepar's own downloader, NLTK's: it checks size and digest, and
of several jobs one downloads while the others wait.
"""

from pathlib import Path

import nltk

from lextables.pipeline.errors import BadInput, first_line

WEIGHTS = "benepar_model.bin"


def folder_of(name: str) -> str | None:
    """Return the folder of a model in NLTK's data folders; None if it is in none of
    them.
    """
    try:
        folder = nltk.data.find(f"models/{name}")
    except LookupError:
        return None
    # A zip that is not unpacked has no folder.
    path = Path(str(folder))
    return str(path) if (path / WEIGHTS).is_file() else None


def fetched(name: str) -> str:
    """Return the folder of a model, downloading it if it is missing.

    Raises `BadInput` if benepar's server does not give it.
    """
    folder = folder_of(name)
    if folder is None:
        _download(name)
        folder = folder_of(name)
    if folder is None:
        what = f"{name} was downloaded, but NLTK's data folders do not have it"
        do = "set the environment variable NLTK_DATA to a folder that you can write"
        raise BadInput(what, where="models", do=do)
    return folder


def _download(name: str) -> None:
    """Download a model with benepar's downloader; `BadInput` if that fails."""
    from benepar.integrations import downloader  # loads torch

    try:
        downloader.download(name, quiet=True, raise_on_error=True)
    except Exception as error:  # each strange answer has another error
        reason = first_line(error) or type(error).__name__
        raise BadInput(
            f"benepar's server does not give {name} ({reason})",
            where="models",
            do="check the network, or set parser to dependencies",
        ) from error
