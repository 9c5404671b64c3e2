"""Loads models, and finds what is missing in a model folder.

python -m lextables.models.loading <folder> <kind> <tokens> <seconds> <bytes>

prints `fault_of` as JSON, within limits of processor time and memory.
"""

import json
import re
import resource
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTextEncoding,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    set_seed,
)
from transformers.utils import logging

from lextables.models.files import modules_of
from lextables.models.folders import bodies_of
from lextables.models.positions import positions
from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.errors import BadInput, first_line, loading_weights
from lextables.pipeline.finite import OTHER_WEIGHTS

Report = Mapping[str, Any]

# A tokenizer that uses a smaller share of the embeddings belongs to another model;
# vocabularies are rounded up to multiples of 8 to 128.
MIN_VOCABULARY_SHARE = 0.9
RESAVE = (
    "save the tokenizer that belongs to the model in its folder, "
    "or the model after resize_token_embeddings"
)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' messages on loading (new heads, progress)."""
    level = logging.get_verbosity()
    bar = logging.is_progress_bar_enabled()
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
    """Return the names of the tensors of a model that were initialised at random.

    ``report`` is transformers' report of loading it (``output_loading_info``).
    """
    mismatched = [str(entry[0]) for entry in report["mismatched_keys"]]
    return {*report["missing_keys"], *mismatched}


def fresh_encoder(model: PreTrainedModel, report: Report) -> set[str]:
    """Return the randomly initialised tensors of the encoder in ``model``.

    Heads, which are trained here, and the pooler, which only heads read, are left out.
    """
    names = {name for name in fresh(report) if "pooler" not in name.split(".")}
    prefix = model.base_model_prefix
    if not hasattr(model, prefix):
        return names
    return {name for name in names if name.startswith(f"{prefix}.")}


def check_complete(folder: str | Path, names: Collection[str]) -> None:
    """Raise `BadInput` if a model in ``folder`` lacks the tensors ``names``."""
    if names:
        what = f"the weights lack {len(names)} tensors, such as {min(names)}"
        do = "use the folder of a complete model"
        raise BadInput(what, where=str(folder), do=do)


def check_finite(folder: str | Path, model: torch.nn.Module) -> None:
    """Raise `BadInput` if a loaded model has weights that are NaN or infinite.

    Attention can hide them: its softmax returns zeros for a row of NaN.
    """
    for name, values in model.named_parameters():
        if not torch.isfinite(values).all():
            what = f"the weights {name!r} are not all finite numbers"
            raise BadInput(what, where=str(folder), do=OTHER_WEIGHTS)


# Tokens of two short texts with the same first token.
_TEXTS = ((0, 1, 2, 3), (0, 4, 5, 6))


@torch.no_grad()
def check_reads_whole_texts(
    folder: str | Path,
    represent: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    device: torch.device | str = "cpu",
) -> None:
    """Raise `BadInput` if a model's vector of a text depends on the text's first token
    only, as that of the first token of a decoder.

    ``represent`` returns vectors (texts, dimensions) from token ids and an attention
    mask (texts, tokens) on ``device``.
    """
    texts = torch.tensor(_TEXTS, device=device)
    first, second = represent(texts, torch.ones_like(texts))
    if torch.allclose(first, second):
        raise BadInput(
            "its first token's vector is the same for every text, as in a decoder",
            where=str(folder),
            do="choose an encoder whose tokens attend to all others",
        )


# Kinds of models with a head, and how transformers loads them.
_WITH_HEAD = {
    "cross-encoder": AutoModelForSequenceClassification,
    "classifier": AutoModelForSequenceClassification,
    "question-answering": AutoModelForQuestionAnswering,
    "language-model": AutoModelForCausalLM,
}
# Outputs of the heads of kinds that have a fixed number, whatever a configuration says.
_OUTPUTS = {"cross-encoder": 1, "question-answering": 2}
# Endings of the names of tensors by which quantised weights are multiplied.
_SCALES = (".weight_scale", ".weight_scale_inv", ".weight_scale_2", ".scales")
# Types of models of which a sentence encoder has no decoder.
_ENCODER_ONLY = ("t5", "mt5", "umt5")
_MEDIA = ("image_token", "audio_token", "video_token")  # attributes of tokenizers
_LAYER = re.compile(r"\.\d+\.")  # the number of a layer in the name of a tensor
# Endings of the names of architectures that write text.
_LANGUAGE_MODELS = ("ForCausalLM", "LMHeadModel")
_WRITERS = (*_LANGUAGE_MODELS, "ForConditionalGeneration")
# Heads of other models than encoders: an embedding from such a model is meaningless.
_OTHER_HEADS = (
    "ForSequenceClassification",
    "ForQuestionAnswering",
    "ForTokenClassification",
    "ForMultipleChoice",
)


def missing_tensors(folder: str | Path, kind: str) -> set[str]:
    """Return the tensors that loading ``folder`` as ``kind`` would wrongly initialise.

    ``kind`` is one of a user's models (`config.ExtraModel`), or `classifier` with the
    labels of its configuration.  Only the headers of the weights are read.  Raises
    `BadInput` if the size of a tensor differs from the configuration.
    """
    if kind in _WITH_HEAD:
        options = {"num_labels": _OUTPUTS[kind]} if kind in _OUTPUTS else {}
        return fresh(_without_values(_WITH_HEAD[kind], folder, **options)[1])
    loaders: list[type] = [AutoModel]
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    if config.model_type in _ENCODER_ONLY:
        loaders = [AutoModelForTextEncoding]
    if kind == "encoder":  # for both uses of an encoder
        loaders = [AutoModelForQuestionAnswering, AutoModelForSequenceClassification]
    names = set()
    for loader in loaders:
        names |= fresh_encoder(*_without_values(loader, folder))
    return names


def _without_values(
    loader: Any, folder: str | Path, **options: Any
) -> tuple[PreTrainedModel, Report]:
    """Return a model without the values of its tensors, and the report of loading it.

    Raises `BadInput` for a tensor of another size than the configuration's, for layers
    that the configuration leaves out, for a head with another number of labels than the
    kind of model has, and for quantised weights that transformers does not recognise.
    """
    model, report = loader.from_pretrained(
        folder,
        ignore_mismatched_sizes=True,
        device_map="meta",
        output_loading_info=True,
        trust_remote_code=False,
        **options,
    )
    own_config = "use the config.json that was saved with the weights"
    prefix = f"{model.base_model_prefix}."
    for name, saved, expected in sorted(report["mismatched_keys"], key=str):
        outputs = options.get("num_labels")
        if outputs == expected[0] and not name.startswith(prefix):
            raise BadInput(
                f"its head has {saved[0]} labels, and this kind of model has {outputs}"
            )
        what = (
            f"the weights have {name} in the shape {[*saved]} instead of {[*expected]}"
        )
        raise BadInput(what, do=own_config)
    parts = {
        _LAYER.sub(".N.", name.removeprefix(prefix)) for name in model.state_dict()
    }
    left_out = []
    for name in sorted(report["unexpected_keys"]):
        if _LAYER.sub(".N.", name.removeprefix(prefix)) in parts:
            left_out.append(name)
        elif name.endswith(_SCALES):
            what = f"its weights are quantised, and {name} would not be read"
            raise BadInput(what, do="use the model before it was quantised")
    if left_out:
        what = (
            f"the weights have more layers than the config.json, such as {left_out[0]}"
        )
        raise BadInput(what, do=own_config)
    return model, report


def _check_kind(config: PretrainedConfig, kind: str, is_sentence_encoder: bool) -> None:
    """Raise `BadInput` if the architectures in a configuration are of another kind."""
    names = config.architectures or [type(config).__name__]
    what = " or ".join(names)
    writes = any(name.endswith(_WRITERS) for name in names)
    if kind == "language-model":
        # A model of texts and images also writes text, if transformers loads it as a
        # language model.
        own = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
        loads_it = getattr(own, "__name__", None) in names
        if not (loads_it or any(name.endswith(_LANGUAGE_MODELS) for name in names)):
            raise BadInput(f"{what} does not write text")
    elif is_sentence_encoder and kind == "bi-encoder":
        return
    elif writes:
        raise BadInput(f"{what} writes text")
    elif kind == "bi-encoder" and any(name.endswith(_OTHER_HEADS) for name in names):
        raise BadInput(f"{what} has a head of another kind")


def _check(folder: Path, kind: str, tokens: int) -> None:
    """Raise `BadInput` if ``folder`` cannot be used as ``kind`` with texts of
    ``tokens``.

    Checks that no tensor is missing, that the architecture is of this kind, that it
    reads so many tokens, and that the tokenizer belongs to the model.
    """
    bodies = bodies_of(folder) if kind == "bi-encoder" else [folder]
    for body in bodies:
        _check_body(folder, body, kind, tokens)
    if kind == "bi-encoder":
        _check_sentence_encoder(folder, transforms=bool(bodies))


def _check_body(folder: Path, body: Path, kind: str, tokens: int) -> None:
    """`_check` of a transformer of the model in ``folder``."""
    check_complete(folder, missing_tensors(body, kind))
    model = _without_values(AutoModel, body)[0]
    _check_kind(model.config, kind, bool(modules_of(folder)))
    most = positions(model.config)
    if most is not None and tokens > most:
        raise BadInput(f"it reads at most {most:,} tokens, and {tokens:,} are needed")
    tokenizer = AutoTokenizer.from_pretrained(body, trust_remote_code=False)
    size = _vocabulary_size(tokenizer)
    vectors = len(model.get_input_embeddings().get_parameter("weight"))
    if not MIN_VOCABULARY_SHARE * vectors <= size <= vectors:
        what = (
            f"the tokenizer has {size:,} tokens and the model vectors for {vectors:,}"
        )
        raise BadInput(what, do=RESAVE)


def _vocabulary_size(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the number of vectors that a tokenizer's texts need.

    A token that stands for an image has no vector of its own in a model that only reads
    text (Gemma 3 1B).
    """
    media = {getattr(tokenizer, name, None) for name in _MEDIA}
    numbers = [
        number for token, number in tokenizer.get_vocab().items() if token not in media
    ]
    return max(numbers) + 1


def _check_sentence_encoder(folder: Path, *, transforms: bool) -> None:
    """Load a sentence encoder with its own settings, to find those that are wrong.

    It is loaded without weights if it ``transforms`` (has a transformer), and with them
    if it looks up word vectors.  The library raises for most settings that it does not
    know, but reads an unknown similarity as the cosine.
    """
    from sentence_transformers import SentenceTransformer  # slow to import

    from lextables.models.own_settings import set_length

    settings = folder / "config_sentence_transformers.json"
    similarity_names = SentenceTransformer.SUPPORTED_SIMILARITY_FN_NAMES
    similarity = None
    if settings.is_file():
        saved = json.loads(settings.read_text(encoding="utf-8"))
        similarity = saved.get("similarity_fn_name")
    if similarity is not None and similarity not in similarity_names:
        do = f"write one of {', '.join(similarity_names)} in {settings.name}"
        raise BadInput(f"its similarity_fn_name is {similarity!r}", do=do)
    if transforms:
        options = {"device_map": "meta"}
        model = SentenceTransformer(str(folder), model_kwargs=options)
        if getattr(model[-1], "module_output_name", None) == "token_embeddings":
            do = "add the module that pools them to modules.json"
            raise BadInput("it has a vector for each token, and none for a text", do=do)
        set_length(model, None)
    else:
        SentenceTransformer(str(folder), device="cpu").encode(["a clause"])


def fault_of(folder: str, kind: str, tokens: int) -> tuple[str, str]:
    """Return why ``folder`` cannot be used as ``kind``, and how to fix it.

    Both are empty for a usable model.  ``tokens`` is the maximum length of its texts.
    The second part is empty if only another kind or model helps.
    """
    try:
        _check(Path(folder), kind, tokens)
        return "", ""
    except BadInput as error:
        return error.what, error.do
    except Exception as error:  # libraries raise various errors for a user's folder
        reason = f"{type(error).__name__}: {first_line(error)}"
        return f"transformers cannot load it: {reason}", ""


@loading_weights()
def load_span_model(
    folder: str, device: torch.device, seed: int = 0, *, trained: bool = False
) -> PreTrainedModel:
    """Return the question-answering model in ``folder`` in float32; ``seed``
    initialises a missing span head.

    Raises `BadInput` when weights of the encoder are missing, or any weights of a
    ``trained`` model.
    """
    set_seed(seed)
    with quiet():
        # A span head has two outputs, also of an encoder that was trained for other
        # labels.
        model, report = AutoModelForQuestionAnswering.from_pretrained(
            folder,
            num_labels=2,
            ignore_mismatched_sizes=True,
            dtype=torch.float32,
            output_loading_info=True,
            trust_remote_code=False,
        )
    check_complete(folder, fresh(report) if trained else fresh_encoder(model, report))
    check_finite(folder, model)
    return model.to(device)


def _limit(seconds: int, memory: int) -> None:
    """Limit this process, because a configuration may name any number of layers."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


if __name__ == "__main__":
    name_of_folder, name_of_kind, *numbers = sys.argv[1:]
    most_tokens, most_seconds, most_memory = map(int, numbers)
    _limit(most_seconds, most_memory)
    print(json.dumps(fault_of(name_of_folder, name_of_kind, most_tokens)))
