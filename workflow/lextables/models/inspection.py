"""A user's own model, looked at before anything runs: can it be what it is declared to be?

A model that lacks its head or tokenizer still loads, with random weights or no words, and still scores.
So its files are read first (configuration, tokenizer, the headers of the weights), and what passes is
loaded once by transformers, in a process of its own and without its numbers, which says what it would
draw at random.  Nothing is ever unpickled.
"""

import contextlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lextables.models import named_code
from lextables.models.files import gguf_file, model_files, modules_of, reads_gguf
from lextables.pipeline.atomic import write_text
from lextables.pipeline.config import ExtraModel
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from lextables.pipeline.fingerprint import ROOT, fingerprint

Shapes = Mapping[str, tuple[int, ...]]

SAVED = "name a folder saved by transformers or sentence-transformers"
KIND = "change kind, or name another model"
# Heads that are not an encoder's: a sentence vector read off such a model means nothing.
HEADS = ("ForSequenceClassification", "ForQuestionAnswering", "ForTokenClassification", "ForMultipleChoice")
WRITERS = ("ForCausalLM", "LMHeadModel")
GENERATORS = (*WRITERS, "ForConditionalGeneration")
RELEVANCE = ("classifier", "score", "classification_head", "logits_proj", "sequence_summary")
EMBEDDINGS = (
    "word_embeddings.weight",
    "tok_embeddings.weight",
    "embed_tokens.weight",
    "word_embedding.weight",
)
LARGEST_HEADER = 100_000_000  # bytes, the format's own limit


class Unfit(Exception):
    """Why a folder is not the model that it is declared to be, and what to do."""

    def __init__(self, what: str, do: str = SAVED) -> None:
        self.what, self.do = what, do
        super().__init__(what)


def inspect(
    extra: ExtraModel, place: Mapping[str, str], fetch: bool, contents: Contents, tokens: int = 0
) -> None:
    """Raise `BadInput`, in one sentence, when a user's own model cannot be what it is declared to be.

    ``place`` is where it is (`resolve.places`); one that is on the hub alone is looked at when a job has
    fetched it, if ``fetch`` allows that.  ``tokens`` are the most that it is to read at once.  The outcome is
    kept beside the digests, by the content.
    """
    if "folder" not in place:
        _on_the_hub(extra, fetch)
        return
    folder = place["folder"]
    code = fingerprint("lextables.models.inspection", "lextables.models.loading")
    about = f"transformers {version('transformers')}, {code}, {tokens} tokens"
    try:
        key = contents.folder(folder, model_files(folder)).removeprefix("sha256:")
    except OSError as error:
        raise BadInput(
            f"{error.filename} cannot be read ({error.strerror})", where=f"config, extra_models, {extra.name}"
        ) from error
    kept = contents.kept / f"{key}.{extra.kind}.json"
    try:
        outcome = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        outcome = {}
    if outcome != {"sound": about}:
        check(folder, extra.kind, extra.name, tokens)
        # Where results are read only it is looked at again next time.
        with contextlib.suppress(OSError):
            write_text(kept, json.dumps({"sound": about}) + "\n")


def _on_the_hub(extra: ExtraModel, fetch: bool) -> None:
    from huggingface_hub.errors import HFValidationError  # slow to import
    from huggingface_hub.utils import validate_repo_id

    where = f"config, extra_models, {extra.name}"
    try:
        validate_repo_id(extra.model)
        named = not extra.model.startswith(("~", "."))
    except HFValidationError:
        named = False
    if not named:
        do = "name a folder that is there, or a model of the hub as owner/name"
        raise BadInput(f"the folder {extra.model!r} does not exist", where=where, do=do)
    if not fetch:
        raise BadInput(
            f"{extra.model!r} is not available here: it is no folder, and not in the hub's cache",
            where=where,
            do="name a folder, or set models=paper to fetch it from the hub",
        )


def check(folder: str | Path, kind: str, name: str, tokens: int = 0) -> None:
    """Raise `BadInput` for a folder that does not hold a whole model of ``kind``, called ``name``.

    ``tokens`` are the most that it is to read at once.
    """
    named_code.check(folder)
    try:
        try:
            _check_files(Path(folder), kind)
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # JSON of any other form
            what = f"a JSON file in the folder {str(folder)!r} is not as transformers writes it ({error})"
            raise Unfit(what) from None
        what, do = ("", "") if gguf_file(folder) else _said(str(folder), kind, tokens)
        if what:
            raise Unfit(f"{what} (loaded as {kind})", do or KIND)
    except Unfit as fault:
        raise BadInput(fault.what, where=f"config, extra_models, {name}", do=fault.do) from None


def _check_files(folder: Path, kind: str) -> None:
    if gguf := gguf_file(folder):
        _check_gguf(gguf, kind)
        return
    if not folder.is_dir():
        raise Unfit(f"the folder {str(folder)!r} does not exist")
    modules = modules_of(folder)
    if not modules and (folder / "modules.json").is_file():
        raise Unfit(f"{_in(folder, folder / 'modules.json')} is no list of modules")
    if modules and kind == "bi-encoder":
        for part, path in modules:
            if part in ("Pooling", "Dense") and not (folder / path / "config.json").is_file():
                raise Unfit(f"the folder {str(folder / path)!r} of the module {part} holds no config.json")
            if part == "Dense":
                _shapes(folder / path)
        if modules[0][0] != "Transformer":
            return  # word vectors, for one: sentence-transformers itself says what it lacks
    body = folder / modules[0][1] if modules else folder
    if body != folder and kind != "bi-encoder":
        raise Unfit(f"the folder {str(folder)!r} is a sentence encoder, declared as {kind}", KIND)
    config = _json(body / "config.json", folder)
    if not config.get("model_type"):
        raise Unfit(f"{_in(folder, body / 'config.json')} names no model_type")
    shapes = _shapes(body)
    _check_kind(kind, config, shapes, bool(modules))
    _check_tokenizer(body, config, shapes)


def _check_gguf(file: Path, kind: str) -> None:
    """Look at the beginning of a GGUF file: a mark, a version, and how many tensors and facts there are."""
    if kind != "language-model":
        raise Unfit(f"the file {str(file)!r} can be a language model alone, declared as {kind}", KIND)
    with file.open("rb") as opened:
        start = opened.read(24)
    if start[:4] != b"GGUF" or len(start) < 24 or not any(start[8:16]):
        raise Unfit(f"the file {str(file)!r} is no GGUF file with weights", "copy or fetch the file again")
    if not reads_gguf():
        raise Unfit(
            f"the file {str(file)!r} is a GGUF file, and nothing that reads it is installed",
            "install gguf or llama-cpp-python",
        )


def _check_kind(kind: str, config: Mapping[str, Any], shapes: Shapes, modules: bool) -> None:
    architectures = config.get("architectures") or [config["model_type"]]
    if not isinstance(architectures, list):
        raise TypeError(f"architectures: {architectures!r}")
    named = " or ".join(architectures)

    def ends(suffixes: tuple[str, ...]) -> bool:
        return any(name.endswith(suffixes) for name in architectures)

    if kind == "question-answering":
        if not any(name.split(".")[-2:] == ["qa_outputs", "weight"] for name in shapes):
            raise Unfit(f"{named} has no weights of a head for answers (qa_outputs)", KIND)
    elif kind == "cross-encoder":
        heads = [shape for name, shape in shapes.items() if _is_output(name) and len(shape) == 2]
        if not heads or (config.get("architectures") and not ends(("ForSequenceClassification",))):
            raise Unfit(f"{named} has no weights of a head for relevance (sequence classification)", KIND)
        labels = min(rows for rows, _ in heads)
        if labels != 1:
            raise Unfit(f"{named} has a head of {labels} labels, where relevance is one number", KIND)
    elif kind == "language-model":
        if not ends(WRITERS):
            raise Unfit(f"{named} does not write text and is no language-model", KIND)
    elif ends(GENERATORS) and not (modules and kind == "bi-encoder"):
        raise Unfit(f"{named} writes text and is no {kind}", KIND)
    elif kind == "bi-encoder" and ends(HEADS) and not modules:
        raise Unfit(f"{named} has a head of another kind and is no bi-encoder", KIND)


def _is_output(name: str) -> bool:
    return name.endswith(".weight") and any(part in RELEVANCE for part in name.split("."))


def _check_tokenizer(folder: Path, config: Mapping[str, Any], shapes: Shapes) -> None:
    pairs = (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file()
    whole = any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt"))
    if not (pairs or whole or any(folder.glob("*.model"))):
        raise Unfit(
            f"the folder {str(folder)!r} holds no tokenizer (tokenizer.json, vocab.txt or another)",
            "save the tokenizer that the model was trained with beside it",
        )
    if (folder / "tokenizer.json").is_file():
        tokenizer = _json(folder / "tokenizer.json", folder)
        vocabulary = (tokenizer.get("model") or {}).get("vocab") or {}
        ids = list(vocabulary.values()) if isinstance(vocabulary, Mapping) else [len(vocabulary) - 1]
        ids += [token["id"] for token in tokenizer.get("added_tokens") or ()]
        words = max(ids, default=-1) + 1
        rows = [shape[0] for name, shape in shapes.items() if name.endswith(EMBEDDINGS) and len(shape) == 2]
        known = max(rows, default=config.get("vocab_size") or math.inf)
        if words > known:
            raise Unfit(
                f"the tokenizer has {words:,} tokens and the model vectors for {known:,}",
                "save the tokenizer that it was trained with beside it, or the model after "
                "resize_token_embeddings",
            )


def _json(path: Path, folder: Path) -> dict[str, Any]:
    if not path.is_file():
        raise Unfit(f"the folder {str(folder)!r} holds no {path.relative_to(folder)}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Unfit(f"{_in(folder, path)} is not a JSON object")
    return found


def _in(folder: Path, path: Path) -> str:
    return f"{path.relative_to(folder)} in the folder {str(folder)!r}"


def _shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return {tensor: shape} of the weights in ``folder``, from the headers of its safetensors files."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        parts = _json(index, folder).get("weight_map") or {}
        names = sorted(set(map(str, parts.values())))
    else:
        parts, names = {}, ["model.safetensors"]
    shapes: dict[str, tuple[int, ...]] = {}
    for name in names:
        if not (folder / name).is_file():
            if any(folder.glob("pytorch_model*.bin*")):
                raise Unfit(
                    f"the folder {str(folder)!r} holds its weights as a pickle alone (pytorch_model.bin)",
                    "convert them to model.safetensors (save_pretrained of a recent transformers does)",
                )
            raise Unfit(f"the folder {str(folder)!r} holds no weights ({name})")
        shapes |= _header(folder / name, folder)
    if absent := sorted(set(parts) - set(shapes)):
        raise Unfit(f"{_in(folder, index)} names {absent[0]}, which no file of the weights holds")
    return shapes


def _header(path: Path, folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes that a safetensors file declares, after a look that all its bytes are there."""
    again = "copy or fetch the file again"
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if start == b"version ":
            raise Unfit(
                f"{_in(folder, path)} is a pointer of Git LFS and no weights", "run git lfs pull there"
            )
        if size < 8 or length > min(size - 8, LARGEST_HEADER):
            raise Unfit(f"{_in(folder, path)} is cut short or no safetensors file ({size:,} bytes)", again)
        try:
            header = json.loads(file.read(length))
            tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
            shapes = {name: tuple(map(int, entry["shape"])) for name, entry in tensors.items()}
            ends = [int(entry["data_offsets"][1]) for entry in tensors.values()]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise Unfit(f"{_in(folder, path)} is no safetensors file: its header is broken", again) from None
    whole = 8 + length + max(ends, default=0)
    if size != whole:
        raise Unfit(f"{_in(folder, path)} has {size:,} bytes where its header says {whole:,}", again)
    return shapes


def _said(folder: str, kind: str, tokens: int) -> tuple[str, str]:
    """Return what `loading.said` says of a model, from a process of its own; empty for nothing amiss."""
    command = [sys.executable, "-m", "lextables.models.loading", folder, kind, str(tokens)]
    # A model is whole in its folder: nothing that it lacks is looked for on the hub.
    settings = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
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
