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
    elif '"Precompiled"' not in json.dumps(json.loads(fast.to_str())["normalizer"]):
        for path in sorted(Path(folder).glob("*.model")):
            # Its classes are made when the module is imported: no types for mypy.
            classes: Any = sentencepiece_model_pb2
            content = classes.ModelProto()
            content.ParseFromString(path.read_bytes())
            if content.normalizer_spec.precompiled_charsmap:
                characters = normalizers.Precompiled(
                    content.normalizer_spec.precompiled_charsmap
                )
                after = [fast.normalizer] if fast.normalizer is not None else []
                fast.normalizer = normalizers.Sequence([characters, *after])
    return tokenizer
