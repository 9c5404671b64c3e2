"""Tiny models with random weights, one for each registered model, for rehearsals.

A tiny model has the architecture, the kind of tokenizer and the files of the registered
model, so that a rehearsal meets the same code of the libraries.  Its vocabulary is made
of the words of the sample's texts.  The bytes depend on the registry, these texts, this
module and the versions of the libraries alone.

python -m lextables.models.tiny <models.yaml> <texts> <folder> [<zip>=<model> ...]
"""

import json
import sys
import tomllib
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, processors
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer, ByteLevel
from transformers import PreTrainedModel, PreTrainedTokenizerBase, set_seed

from lextables.models.loading import quiet
from lextables.models.resolve import Model, load_models
from lextables.pipeline.atomic import write_text

# Sizes of all tiny models: of a hidden state, and of the inner layer of a feed-forward
# network; `LAYERS` of `HEADS` heads.
WIDTH = 16
INNER = 32
LAYERS = 2
HEADS = 2
# Tokens of the sparse attention of Longformer and BigBird, so that short texts have it
# too.
WINDOW = 64
WORDS = 300  # whole words in a vocabulary
SEED = 0
# The answers of models that others fine-tuned on ANLI; with two answers, the first
# two.
NLI_LABELS = ("entailment", "neutral", "contradiction")


def make(
    registry: str | Path, texts: str | Path, folder: str | Path, *released: str
) -> None:
    """Write a mirror: ``folder/models/<name>`` for each model with an architecture.

    ``texts`` is the folder of the sample, whose TOML files have the words.
    ``released`` are zips of fine-tuned models, `<path in the mirror>=<name of the
    model>`.
    """
    words = Words(counted(Path(texts)))
    models = Path(folder, "models")
    for name, model in load_models(registry).items():
        if model.architecture:
            (models / name).mkdir(parents=True)
            with quiet():
                write(models / name, model, words)
    for pair in released:
        path, name = pair.split("=")
        write_released(models / name, Path(folder, path))


def counted(folder: Path) -> Counter[str]:
    """Return the frequencies of the words in the TOML files of a folder."""
    split = BertPreTokenizer().pre_tokenize_str
    normalise = BertNormalizer(lowercase=False).normalize_str
    words: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.toml")):
        for text in _strings(tomllib.loads(path.read_text(encoding="utf-8"))):
            words.update(word for word, _ in split(normalise(text)))
    return words


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings of a parsed TOML file, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings(list(value.values()))
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


@dataclass(frozen=True)
class Words:
    """The words of some texts, from which the vocabularies of tokenizers are made."""

    counts: Counter[str]

    def frequent(self, *, lower: bool) -> list[str]:
        """Return the most frequent words, the first the most frequent."""
        counts: Counter[str] = Counter()
        for word, count in self.counts.items():
            counts[word.lower() if lower else word] += count
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        return [word for word in ordered if len(word) > 1][:WORDS]

    def characters(self) -> list[str]:
        """Return all characters of the words, sorted."""
        letters = "".join(self.counts)
        return sorted({*letters, *letters.lower()})

    def wordpiece(self, special: Sequence[str], *, lower: bool) -> dict[str, int]:
        """Return the vocabulary of BERT's kind: words, and parts that follow others."""
        characters = self.characters()
        parts = [f"##{character}" for character in characters]
        return _numbered([*special, *characters, *parts, *self.frequent(lower=lower)])

    def byte_pairs(
        self, special: Sequence[str]
    ) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """Return the vocabulary and the merges of GPT-2's kind, over bytes."""
        merges = _merges("Ġ", self.frequent(lower=True))
        pieces = [*special, *sorted(ByteLevel.alphabet()), *map("".join, merges)]
        return _numbered(pieces), merges

    def byte_fallback(
        self, special: Sequence[str]
    ) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """Return the vocabulary and the merges of Gemma's kind.

        Characters that are not in it are written as bytes.
        """
        merges = _merges("▁", self.frequent(lower=True))
        merges = [
            pair for pair in merges if "".join(pair).isascii() or pair[0][0] == "▁"
        ]
        numbers = [f"<0x{byte:02X}>" for byte in range(256)]
        letters = ["▁", *self.characters()]
        return _numbered([*special, *numbers, *letters, *map("".join, merges)]), merges

    def unigram(self, special: Sequence[str]) -> list[tuple[str, float]]:
        """Return the pieces of SentencePiece's unigram kind with their scores.

        Scores are logarithms: frequent words have higher ones than rare words, and all
        of them higher ones than single characters.
        """
        pieces = [(piece, 0.0) for piece in special]
        pieces.append(("▁", -4.0))
        for rank, word in enumerate(self.frequent(lower=True)):
            pieces.append((f"▁{word}", -5.0 - rank / 100))
        for character in self.characters():
            pieces.append((character, -12.0))
        return list(dict(pieces).items())


def _numbered(pieces: Sequence[str]) -> dict[str, int]:
    """Return {piece: its number} without repetitions."""
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def _merges(blank: str, words: Sequence[str]) -> list[tuple[str, str]]:
    """Return the merges that build each word after a ``blank``, letter by letter."""
    pairs: dict[tuple[str, str], None] = {}
    for word in words:
        if not (word.isascii() and word.isalpha()):
            continue
        spelled = blank + word
        for end in range(1, len(spelled)):
            pairs[spelled[:end], spelled[end]] = None
    return list(pairs)


# Tokenizers


def _bert(words: Words, *, lower: bool = True) -> PreTrainedTokenizerBase:
    vocabulary = words.wordpiece(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], lower=lower
    )
    return transformers.BertTokenizer(vocab=vocabulary, do_lower_case=lower)


def _mpnet(words: Words) -> PreTrainedTokenizerBase:
    vocabulary = words.wordpiece(
        ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"], lower=True
    )
    return transformers.MPNetTokenizer(vocab=vocabulary)


def _roberta(
    words: Words, kind: str = "RobertaTokenizer", **options: Any
) -> PreTrainedTokenizerBase:
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    vocabulary, merges = words.byte_pairs(special)
    vocabulary["<mask>"] = len(vocabulary)
    tokenizer = getattr(transformers, kind)
    return tokenizer(vocab=vocabulary, merges=merges, **options)


def _modernbert(words: Words) -> PreTrainedTokenizerBase:
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    vocabulary, merges = words.byte_pairs(special)
    backend = Tokenizer(models.BPE(vocabulary, merges))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]",
        "[CLS] $A [SEP] $B [SEP]",
        [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "attention_mask"],
    )


def _albert(words: Words) -> PreTrainedTokenizerBase:
    pieces = words.unigram(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"])
    return transformers.AlbertTokenizer(vocab=pieces)


def _bigbird(words: Words) -> PreTrainedTokenizerBase:
    pieces = words.unigram(
        ["<pad>", "</s>", "<s>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    )
    return transformers.BigBirdTokenizer(vocab=pieces)


def _deberta(words: Words) -> PreTrainedTokenizerBase:
    pieces = words.unigram(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
    return transformers.DebertaV2Tokenizer(vocab=pieces, unk_id=3)


# A chat template for `str.format`, which needs all braces of the template doubled.
TURNS = (
    "{{{{ bos_token }}}}{{% for message in messages %}}{start}{{{{ message['role'] }}}}{middle}"
    "{{{{ message['content'] }}}}{end}{{% endfor %}}"
    "{{% if add_generation_prompt %}}{start}assistant{middle}{{% endif %}}"
)


def _llama(words: Words) -> PreTrainedTokenizerBase:
    special = ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>"]
    special.append("<|end_header_id|>")
    tokenizer = _of_bytes(words, special)
    tokenizer.chat_template = TURNS.format(
        start="<|start_header_id|>", middle="<|end_header_id|>\n\n", end="<|eot_id|>"
    )
    return tokenizer


def _deepseek(words: Words) -> PreTrainedTokenizerBase:
    """Return a tokenizer as in DeepSeek's distilled Qwens, which begins a text."""
    special = ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>"]
    # The library adds the last one to a Qwen's tokenizer that lacks it.
    special += ["<｜Assistant｜>", "<|endoftext|>"]
    tokenizer = _of_bytes(words, special)
    tokenizer.chat_template = TURNS.format(start="<｜User｜>", middle=":", end="\n")
    return tokenizer


def _of_bytes(words: Words, special: Sequence[str]) -> PreTrainedTokenizerBase:
    """Return a tokenizer over bytes; of ``special`` the first begins, the second
    ends.
    """
    vocabulary, merges = words.byte_pairs(special)
    backend = Tokenizer(models.BPE(vocabulary, merges))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(list(special))
    begin = special[0]
    backend.post_processor = processors.TemplateProcessing(
        f"{begin} $A", f"{begin} $A $B", [(begin, vocabulary[begin])]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=begin,
        eos_token=special[1],
        pad_token=special[1],
    )


def _gemma(words: Words) -> PreTrainedTokenizerBase:
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    special += ["<start_of_turn>", "<end_of_turn>"]
    vocabulary, merges = words.byte_fallback(special)
    # Merges may be pairs, which the class's annotation does not say.
    options: dict[str, Any] = {"vocab": vocabulary, "merges": merges}
    tokenizer = transformers.GemmaTokenizer(**options)
    tokenizer.chat_template = TURNS.format(
        start="<start_of_turn>", middle="\n", end="<end_of_turn>\n"
    )
    return tokenizer


# Architectures


@dataclass(frozen=True)
class Architecture:
    """How a tiny model of an architecture is made."""

    tokenizer: Callable[[Words], PreTrainedTokenizerBase]
    config: str
    """Class of transformers' configuration."""
    model: str
    """Class of the model as its authors published it, without another head."""
    options: dict[str, Any]
    """Arguments of the configuration, sizes included."""
    positions: int = 0
    """Positions before the first one of a text."""


# The sizes by the names of most configurations, and those of other architectures, with
# their further options.
SIZES = {
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
}
_BART = {
    "d_model": WIDTH,
    "encoder_ffn_dim": INNER,
    "decoder_ffn_dim": INNER,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "forced_eos_token_id": 2,
}
_DISTILBERT = {"dim": WIDTH, "hidden_dim": INNER, "n_layers": LAYERS, "n_heads": HEADS}
_DEBERTA = {
    **SIZES,
    "relative_attention": True,
    "position_buckets": 256,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "max_relative_positions": -1,
    "position_biased_input": False,
    "pooler_hidden_size": WIDTH,
    "pooler_hidden_act": "gelu",
    "type_vocab_size": 0,
}
_GROUPED = {**SIZES, "num_key_value_heads": 1, "head_dim": WIDTH // HEADS}
_LAYER_TYPES = ["sliding_attention", "full_attention"]
_VISION = {**SIZES, "image_size": 28, "patch_size": 14}
_SEGMENTS = {**SIZES, "type_vocab_size": 1, "bos_token_id": 0, "eos_token_id": 2}
ARCHITECTURES: dict[str, Architecture] = {
    "albert": Architecture(
        _albert, "AlbertConfig", "AlbertForMaskedLM", {**SIZES, "embedding_size": 8}
    ),
    "bart": Architecture(
        partial(_roberta, kind="BartTokenizer"), "BartConfig", "BartModel", _BART
    ),
    "bert": Architecture(_bert, "BertConfig", "BertForPreTraining", SIZES),
    "bert-cased": Architecture(
        partial(_bert, lower=False), "BertConfig", "BertForPreTraining", SIZES
    ),
    "bigbird": Architecture(
        _bigbird,
        "BigBirdConfig",
        "BigBirdForPreTraining",
        {**SIZES, "block_size": WINDOW // 4},
    ),
    "deberta-v2": Architecture(
        _deberta,
        "DebertaV2Config",
        "DebertaV2ForMaskedLM",
        {**_DEBERTA, "conv_kernel_size": 3, "conv_act": "gelu"},
    ),
    "deberta-v3": Architecture(
        _deberta, "DebertaV2Config", "DebertaV2ForMaskedLM", _DEBERTA
    ),
    "distilbert": Architecture(
        _bert, "DistilBertConfig", "DistilBertModel", _DISTILBERT
    ),
    "gemma3": Architecture(
        _gemma,
        "Gemma3Config",
        "Gemma3ForConditionalGeneration",
        {**_GROUPED, "sliding_window": 1024, "layer_types": _LAYER_TYPES},
    ),
    "llama": Architecture(_llama, "LlamaConfig", "LlamaForCausalLM", _GROUPED),
    "longformer": Architecture(
        partial(_roberta, kind="LongformerTokenizer"),
        "LongformerConfig",
        "LongformerForMaskedLM",
        {**_SEGMENTS, "attention_window": [WINDOW] * LAYERS},
        positions=2,
    ),
    "modernbert": Architecture(
        _modernbert, "ModernBertConfig", "ModernBertForMaskedLM", SIZES
    ),
    "mpnet": Architecture(
        _mpnet,
        "MPNetConfig",
        "MPNetForMaskedLM",
        {**SIZES, "bos_token_id": 0, "eos_token_id": 2},
        positions=2,
    ),
    "qwen2": Architecture(_deepseek, "Qwen2Config", "Qwen2ForCausalLM", _GROUPED),
    "qwen3": Architecture(_deepseek, "Qwen3Config", "Qwen3ForCausalLM", _GROUPED),
    "roberta": Architecture(
        _roberta, "RobertaConfig", "RobertaForMaskedLM", _SEGMENTS, positions=2
    ),
}


def write(folder: Path, model: Model, words: Words) -> None:
    """Write a tiny model as one of its registered kind, which has an architecture, is
    published.
    """
    assert model.architecture is not None
    architecture = ARCHITECTURES[model.architecture]
    tokenizer = architecture.tokenizer(words)
    longest = model.max_length or 512
    tokenizer.model_max_length = longest
    config = _config(architecture, tokenizer, longest)
    set_seed(SEED)
    weights = _random(architecture, config, model)
    weights.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if model.kind == "bi-encoder":
        _write_sentence_encoder(folder, model)


def _config(
    architecture: Architecture, tokenizer: PreTrainedTokenizerBase, longest: int
) -> Any:
    """Return the configuration of a tiny model that reads ``longest`` tokens."""
    kind = getattr(transformers, architecture.config)
    shared = {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": longest + architecture.positions,
        "pad_token_id": tokenizer.pad_token_id,
    }
    for name in ("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"):
        number = getattr(tokenizer, name)
        if number is not None:
            shared[name] = number
    options = {**shared, **architecture.options}
    if architecture.config == "Gemma3Config":
        return kind(text_config=options, vision_config=_VISION, mm_tokens_per_image=4)
    return kind(**options)


def _random(architecture: Architecture, config: Any, model: Model) -> PreTrainedModel:
    """Return a model with random weights, with the head of its kind."""
    if model.kind == "bi-encoder":
        return transformers.AutoModel.from_config(config)
    if model.kind == "cross-encoder":
        config.num_labels = 1
        return transformers.AutoModelForSequenceClassification.from_config(config)
    if model.labels:
        config.id2label = dict(enumerate(NLI_LABELS[: model.labels]))
        config.label2id = {name: number for number, name in config.id2label.items()}
        return transformers.AutoModelForSequenceClassification.from_config(config)
    return getattr(transformers, architecture.model)(config)


_ST = "sentence_transformers.models"  # package of the modules


def _write_sentence_encoder(folder: Path, model: Model) -> None:
    """Write the files of sentence-transformers beside the weights of a bi-encoder.

    Distilled dual encoders of MS MARCO compare the first token's vectors by inner
    products.
    """
    first_token = model.architecture == "distilbert"
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    if not first_token:
        modules.append(("2_Normalize", "Normalize"))
    listed = []
    for number, (path, kind) in enumerate(modules):
        about = {"idx": number, "name": str(number), "path": path}
        listed.append({**about, "type": f"{_ST}.{kind}"})
    pooling = {
        "word_embedding_dimension": WIDTH,
        "pooling_mode_cls_token": first_token,
        "pooling_mode_mean_tokens": not first_token,
    }
    length = {"max_seq_length": model.max_length or 512, "do_lower_case": False}
    similarity = {"similarity_fn_name": "dot" if first_token else "cosine"}
    files = {
        "modules.json": listed,
        "sentence_bert_config.json": length,
        "1_Pooling/config.json": pooling,
        "config_sentence_transformers.json": similarity,
    }
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        write_text(file, json.dumps(content, indent=2) + "\n")


# Fine-tuned models as their authors released them


def write_released(folder: str | Path, target: str | Path) -> None:
    """Write the tiny model in ``folder`` as a zip of a fine-tuned span model.

    As in CUAD's release, the model is in a folder of the zip's name, its weights are a
    pickle of PyTorch, and other pickles lie beside it.
    """
    source = Path(folder)
    path = Path(target)
    set_seed(SEED)
    with quiet():
        model = transformers.AutoModelForQuestionAnswering.from_pretrained(
            source, trust_remote_code=False
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    inner = path.stem
    with zipfile.ZipFile(path, "w") as archive:
        model.config.architectures = [type(model).__name__]
        archive.writestr(_entry(f"{inner}/config.json"), model.config.to_json_string())
        with archive.open(_entry(f"{inner}/pytorch_model.bin"), "w") as file:
            torch.save(model.state_dict(), file)
        archive.writestr(_entry(f"{inner}/training_args.bin"), b"not read")
        for name in ("tokenizer.json", "tokenizer_config.json"):
            archive.writestr(_entry(f"{inner}/{name}"), (source / name).read_bytes())


def _entry(name: str) -> zipfile.ZipInfo:
    """Return a member of a zip with a fixed date, so that the bytes are always the
    same.
    """
    return zipfile.ZipInfo(name, (2021, 3, 1, 0, 0, 0))


if __name__ == "__main__":
    make(*sys.argv[1:])
