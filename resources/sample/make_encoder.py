"""Make the encoder of the sample: ``python resources/sample/make_encoder.py``.

It writes ``models/sample-encoder/``: a BERT of two layers, 32 wide, laid out as
sentence-transformers does a sentence encoder (mean of the tokens, unit length), with a
WordPiece vocabulary of the words that are most frequent in the sample's texts.  Its
weights are drawn and never trained.  The bytes depend on those texts and this file
alone.
"""

import argparse
import hashlib
import json
import random
import tomllib
from collections import Counter
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

HERE = Path(__file__).resolve().parent
TEXTS = (
    "acord/queries",
    "acord/clauses",
    "cuad/categories",
    "cuad/contracts",
    "maud/deal_points",
)
TEXTS += ("caselaw/opinions",)
SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
VOCABULARY, WIDTH, INNER, LAYERS, POSITIONS = 2000, 32, 64, 2, 512
# A number that is drawn is an integer from -128 to 127 over this, so that the spread is
# BERT's 0.02.  What all texts share has a tenth of it, or all mean vectors would be
# alike.
SCALE = 4096
SHARED = (
    "embeddings.position_embeddings.weight",
    "embeddings.token_type_embeddings.weight",
)
SEED = 0


def strings(value: Any) -> Iterator[str]:
    """All strings in what a TOML file holds, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def vocabulary(texts: list[str]) -> list[str]:
    """The special tokens, each character as a word's first and as one within, and the
    most frequent words.
    """
    normalise = normalizers.BertNormalizer().normalize_str
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    words: Counter[str] = Counter()
    for text in texts:
        words.update(word for word, _ in split(normalise(text)))
    characters = sorted(set("".join(words)))
    within = [f"##{character}" for character in characters]
    pieces = [*SPECIAL.values(), *characters, *within]
    whole = sorted(words.keys() - set(pieces), key=lambda word: (-words[word], word))
    return [*pieces, *whole[: VOCABULARY - len(pieces)]]


def tokenizer(texts: list[str]) -> Tokenizer:
    ids = {piece: number for number, piece in enumerate(vocabulary(texts))}
    made = Tokenizer(models.WordPiece(ids, unk_token=SPECIAL["unk_token"]))
    made.normalizer, made.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    made.decoder = decoders.WordPiece()
    made.add_special_tokens([*SPECIAL.values()])
    made.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]",
        "[CLS] $A [SEP] $B:1 [SEP]:1",
        [(name, ids[name]) for name in ("[CLS]", "[SEP]")],
    )
    return made


def shapes(words: int) -> dict[str, tuple[int, ...]]:
    """The tensors of the model, named as transformers names them."""

    def linear(name: str, out: int, into: int) -> dict[str, tuple[int, ...]]:
        return {f"{name}.weight": (out, into), f"{name}.bias": (out,)}

    def norm(name: str) -> dict[str, tuple[int, ...]]:
        return {
            f"{name}.LayerNorm.weight": (WIDTH,),
            f"{name}.LayerNorm.bias": (WIDTH,),
        }

    found = {
        "embeddings.word_embeddings.weight": (words, WIDTH),
        "embeddings.position_embeddings.weight": (POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    } | norm("embeddings")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            found |= linear(f"{layer}.attention.{part}", WIDTH, WIDTH)
        found |= norm(f"{layer}.attention.output")
        found |= linear(f"{layer}.intermediate.dense", INNER, WIDTH)
        found |= linear(f"{layer}.output.dense", WIDTH, INNER) | norm(f"{layer}.output")
    return found | linear("pooler.dense", WIDTH, WIDTH)


def weights(words: int) -> dict[str, np.ndarray]:
    """The tensors, float32: normalisation does nothing yet, biases are 0, all else is
    drawn.
    """
    draw = random.Random(SEED)
    found = {}
    for name, shape in shapes(words).items():
        if name.endswith("bias") or "LayerNorm" in name:
            found[name] = np.full(
                shape, float(name.endswith("weight")), dtype=np.float32
            )
        else:
            drawn = np.frombuffer(draw.randbytes(prod(shape)), dtype=np.int8)
            values = drawn.astype(np.float32).reshape(shape) / SCALE
            if name in SHARED:
                values = values / 10
            found[name] = values
    return found


def build() -> dict[str, bytes]:
    """Return {path below the model's folder: bytes}."""
    texts = []
    for name in TEXTS:
        content = tomllib.loads((HERE / f"{name}.toml").read_text("utf-8"))
        texts += strings(content)
    words = tokenizer(texts)
    size = words.get_vocab_size()
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": size,
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "pad_token_id": 0,
    }
    reading = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "model_max_length": POSITIONS,
    }
    parts = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [
        {
            "idx": at,
            "name": str(at),
            "path": path,
            "type": f"sentence_transformers.models.{kind}",
        }
        for at, (kind, path) in enumerate(parts.items())
    ]
    pooling = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True}
    written = {
        "config.json": config,
        "tokenizer_config.json": reading | SPECIAL,
        "modules.json": modules,
        "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
        "1_Pooling/config.json": pooling,
    }
    files = {
        name: f"{json.dumps(content, indent=2)}\n".encode()
        for name, content in written.items()
    }
    files["tokenizer.json"] = words.to_str().encode()
    files["model.safetensors"] = save(weights(size), {"format": "pt"})
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the encoder of the sample.")
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=HERE / "models/sample-encoder",
        help="where to write the model",
    )
    folder = parser.parse_args().folder
    for name, made in build().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made)
        print(f"{path}: {len(made)} bytes, sha256 {hashlib.sha256(made).hexdigest()}")


if __name__ == "__main__":
    main()
