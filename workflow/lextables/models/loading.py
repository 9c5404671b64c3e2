"""What transformers says of a model that it loads: the weights that it lacks and would draw at random.

python -m lextables.models.loading <folder> <kind> <tokens>     prints `said` as JSON
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.errors import BadInput

Report = Mapping[str, Any]

# Their positions start behind that of the padding.
AFTER_PADDING = ("roberta", "xlm-roberta", "camembert", "longformer", "mpnet")
# A tokenizer with fewer of the model's vectors than this is another model's: vocabularies are rounded up to
# multiples of 8 to 128.
LEAST = 0.9
RESAVE = "save the tokenizer that it was trained with beside it, or the model after resize_token_embeddings"


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' notes on loading (a fresh head, progress), which tell a user nothing."""
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: str | Path) -> None:
    """Write model and tokenizer to ``folder`` as safetensors and JSON, whole or not at all."""
    with replacing_folder(folder) as temporary, quiet():
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)


def positions(config: PretrainedConfig) -> int | None:
    """Return the most tokens that a model has positions for; None where there is no such limit."""
    found = getattr(config, "max_position_embeddings", None)
    if not found or found < 0:
        return None
    return found - (config.pad_token_id + 1 if config.model_type in AFTER_PADDING else 0)


def fresh(report: Report) -> set[str]:
    """Return the tensors that a loaded model drew at random, from the report of ``output_loading_info``."""
    return {*report["missing_keys"], *(str(entry[0]) for entry in report["mismatched_keys"])}


def fresh_encoder(model: PreTrainedModel, report: Report) -> set[str]:
    """Return those of the encoder alone: heads are trained here, and a pooler is read by heads alone."""
    names = {name for name in fresh(report) if "pooler" not in name.split(".")}
    prefix = model.base_model_prefix
    return {name for name in names if name.startswith(f"{prefix}.")} if hasattr(model, prefix) else names


def lacking(names: Iterable[str]) -> str:
    """Say which tensors a model lacks; empty for none."""
    names = sorted(names)
    return f"the weights lack {len(names)} tensors, such as {names[0]}" if names else ""


def check_whole(folder: str | Path, names: Iterable[str]) -> None:
    """Raise `BadInput` when a model in ``folder`` lacks tensors."""
    if fault := lacking(names):
        raise BadInput(fault, where=str(folder), do="give the folder of a whole model")


def absent(folder: str | Path, kind: str) -> set[str]:
    """Return the tensors that loading ``folder`` as ``kind`` would draw at random where none may be.

    ``kind`` is one of a user's models (`config.ExtraModel`).  No numbers are read.  Raises `BadInput` where
    tensors have other sizes than the configuration says.
    """
    if kind == "cross-encoder":
        return fresh(_loaded(AutoModelForSequenceClassification, folder, num_labels=1)[1])
    if kind == "question-answering":
        return fresh(_loaded(AutoModelForQuestionAnswering, folder)[1])
    if kind == "language-model":
        return fresh(_loaded(AutoModelForCausalLM, folder)[1])
    loaders = (AutoModel,)
    if kind == "encoder":
        loaders = (AutoModelForQuestionAnswering, AutoModelForSequenceClassification)
    return set().union(*(fresh_encoder(*_loaded(loader, folder)) for loader in loaders))


def _loaded(loader: Any, folder: str | Path, **how: Any) -> tuple[PreTrainedModel, Report]:
    """Return the model without its numbers, and the report; `BadInput` for a size that does not fit."""
    how |= {"device_map": "meta", "output_loading_info": True, "trust_remote_code": False}
    model, report = loader.from_pretrained(folder, ignore_mismatched_sizes=True, **how)
    for name, held, wanted in sorted(report["mismatched_keys"], key=str):
        if held[0] != wanted[0] == getattr(model.config, "vocab_size", None):
            sizes = f"vectors for {held[0]:,} tokens, and config.json says vocab_size {wanted[0]:,}"
            do = f"set vocab_size to {held[0]:,} there and {RESAVE}"
        else:
            sizes = f"{name} in the shape {[*held]}, and config.json says {[*wanted]}"
            do = "give the config.json that the weights were saved with"
        raise BadInput(f"transformers cannot load it: the weights have {sizes}", do=do)
    return model, report


def transformer(folder: str | Path) -> Path | None:
    """Return the folder of the transformer in a sentence encoder; None for one of word vectors."""
    modules = Path(folder, "modules.json")
    if not modules.is_file():
        return Path(folder)
    first = json.loads(modules.read_text(encoding="utf-8"))[0]
    return Path(folder, first["path"]) if first["type"].endswith("Transformer") else None


def fault(folder: str | Path, kind: str, tokens: int) -> str:
    """Return the sentence that speaks against using ``folder`` as ``kind``; empty for none.

    ``tokens`` are the most that it is to read at once.  Raises `BadInput` where sizes do not fit one another.
    """
    body = transformer(folder) if kind == "bi-encoder" else Path(folder)
    if body is None:
        from sentence_transformers import SentenceTransformer

        SentenceTransformer(str(folder), device="cpu").encode(["a clause"])
        return ""
    if sentence := lacking(absent(body, kind)):
        return sentence
    model = AutoModel.from_pretrained(body, device_map="meta", trust_remote_code=False)
    if (most := positions(model.config)) is not None and tokens > most:
        return f"it reads {most:,} tokens at once, and {tokens:,} are asked of it"
    tokenizer = AutoTokenizer.from_pretrained(body, trust_remote_code=False)
    words = max(tokenizer.get_vocab().values()) + 1
    known = model.get_input_embeddings().weight.shape[0]
    if LEAST * known <= words <= known:
        return ""
    raise BadInput(f"the tokenizer has {words:,} tokens and the model vectors for {known:,}", do=RESAVE)


def said(folder: str | Path, kind: str, tokens: int) -> tuple[str, str]:
    """Return `fault`, or in one sentence why a library cannot load the model at all, and how to fix it.

    The second is empty where another kind or model may do.
    """
    try:
        return fault(folder, kind, tokens), ""
    except BadInput as error:
        return error.what, error.do
    except Exception as error:  # whatever it is that a library meets in a user's folder
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"transformers cannot load it: {type(error).__name__}: {lines[0] if lines else ''}", ""


if __name__ == "__main__":
    print(json.dumps(said(*sys.argv[1:3], int(sys.argv[3]))))
