"""Checks of a model before anything runs: is it complete, and of its declared kind?

A model without its head or tokenizer may still load, with random weights or an unknown
vocabulary, and give scores.  Therefore its files are checked first.  Then transformers
loads it without its values, in a separate process (`lextables.models.loading`), and
reports the tensors that it would initialise at random.  Nothing is unpickled.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from lextables.models import folders, quantised
from lextables.models.files import (
    COPY,
    cache_folder,
    check_named_code,
    gguf_file,
    model_files,
    reads_gguf,
)
from lextables.models.folders import Fault
from lextables.pipeline.atomic import write_text
from lextables.pipeline.config import ExtraModel
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from lextables.pipeline.fingerprint import ROOT, fingerprint

KIND = "change kind, or name another model"  # advice
# Limits of the process that loads a model without its weights.
SECONDS = 120  # of processor time
MEMORY = 16 << 30  # bytes
FETCH_AGAIN = (
    "delete it from the hub's cache and run the target fetch, "
    "or put the model into a mirror"
)


def inspect(
    extra: ExtraModel,
    place: Mapping[str, str],
    fetch: bool,
    contents: Contents,
    tokens: int = 0,
) -> None:
    """Raise `BadInput` if a user's own model cannot be what it is declared to be.

    ``place`` is its entry of `resolve.places`; a model that is only on the hub is
    checked by the job that fetches it, if ``fetch`` allows fetching.  ``tokens`` is the
    maximum length of its texts.  The outcome is stored with the digests, by content.
    """
    where = f"config, extra_models, {extra.name}"
    if "folder" not in place:
        _check_hub_name(extra.model, fetch, where)
        return
    folder = place["folder"]
    code = fingerprint("lextables.models.inspection", "lextables.models.loading")
    # What is stored for a sound model; other code or another version checks it again.
    sound = f"transformers {version('transformers')}, {code}, {tokens} tokens"
    try:
        key = contents.folder(folder, model_files(folder)).removeprefix("sha256:")
    except OSError as error:
        what = f"{error.filename} cannot be read ({error.strerror})"
        raise BadInput(what, where=where) from error
    except BadInput as error:
        what = f"{error.where}: {error.what}"
        raise BadInput(what, where=where, do=error.do) from error
    stored = contents.kept / f"{key}.{extra.kind}.sound"
    with contextlib.suppress(OSError, ValueError):
        if stored.read_text(encoding="utf-8") == sound:
            return
    check(folder, extra.kind, extra.name, tokens)
    # If the results are read-only, the model is checked again next time.
    with contextlib.suppress(OSError):
        write_text(stored, sound)


def _check_hub_name(model: str, fetch: bool, where: str) -> None:
    """Raise `BadInput` if a model is neither here nor can be fetched from the hub."""
    from huggingface_hub.errors import HFValidationError  # slow to import
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(model)
        valid = not model.startswith(("~", "."))
    except HFValidationError:
        valid = False
    if not valid:
        do = "name an existing folder, or a model of the hub as owner/name"
        raise BadInput(f"the folder {model!r} does not exist", where=where, do=do)
    if not fetch:
        what = f"{model!r} is not available here: it is neither a folder nor in the hub's cache"
        if cache_folder(model).is_dir():
            what = f"only a part of {model!r} is in the hub's cache"
        do = "name a folder, or set models=paper to fetch it from the hub"
        raise BadInput(what, where=where, do=do)


def check(
    folder: str | Path,
    kind: str,
    name: str,
    tokens: int = 0,
    *,
    registered: bool = False,
) -> None:
    """Raise `BadInput` if ``folder`` does not contain a complete model of ``kind``.

    ``name`` is the user's, or that of a ``registered`` model, whose weights may be
    pickles of tensors.  ``tokens`` is the maximum length of its texts.
    """
    check_named_code(folder)
    gguf = gguf_file(folder)
    if gguf and not registered:
        fault = _gguf_fault(gguf, kind)
    else:
        fault = folders.fault(Path(folder), pickles=registered)
    if not fault and not gguf:
        fault = _loading_fault(str(folder), kind, tokens)
        fault = fault or quantised.fault(folder)
    if not fault:
        return
    where = f"config, extra_models, {name}"
    do = fault.do
    if registered:
        where = f"resources/models.yaml, {name}"
        do = FETCH_AGAIN
    raise BadInput(fault.what, where=where, do=do)


def _gguf_fault(file: Path, kind: str) -> Fault | None:
    """Return the fault of a GGUF file: another kind, or no tensors at its start."""
    if kind != "language-model":
        what = (
            f"the file {str(file)!r} can only be a language-model, declared as {kind}"
        )
        return Fault(what, KIND)
    with file.open("rb") as opened:
        start = opened.read(24)
    # The magic number, the version, and the number of tensors.
    if start[:4] != b"GGUF" or len(start) < 24 or not any(start[8:16]):
        return Fault(f"the file {str(file)!r} is no GGUF file with weights", COPY)
    if not reads_gguf():
        return Fault(f"the package that reads {str(file)!r} is missing", "install gguf")
    return None


def _loading_fault(folder: str, kind: str, tokens: int) -> Fault | None:
    """Return the fault that `loading.fault_of` finds, from a separate process."""
    command = [sys.executable, "-m", "lextables.models.loading"]
    # Files missing from the folder are not fetched from the hub.
    settings = {
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    run = subprocess.run(
        [*command, folder, kind, str(tokens), str(SECONDS), str(MEMORY)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | settings,
    )
    if run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        limit = f"{SECONDS} processor seconds and {MEMORY >> 30} GiB"
        return Fault(f"loading it without its weights needs more than {limit}", KIND)
    if run.returncode:
        last = [line.strip() for line in run.stderr.splitlines() if line.strip()][-1:]
        return Fault(f"transformers cannot load it: {''.join(last)}", KIND)
    what, do = json.loads(run.stdout.splitlines()[-1])
    return Fault(f"{what} (loaded as {kind})", do or KIND) if what else None
