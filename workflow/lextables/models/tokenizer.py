"""Loads a model's tokenizer with all that its files say of how text is normalised."""

from pathlib import Path

from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, models, normalizers
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from lextables.pipeline.errors import loading_weights


@loading_weights()
def load_tokenizer(folder: str | Path) -> PreTrainedTokenizerBase:
    """Return the tokenizer in ``folder``.

    transformers 5 makes DeBERTa's (v2 and v3) without the map of characters that its SentencePiece model
    holds, so that a non-breaking space, a ligature or a trade mark sign is unknown to it; transformers 4,
    with which the papers' models were trained, has the map.  Here it is put back: from tokenizer.json, or
    from the SentencePiece model itself.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None or not isinstance(fast.model, models.Unigram):
        return tokenizer
    written = Path(folder) / "tokenizer.json"
    if written.is_file():
        fast.normalizer = Tokenizer.from_file(str(written)).normalizer
    elif fast.normalizer is None or b'"Precompiled"' not in fast.normalizer.__getstate__():
        for path in sorted(Path(folder).glob("*.model")):
            content = sentencepiece_model_pb2.ModelProto()
            content.ParseFromString(path.read_bytes())
            if content.normalizer_spec.precompiled_charsmap:
                characters = normalizers.Precompiled(content.normalizer_spec.precompiled_charsmap)
                after = [fast.normalizer] if fast.normalizer is not None else []
                fast.normalizer = normalizers.Sequence([characters, *after])
    return tokenizer
