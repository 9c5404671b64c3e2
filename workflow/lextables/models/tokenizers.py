"""Loads the tokenizer of a model folder, without the modules of models, which are slow
to import.
"""

import json
from pathlib import Path
from typing import Any

from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, models, normalizers
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from lextables.pipeline.errors import loading_weights


@loading_weights()
def load_tokenizer(folder: str | Path) -> PreTrainedTokenizerBase:
    """Return the tokenizer in ``folder``.

    transformers 5 builds DeBERTa's tokenizers (v2 and v3) without the character map of
    their SentencePiece model, so a non-breaking space, a ligature or a trade mark sign
    becomes unknown.  transformers 4, which trained the papers' models, uses the map.
    It is restored here: with tokenizer.json's normalizer, which has it (`Precompiled`),
    or from the SentencePiece model.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None or not isinstance(fast.model, models.Unigram):
        return tokenizer
    file = Path(folder) / "tokenizer.json"
    if file.is_file():
        fast.normalizer = Tokenizer.from_file(str(file)).normalizer
    elif not _has_character_map(fast):
        for path in sorted(Path(folder).glob("*.model")):
            _add_character_map(fast, path)
    return tokenizer


def _has_character_map(tokenizer: Tokenizer) -> bool:
    """Whether the normalizer of a tokenizer has the map of a SentencePiece model."""
    settings = json.loads(tokenizer.to_str())["normalizer"]
    return '"Precompiled"' in json.dumps(settings)


def _add_character_map(tokenizer: Tokenizer, path: Path) -> None:
    """Put the map of the SentencePiece model at ``path``, if any, before the other
    steps of a normalizer.
    """
    # The module's classes are made when it is imported: no types for mypy.
    classes: Any = sentencepiece_model_pb2
    model = classes.ModelProto()
    model.ParseFromString(path.read_bytes())
    character_map = model.normalizer_spec.precompiled_charsmap
    if not character_map:
        return
    steps = [normalizers.Precompiled(character_map)]
    if tokenizer.normalizer is not None:
        steps.append(tokenizer.normalizer)
    tokenizer.normalizer = normalizers.Sequence(steps)
