"""Loads models and tokenizers, and finds what is missing in a model folder.

python -m lextables.models.loading <folder> <kind> <tokens>     prints `loading_error` as JSON
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, models, normalizers
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    set_seed,
)
from transformers.utils import logging

from lextables.models.positions import positions
from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.errors import BadInput, loading_weights

Report = Mapping[str, Any]

# A tokenizer that uses a smaller share of the embeddings belongs to another model; vocabularies are rounded
# up to multiples of 8 to 128.
MIN_VOCABULARY_SHARE = 0.9
RESAVE = (
    "save the tokenizer that belongs to the model in its folder, "
    "or the model after resize_token_embeddings"
)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' messages on loading (new heads, progress)."""
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


def save(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: str | Path
) -> None:
    """Write model and tokenizer to ``folder`` as safetensors and JSON, atomically."""
    with replacing_folder(folder) as temporary, quiet():
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)


def fresh(report: Report) -> set[str]:
    """Return the randomly initialised tensors of a model, from the report of ``output_loading_info``."""
    return {
        *report["missing_keys"],
        *(str(entry[0]) for entry in report["mismatched_keys"]),
    }


def fresh_encoder(model: PreTrainedModel, report: Report) -> set[str]:
    """Return those of the encoder only, without heads (trained here) and the pooler (read only by heads)."""
    names = {name for name in fresh(report) if "pooler" not in name.split(".")}
    prefix = model.base_model_prefix
    return (
        {name for name in names if name.startswith(f"{prefix}.")}
        if hasattr(model, prefix)
        else names
    )


def missing(names: Iterable[str]) -> str:
    """Return a message that names missing tensors; empty for none."""
    names = sorted(names)
    return f"the weights lack {len(names)} tensors, such as {names[0]}" if names else ""


def check_complete(folder: str | Path, names: Iterable[str]) -> None:
    """Raise `BadInput` if a model in ``folder`` lacks the tensors ``names``."""
    if message := missing(names):
        raise BadInput(
            message, where=str(folder), do="use the folder of a complete model"
        )


def missing_tensors(folder: str | Path, kind: str) -> set[str]:
    """Return the tensors that loading ``folder`` as ``kind`` would wrongly initialise at random.

    ``kind`` is one of a user's models (`config.ExtraModel`).  Only headers are read.  Raises `BadInput` if
    the size of a tensor differs from the configuration.
    """
    if kind == "cross-encoder":
        return fresh(
            _loaded(AutoModelForSequenceClassification, folder, num_labels=1)[1]
        )
    if kind == "question-answering":
        return fresh(_loaded(AutoModelForQuestionAnswering, folder)[1])
    if kind == "language-model":
        return fresh(_loaded(AutoModelForCausalLM, folder)[1])
    loaders = (AutoModel,)
    if kind == "encoder":
        loaders = (AutoModelForQuestionAnswering, AutoModelForSequenceClassification)
    return set().union(*(fresh_encoder(*_loaded(loader, folder)) for loader in loaders))


def _loaded(
    loader: Any, folder: str | Path, **options: Any
) -> tuple[PreTrainedModel, Report]:
    """Return the model without the values of its tensors, and the report; `BadInput` for a wrong size."""
    options |= {
        "device_map": "meta",
        "output_loading_info": True,
        "trust_remote_code": False,
    }
    model, report = loader.from_pretrained(
        folder, ignore_mismatched_sizes=True, **options
    )
    for name, saved, expected in sorted(report["mismatched_keys"], key=str):
        if saved[0] != expected[0] == getattr(model.config, "vocab_size", None):
            sizes = f"vectors for {saved[0]:,} tokens, and config.json says vocab_size {expected[0]:,}"
            do = f"set vocab_size to {saved[0]:,} there and {RESAVE}"
        else:
            sizes = (
                f"{name} in the shape {[*saved]}, and config.json says {[*expected]}"
            )
            do = "use the config.json that was saved with the weights"
        raise BadInput(f"transformers cannot load it: the weights have {sizes}", do=do)
    return model, report


def transformer(folder: str | Path) -> Path | None:
    """Return the folder of the transformer in a sentence encoder; None for one of word vectors."""
    modules = Path(folder, "modules.json")
    if not modules.is_file():
        return Path(folder)
    first = json.loads(modules.read_text(encoding="utf-8"))[0]
    return (
        Path(folder, first["path"]) if first["type"].endswith("Transformer") else None
    )


def _check(folder: str | Path, kind: str, tokens: int) -> None:
    """Raise `BadInput` if ``folder`` cannot be used as ``kind`` with texts of up to ``tokens`` tokens."""
    body = transformer(folder) if kind == "bi-encoder" else Path(folder)
    if body is None:
        _check_sentence_encoder(folder, transforms=False)
        return
    if message := missing(missing_tensors(body, kind)):
        raise BadInput(message)
    model = AutoModel.from_pretrained(body, device_map="meta", trust_remote_code=False)
    if (most := positions(model.config)) is not None and tokens > most:
        raise BadInput(f"it reads at most {most:,} tokens, and {tokens:,} are needed")
    tokenizer = AutoTokenizer.from_pretrained(body, trust_remote_code=False)
    size = max(tokenizer.get_vocab().values()) + 1
    embeddings = model.get_input_embeddings().weight.shape[0]
    if not MIN_VOCABULARY_SHARE * embeddings <= size <= embeddings:
        what = f"the tokenizer has {size:,} tokens and the model vectors for {embeddings:,}"
        raise BadInput(what, do=RESAVE)
    if kind == "bi-encoder":
        _check_sentence_encoder(folder, transforms=True)


def _check_sentence_encoder(folder: str | Path, *, transforms: bool) -> None:
    """Load a sentence encoder with its own settings, without weights if it ``transforms`` (not word vectors).

    The library raises for most settings that it does not know, but reads an unknown similarity as the cosine.
    """
    from sentence_transformers import SentenceTransformer  # slow to import

    from lextables.models.own_settings import set_length

    settings = Path(folder, "config_sentence_transformers.json")
    saved = (
        json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    )
    similarity, known = (
        saved.get("similarity_fn_name"),
        SentenceTransformer.SUPPORTED_SIMILARITY_FN_NAMES,
    )
    if similarity is not None and similarity not in known:
        do = f"write one of {', '.join(known)} in {settings.name}"
        raise BadInput(f"its similarity_fn_name is {similarity!r}", do=do)

    if transforms:
        set_length(
            SentenceTransformer(str(folder), model_kwargs={"device_map": "meta"}), None
        )
    else:
        SentenceTransformer(str(folder), device="cpu").encode(["a clause"])


def loading_error(folder: str | Path, kind: str, tokens: int) -> tuple[str, str]:
    """Return why ``folder`` cannot be used as ``kind``, and how to fix it; empty for a usable model.

    ``tokens`` is the maximum length of its texts.  The second part is empty if only another kind or model
    helps.
    """
    try:
        _check(folder, kind, tokens)
        return "", ""
    except BadInput as error:
        return error.what, error.do
    except Exception as error:  # libraries raise various errors for a user's folder
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return (
            f"transformers cannot load it: {type(error).__name__}: {lines[0] if lines else ''}",
            "",
        )


@loading_weights()
def load_tokenizer(folder: str | Path) -> PreTrainedTokenizerBase:
    """Return the tokenizer in ``folder``.

    transformers 5 builds DeBERTa's tokenizers (v2 and v3) without the character map of their SentencePiece
    model, so a non-breaking space, a ligature or a trade mark sign becomes unknown.  transformers 4, which
    trained the papers' models, uses the map.  It is restored from tokenizer.json or the SentencePiece model.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None or not isinstance(fast.model, models.Unigram):
        return tokenizer
    file = Path(folder) / "tokenizer.json"
    if file.is_file():
        fast.normalizer = Tokenizer.from_file(str(file)).normalizer
    elif (
        fast.normalizer is None
        or b'"Precompiled"' not in fast.normalizer.__getstate__()
    ):
        for path in sorted(Path(folder).glob("*.model")):
            content = sentencepiece_model_pb2.ModelProto()
            content.ParseFromString(path.read_bytes())
            if content.normalizer_spec.precompiled_charsmap:
                characters = normalizers.Precompiled(
                    content.normalizer_spec.precompiled_charsmap
                )
                after = [fast.normalizer] if fast.normalizer is not None else []
                fast.normalizer = normalizers.Sequence([characters, *after])
    return tokenizer


@loading_weights()
def load_span_model(
    folder: str, device: torch.device, seed: int = 0, *, trained: bool = False
) -> PreTrainedModel:
    """Return the question-answering model in ``folder`` in float32; ``seed`` initialises a missing span head.

    Raises `BadInput` when weights of the encoder are missing, or any weights of a ``trained`` model.
    """
    set_seed(seed)
    with quiet():
        model, report = AutoModelForQuestionAnswering.from_pretrained(
            folder,
            dtype=torch.float32,
            output_loading_info=True,
            trust_remote_code=False,
        )
    check_complete(folder, fresh(report) if trained else fresh_encoder(model, report))
    return model.to(device)


if __name__ == "__main__":
    print(json.dumps(loading_error(*sys.argv[1:3], int(sys.argv[3]))))
