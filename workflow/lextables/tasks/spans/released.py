"""Unpacking of the authors' fine-tuned weights."""

import shutil
from pathlib import Path, PurePosixPath

from lextables.pipeline.dataset import Source
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject, read_json
from lextables.sources import archives
from lextables.sources.entries import UNVERIFIED

# Files needed for loading.  Optimiser states and training arguments are pickles, which
# are unsafe to open.
WANTED = (".json", ".txt", ".model", ".safetensors", "pytorch_model.bin")


def unpack(path: str | Path, folder: str | Path) -> list[str]:
    """Unpack a zip that holds one model into ``folder``; return its files, sorted.

    The model may be at any depth if there is exactly one `config.json`.  Raises
    `BadInput` for a file that is not a zip, is damaged or a zip bomb, or holds no model
    or several.  Only the last part of a member's path is used, so that no file is
    written outside ``folder``.
    """
    where = Path(path).name
    with archives.opened(path) as archive:
        members = [PurePosixPath(name) for name in archive.namelist()]
        roots = sorted(
            {member.parent for member in members if member.name == "config.json"}
        )
        if len(roots) != 1:
            raise BadInput(
                f"the zip holds {len(roots)} files config.json where one model has one",
                where=where,
                do="name the zip of a single model saved by transformers",
            )
        target = Path(folder)
        temporary = target.with_name(target.name + ".part")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        model_files = [
            m for m in members if m.parent == roots[0] and m.name.endswith(WANTED)
        ]
        for member in model_files:
            with (
                archive.open(str(member)) as source,
                (temporary / member.name).open("wb") as out,
            ):
                shutil.copyfileobj(source, out)
        shutil.rmtree(target, ignore_errors=True)
        temporary.rename(target)
    return sorted(member.name for member in model_files)


def archive_record(path: str | Path) -> JsonObject:
    """Return the file, the SHA-256 and the pin of a fetched zip, from its provenance.

    It is ``pinned`` if the registry has its digest; otherwise the digest is that of the
    file that was fetched, which another download may not have.
    """
    path = Path(path)
    provenance = read_json(path.with_name(f"{path.name}.json"), Source)
    return {
        "file": provenance["file"],
        "digest": provenance["digest"],
        "pinned": provenance["variant"] != UNVERIFIED,
    }


def pin_notes(archive: JsonObject) -> list[str]:
    """Return the note of tables on weights whose digest is not registered."""
    if archive["pinned"]:
        return []
    file = archive["file"]
    digest = archive["digest"]
    return [
        f"the authors' weights are not pinned: {file} had {digest} when it was read"
    ]
