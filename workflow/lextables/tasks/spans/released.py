"""Unpacking of the authors' fine-tuned weights."""

import shutil
from pathlib import Path, PurePosixPath

from lextables.pipeline.errors import BadInput
from lextables.sources import archives

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
        kept = [m for m in members if m.parent == roots[0] and m.name.endswith(WANTED)]
        for member in kept:
            with (
                archive.open(str(member)) as source,
                (temporary / member.name).open("wb") as out,
            ):
                shutil.copyfileobj(source, out)
        shutil.rmtree(target, ignore_errors=True)
        temporary.rename(target)
    return sorted(member.name for member in kept)
