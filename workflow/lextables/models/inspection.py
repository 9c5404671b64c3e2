"""Checks of a user's own model before anything runs: is it complete, and of its declared kind?

A model without its head or tokenizer may still load, with random weights or an unknown vocabulary, and give
scores.  Therefore its files are read first (configuration, tokenizer, headers of the weights).  Then
transformers loads it without its values, in a separate process, and reports the tensors that it would
initialise at random.  Nothing is unpickled.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lextables.models import folders
from lextables.models.files import (
    cache_folder,
    check_named_code,
    gguf_file,
    model_files,
    modules_of,
    reads_gguf,
)
from lextables.models.folders import COPY, SAVED
from lextables.pipeline.atomic import write_text
from lextables.pipeline.config import ExtraModel
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from lextables.pipeline.fingerprint import ROOT, fingerprint

Shapes = Mapping[str, tuple[int, ...]]

KIND = "change kind, or name another model"
FETCH_AGAIN = "delete it from the hub's cache and run the target fetch, or put the model into a mirror"
# Heads of other models than encoders: an embedding from such a model is meaningless.
HEADS = (
    "ForSequenceClassification",
    "ForQuestionAnswering",
    "ForTokenClassification",
    "ForMultipleChoice",
)
LANGUAGE_MODELS = ("ForCausalLM", "LMHeadModel")
GENERATORS = (*LANGUAGE_MODELS, "ForConditionalGeneration")
RELEVANCE = (
    "classifier",
    "score",
    "classification_head",
    "logits_proj",
    "sequence_summary",
)


class Unfit(Exception):
    """Why a folder is not a model of its declared kind, and how to fix it."""

    def __init__(self, what: str, do: str = SAVED) -> None:
        self.what, self.do = what, do
        super().__init__(what)


def inspect(
    extra: ExtraModel,
    place: Mapping[str, str],
    fetch: bool,
    contents: Contents,
    tokens: int = 0,
) -> None:
    """Raise `BadInput` if a user's own model cannot be what it is declared to be.

    ``place`` is its entry of `resolve.places`; a model that is only on the hub is checked by the job that
    fetches it, if ``fetch`` allows fetching.  ``tokens`` is the maximum length of its texts.  The outcome is
    stored with the digests, by content.
    """
    if "folder" not in place:
        _check_hub_name(extra, fetch)
        return
    folder = place["folder"]
    code = fingerprint("lextables.models.inspection", "lextables.models.loading")
    version_and_code = (
        f"transformers {version('transformers')}, {code}, {tokens} tokens"
    )
    try:
        key = contents.folder(folder, model_files(folder)).removeprefix("sha256:")
    except OSError as error:
        raise BadInput(
            f"{error.filename} cannot be read ({error.strerror})",
            where=f"config, extra_models, {extra.name}",
        ) from error
    stored = contents.kept / f"{key}.{extra.kind}.json"
    try:
        outcome = json.loads(stored.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        outcome = {}
    if outcome != {"sound": version_and_code}:
        check(folder, extra.kind, extra.name, tokens)
        # If the results are read-only, the model is checked again next time.
        with contextlib.suppress(OSError):
            write_text(stored, json.dumps({"sound": version_and_code}) + "\n")


def _check_hub_name(extra: ExtraModel, fetch: bool) -> None:
    from huggingface_hub.errors import HFValidationError  # slow to import
    from huggingface_hub.utils import validate_repo_id

    where = f"config, extra_models, {extra.name}"
    try:
        validate_repo_id(extra.model)
        valid = not extra.model.startswith(("~", "."))
    except HFValidationError:
        valid = False
    if not valid:
        do = "name an existing folder, or a model of the hub as owner/name"
        raise BadInput(f"the folder {extra.model!r} does not exist", where=where, do=do)
    if not fetch:
        place = "it is neither a folder nor in the hub's cache"
        if cache_folder(extra.model).is_dir():
            place = "only a part of it is in the hub's cache"
        raise BadInput(
            f"{extra.model!r} is not available here: {place}",
            where=where,
            do="name a folder, or set models=paper to fetch it from the hub",
        )


def check(
    folder: str | Path,
    kind: str,
    name: str,
    tokens: int = 0,
    *,
    registered: bool = False,
) -> None:
    """Raise `BadInput` if ``folder`` does not contain a complete model of ``kind``.

    ``name`` is the user's, or that of a ``registered`` model, whose weights may be pickles of tensors.
    ``tokens`` is the maximum length of its texts.
    """
    check_named_code(folder)
    try:
        try:
            if registered:
                _check_registered(Path(folder))
            else:
                _check_files(Path(folder), kind)
        except (
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        ) as error:  # unexpected JSON
            what = f"a JSON file in the folder {str(folder)!r} is not as transformers writes it ({error})"
            raise Unfit(what) from None
        what, do = (
            ("", "") if gguf_file(folder) else _loading_error(str(folder), kind, tokens)
        )
        if what and (method := _quantized(Path(folder))):
            raise Unfit(
                f"its weights are quantized ({method}): {what}",
                "name the model without quantization",
            )
        if what:
            raise Unfit(f"{what} (loaded as {kind})", do or KIND)
    except Unfit as error:
        where, do = f"config, extra_models, {name}", error.do
        if registered:
            where, do = f"resources/models.yaml, {name}", FETCH_AGAIN
        raise BadInput(error.what, where=where, do=do) from None


def _check_registered(folder: Path) -> None:
    if fault := folders.fault(folder, pickles=True):
        raise Unfit(fault.what, fault.do)


def _check_files(folder: Path, kind: str) -> None:
    if gguf := gguf_file(folder):
        _check_gguf(gguf, kind)
        return
    if not folder.is_dir():
        raise Unfit(f"the folder {str(folder)!r} does not exist")
    if fault := folders.fault(folder):
        raise Unfit(fault.what, fault.do)
    modules = modules_of(folder)
    if not modules and (folder / "modules.json").is_file():
        raise Unfit(f"{folder / 'modules.json'} is no list of modules")
    if modules and kind == "bi-encoder":
        for part, path in modules:
            if part == "Dense":
                _shapes(folder / path)
        if modules[0][0] != "Transformer":
            return  # such as word vectors: sentence-transformers checks them on loading
    body = folder / modules[0][1] if modules else folder
    if body != folder and kind != "bi-encoder":
        raise Unfit(
            f"the folder {str(folder)!r} is a sentence encoder, declared as {kind}",
            KIND,
        )
    config = _json(body / "config.json")
    if not config.get("model_type"):
        raise Unfit(f"{body / 'config.json'} has no model_type")
    shapes = _shapes(body)
    _check_kind(kind, config, shapes, bool(modules))


def _quantized(folder: Path) -> str:
    """Return the method by which the weights in a folder are quantized (gptq, awq); empty for none."""
    file = folder / "config.json"
    settings = _json(file).get("quantization_config") if file.is_file() else None
    return str(settings.get("quant_method", "")) if isinstance(settings, dict) else ""


def _check_gguf(file: Path, kind: str) -> None:
    """Check the start of a GGUF file: magic number, version, and a number of tensors above 0."""
    if kind != "language-model":
        raise Unfit(
            f"the file {str(file)!r} can only be a language-model, declared as {kind}",
            KIND,
        )
    with file.open("rb") as opened:
        start = opened.read(24)
    if start[:4] != b"GGUF" or len(start) < 24 or not any(start[8:16]):
        raise Unfit(f"the file {str(file)!r} is no GGUF file with weights", COPY)
    if not reads_gguf():
        raise Unfit(
            f"the file {str(file)!r} is a GGUF file, and the package that reads it is not installed",
            "install gguf",
        )


def _check_kind(
    kind: str, config: Mapping[str, Any], shapes: Shapes, modules: bool
) -> None:
    architectures = config.get("architectures") or [config["model_type"]]
    if not isinstance(architectures, list):
        raise TypeError(f"architectures: {architectures!r}")
    names = " or ".join(architectures)

    def ends(suffixes: tuple[str, ...]) -> bool:
        return any(name.endswith(suffixes) for name in architectures)

    if kind == "question-answering":
        if not any(name.split(".")[-2:] == ["qa_outputs", "weight"] for name in shapes):
            raise Unfit(
                f"{names} has no weights of a head for answers (qa_outputs)", KIND
            )
    elif kind == "cross-encoder":
        heads = [
            shape
            for name, shape in shapes.items()
            if name.endswith(".weight")
            and {*RELEVANCE} & {*name.split(".")}
            and len(shape) == 2
        ]
        if not heads or (
            config.get("architectures") and not ends(("ForSequenceClassification",))
        ):
            raise Unfit(
                f"{names} has no weights of a head for relevance (sequence classification)",
                KIND,
            )
        labels = min(rows for rows, _ in heads)
        if labels != 1:
            raise Unfit(
                f"{names} has a head of {labels} labels, and relevance is one number",
                KIND,
            )
    elif kind == "language-model":
        if not ends(LANGUAGE_MODELS):
            raise Unfit(f"{names} does not write text and is no language-model", KIND)
    elif ends(GENERATORS) and not (modules and kind == "bi-encoder"):
        raise Unfit(f"{names} writes text and is no {kind}", KIND)
    elif kind == "bi-encoder" and ends(HEADS) and not modules:
        raise Unfit(f"{names} has a head of another kind and is no bi-encoder", KIND)


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise Unfit(f"the folder {str(path.parent)!r} contains no {path.name}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise Unfit(f"{path} is not a JSON object")
    return content


def _shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return {tensor: shape} of the weights in ``folder``, from the headers of its safetensors files."""
    from safetensors import SafetensorError, safe_open  # slow to import

    index = folder / "model.safetensors.index.json"
    parts = (_json(index).get("weight_map") or {}) if index.is_file() else {}
    shapes: dict[str, tuple[int, ...]] = {}
    for name in (
        sorted(set(map(str, parts.values())))
        if index.is_file()
        else ["model.safetensors"]
    ):
        if not (folder / name).is_file():
            raise Unfit(f"the folder {str(folder)!r} contains no weights ({name})")
        try:
            with safe_open(folder / name, "np") as tensors:
                shapes |= {
                    key: tuple(tensors.get_slice(key).get_shape())
                    for key in tensors.keys()  # noqa: SIM118
                }
        except (SafetensorError, OSError) as error:
            raise Unfit(
                f"{folder / name} is no complete safetensors file ({error})", COPY
            ) from None
    if absent := sorted(set(parts) - set(shapes)):
        raise Unfit(f"{index} names {absent[0]}, which no file of the weights contains")
    return shapes


def _loading_error(folder: str, kind: str, tokens: int) -> tuple[str, str]:
    """Return what `loading.loading_error` returns for a model, from a separate process."""
    command = [
        sys.executable,
        "-m",
        "lextables.models.loading",
        folder,
        kind,
        str(tokens),
    ]
    # Files missing from the folder are not fetched from the hub.
    settings = {
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    run = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | settings,
    )
    if run.returncode:
        last = [line.strip() for line in run.stderr.splitlines() if line.strip()][-1:]
        return f"transformers cannot load it: {''.join(last)}", ""
    return json.loads(run.stdout.splitlines()[-1])
