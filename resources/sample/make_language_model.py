"""Make the language model of the sample: ``python
resources/sample/make_language_model.py``.

It writes ``models/sample-language-model/``: a Llama of two layers, 32 wide, that reads
and writes bytes and the words that are most frequent in the sample's texts, in turns of
a conversation.  Its weights are drawn and never trained.  The bytes depend on those
texts and this file alone.
"""

import argparse
import hashlib
import json
import random
import re
import tomllib
from collections import Counter
from math import prod
from pathlib import Path

import numpy as np
from safetensors.numpy import save
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from make_encoder import HERE, TEXTS, strings

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WORDS, WIDTH, INNER, LAYERS, HEADS, POSITIONS = 300, 32, 64, 2, 2, 32768
# A number that is drawn is an integer from -128 to 127 over this: answers differ, as
# they would not with less.
SCALE = 256
SEED = 0
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def merges(texts: list[str]) -> list[tuple[str, str]]:
    """The pairs that make the most frequent words, each from its first letter on; a
    word has its blank.
    """
    words: Counter[str] = Counter()
    for text in texts:
        words.update(re.findall(r" [a-z]+", text))
    frequent = sorted(words, key=lambda word: (-words[word], word))[:WORDS]
    pairs = {}
    for word in frequent:
        spelled = word.replace(" ", "Ġ")  # as byte pairs write the blank
        for end in range(1, len(spelled)):
            pairs[spelled[:end], spelled[end]] = None
    return list(pairs)


def tokenizer(texts: list[str]) -> Tokenizer:
    pairs = merges(texts)
    pieces = [
        *SPECIAL,
        *sorted(pre_tokenizers.ByteLevel.alphabet()),
        *map("".join, pairs),
    ]
    made = Tokenizer(
        models.BPE({piece: number for number, piece in enumerate(pieces)}, pairs)
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL])
    return made


def shapes(words: int) -> dict[str, tuple[int, ...]]:
    """The tensors of the model, named as transformers names them; the output is the
    embeddings again.
    """
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (words, WIDTH)}
    for number in range(LAYERS):
        layer = f"model.layers.{number}"
        for part in "qkvo":
            found[f"{layer}.self_attn.{part}_proj.weight"] = (WIDTH, WIDTH)
        for part, shape in {
            "gate": (INNER, WIDTH),
            "up": (INNER, WIDTH),
            "down": (WIDTH, INNER),
        }.items():
            found[f"{layer}.mlp.{part}_proj.weight"] = shape
        for part in ("input_layernorm", "post_attention_layernorm"):
            found[f"{layer}.{part}.weight"] = (WIDTH,)
    return found | {"model.norm.weight": (WIDTH,)}


def weights(words: int) -> dict[str, np.ndarray]:
    """The tensors, float16: normalisation does nothing yet, all else is drawn."""
    draw = random.Random(SEED)
    found = {}
    for name, shape in shapes(words).items():
        if "norm" in name:
            found[name] = np.ones(shape, dtype=np.float16)
        else:
            drawn = np.frombuffer(draw.randbytes(prod(shape)), dtype=np.int8)
            values = drawn.astype(np.float32) / SCALE
            found[name] = values.astype(np.float16).reshape(shape)
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
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": size,
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "max_position_embeddings": POSITIONS,
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "dtype": "float16",
    }
    reading = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": SPECIAL[0],
        "eos_token": SPECIAL[2],
        "pad_token": SPECIAL[0],
        "clean_up_tokenization_spaces": False,
        "model_max_length": POSITIONS,
        "chat_template": TEMPLATE,
    }
    written = {"config.json": config, "tokenizer_config.json": reading}
    files = {
        name: f"{json.dumps(content, indent=2)}\n".encode()
        for name, content in written.items()
    }
    files["tokenizer.json"] = words.to_str().encode()
    files["model.safetensors"] = save(weights(size), {"format": "pt"})
    return files


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Make the language model of the sample."
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=HERE / "models/sample-language-model",
        help="where to write the model",
    )
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in build().items():
        (folder / name).write_bytes(made)
        print(
            f"{folder / name}: {len(made)} bytes, sha256 {hashlib.sha256(made).hexdigest()}"
        )


if __name__ == "__main__":
    main()
