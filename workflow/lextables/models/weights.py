"""Local folders of weights: mirror, installed package, NLTK's data, hub cache, or
fetched from the hub.

Settings name weights in the same way on every machine (`Weights.location` of
`lextables.models.resolve`). The workflow passes the local folders to each job through
the environment, so moving weights reruns nothing.

A job calls `weights_folder`, and the target `fetch` calls `fetch`; the functions after
them find or fetch weights in one of these places.
"""

import hashlib
import importlib.util
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Any
from zipfile import ZipFile

from lextables.models import folders
from lextables.models.files import HUB_FILES, cache_folder, model_files, pickle_patterns
from lextables.pipeline import user_rows
from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.cache import make_cache, user_cache
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput, first_line
from lextables.pipeline.files import variable

# Environment variable with `resolve.places` (`files.set_variable`).
PLACES = "LEXTABLES_PLACES"
# Beginnings of locations.
PACKAGE = "package:"
NLTK = "nltk:"
CHUNK = 1 << 20  # bytes
_BLOB = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # name of a file of the hub's cache


def weights_folder(settings: Mapping[str, Any]) -> str:
    """Return a local folder with the weights named by `resolve.model_settings`, fetched
    if necessary.

    Raises `BadInput` where the hub does not serve them, or they cannot be loaded as a
    model of their kind, or a file is not that of the hub.
    """
    folder = place(settings["weights"]) or _fetched_and_checked(settings)
    _check_blobs(folder)
    return folder


def _fetched_and_checked(settings: Mapping[str, Any]) -> str:
    """Fetch weights, and check that they can be loaded as their kind
    (`inspection.check`).

    NLTK's models are not checked.
    """
    location = settings["weights"]
    if location.startswith(NLTK):
        from lextables.models import nltk_models  # slow to import

        return nltk_models.fetched(location.removeprefix(NLTK))
    entry = _places().get(location, {})
    folder = fetched(entry.get("hub", location), settings["revision"])
    if "kind" in entry:
        from lextables.models.inspection import check  # slow to import

        registered = not location.startswith(user_rows.PREFIX)
        tokens = settings.get("max_length") or 0
        check(folder, entry["kind"], settings["model"], tokens, registered=registered)
    return folder


def fetch(settings: Mapping[str, Any]) -> str:
    """Fetch the weights named by `resolve.model_settings` and return a line with their
    size and folder.

    Completes an interrupted earlier fetch, which a job would not notice.  Raises
    `BadInput` as `weights_folder` does.
    """
    name = settings["model"]
    location = settings["weights"]
    if location.startswith(user_rows.PREFIX):
        folder = weights_folder(settings)
    else:
        folder = _fetched_and_checked(settings)
        _check_blobs(folder)
    sizes = [file.stat().st_size for file in model_files(folder)]
    megabytes = sum(sizes) / 1e6
    return f"{name}: {location}, {megabytes:,.0f} MB, in {folder}"


def place(location: str) -> str | None:
    """Return the local folder of a location, or None for one that is only on the
    hub.
    """
    entry = _places().get(location, {})
    if "folder" in entry:
        return entry["folder"]
    if location.startswith(PACKAGE):
        return package_folder(location.removeprefix(PACKAGE))
    if location.startswith(NLTK):
        from lextables.models import nltk_models  # slow to import

        return nltk_models.folder_of(location.removeprefix(NLTK))
    return location if Path(location).is_dir() else None


def _places() -> dict[str, dict[str, str]]:
    """Return `resolve.places` as the workflow passes it to this job."""
    return variable(PLACES)


def package_folder(package: str) -> str | None:
    """Return the folder or GGUF file of a model ``module/path`` in an installed
    package, or None.
    """
    module, _, inside = package.partition("/")
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    place = Path(spec.submodule_search_locations[0]) / inside
    if place.suffix == ".gguf":
        return str(place) if place.is_file() else None
    settings = (place / "config.json", place / "config.cfg")  # the latter is spaCy's
    return str(place) if any(file.is_file() for file in settings) else None


def check_package(package: str, sha256: str, contents: Contents) -> bool:
    """Return whether a model's ``package`` is installed, with the registered digest.

    Raises `BadInput` if it has another one.
    """
    place = package_folder(package)
    if place is None:
        return False
    is_folder = Path(place).is_dir()
    digest = contents.folder(place) if is_folder else contents.file(place)
    if digest != f"sha256:{sha256}":
        what = f"the installed weights {package} have the digest {digest}"
        what += f" instead of sha256:{sha256} in resources/models.yaml"
        do = "install the package again, in the version of envs/requirements*.txt"
        raise BadInput(what, where="models", do=do)
    return True


def cached(hub: str, revision: str | None) -> str | None:
    """Return the folder of a model in the hub's cache; None if it, or a part of it, is
    missing.
    """
    if not cache_folder(hub).is_dir():
        return None
    from huggingface_hub import snapshot_download  # slow to import
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = snapshot_download(
            hub, revision=revision, local_files_only=True, allow_patterns=[*HUB_FILES]
        )
    except LocalEntryNotFoundError:
        return None
    return None if folders.fault(Path(folder), pickles=True) else folder


def fetched(hub: str, revision: str | None) -> str:
    """Return the folder of a model in the hub cache, fetching missing files.

    Pickled weights are fetched only for parts of the model without safetensors
    (`pickle_patterns`).
    """
    from huggingface_hub import snapshot_download  # slow to import, as above

    try:
        folder = snapshot_download(hub, revision=revision, allow_patterns=[*HUB_FILES])
        patterns = pickle_patterns(Path(folder))
        if patterns:
            # The folder is named after its commit.
            commit = Path(folder).name
            folder = snapshot_download(hub, revision=commit, allow_patterns=patterns)
        return folder
    except BadInput:
        raise
    except Exception as error:  # each strange answer has another error
        at = f" at revision {revision}" if revision else ""
        reason = f"{type(error).__name__}: {first_line(error)}"
        do = "check the name and the network, or set models=available"
        raise BadInput(
            f"the model hub does not give {hub}{at} ({reason})",
            where="models",
            do=f"{do} to run what is here",
        ) from error


def _check_blobs(folder: str) -> None:
    """Raise `BadInput` for a file of the hub's cache that changed, or came with an
    error.

    A snapshot has links to files that are named by their digests.
    """
    from lextables.models.inspection import FETCH_AGAIN  # slow to import, as above

    for file in model_files(folder):
        blob = file.resolve()
        if _BLOB.fullmatch(blob.name) and blob.name not in _digests(blob):
            what = f"{file.name} has another digest than the file of the hub"
            raise BadInput(what, where=str(blob), do=FETCH_AGAIN)


def _digests(blob: Path) -> set[str]:
    """Return the possible names of a file of the hub's cache, by its content.

    They are the SHA-256 of a large file; of another one git's name, or the SHA-1 of a
    proxy of the hub.
    """
    digests = [hashlib.sha256()]
    if len(blob.name) == 40:
        header = b"blob %d\0" % blob.stat().st_size
        digests = [
            hashlib.sha1(start, usedforsecurity=False) for start in (header, b"")
        ]
    with blob.open("rb") as file:
        while data := file.read(CHUNK):
            for digest in digests:
                digest.update(data)
    return {digest.hexdigest() for digest in digests}


# Models distributed as several packages, each with a piece of one zip file


def assembled(name: str, packages: Sequence[str], sha256: str) -> str | None:
    """Return the folder of the model whose zip is split over ``packages``; None if one
    is not installed.

    The zip is assembled once, checked against its digest ``sha256`` and unpacked into
    the user's cache (``$XDG_CACHE_HOME/lextables/models``).  Raises `BadInput` for
    another digest.
    """
    folder = user_cache() / "models" / f"{name}-{sha256[:16]}"
    if not (folder / "config.json").is_file():
        pieces = [piece for piece in map(_piece, packages) if piece]
        if len(pieces) < len(packages):
            return None
        make_cache(folder.parent)
        _unpack(pieces, folder, sha256)
    return str(folder)


def _piece(package: str) -> Path | None:
    """Return the piece of the zip in an installed package."""
    try:
        files = metadata.files(package) or ()
    except metadata.PackageNotFoundError:
        return None
    pieces = [file for file in files if ".zip." in file.name]
    if len(pieces) != 1:
        what = f"{package} contains {len(pieces)} pieces of a zip instead of one"
        raise BadInput(what, where="models")
    return Path(pieces[0].locate())


def _unpack(pieces: Sequence[Path], folder: Path, sha256: str) -> None:
    """Write the files of the joined zip to ``folder``; `BadInput` for another
    digest.
    """
    with TemporaryFile() as joined:
        for piece in pieces:
            with piece.open("rb") as file:
                shutil.copyfileobj(file, joined, CHUNK)
        joined.seek(0)
        digest = hashlib.file_digest(joined, "sha256").hexdigest()
        if digest != sha256:
            what = f"the pieces of {folder.name} have the digest {digest}"
            what += f" instead of {sha256}"
            raise BadInput(what, where="models", do="install the packages again")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing_folder(folder) as temporary:
            _extract(joined, temporary)


def _extract(joined: IO[bytes], folder: Path) -> None:
    """Extract the files below the only top-level folder of a zip."""
    with ZipFile(joined) as archive:
        for entry in archive.infolist():
            _, *inside = PurePosixPath(entry.filename).parts
            if entry.is_dir() or not inside or ".." in inside:
                continue
            path = folder.joinpath(*inside)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, CHUNK)
