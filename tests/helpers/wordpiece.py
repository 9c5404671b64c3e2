"""A WordPiece tokenizer with a few words and the special tokens of BERT."""

from collections.abc import Sequence

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def wordpiece(
    words: Sequence[str], *, lowercase: bool = False
) -> PreTrainedTokenizerFast:
    """Return the tokenizer whose vocabulary is the special tokens and ``words``, in
    order.
    """
    ids = {word: index for index, word in enumerate([*SPECIAL.values(), *words])}
    backend = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    if lowercase:
        backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.BertProcessing(
        ("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"])
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **SPECIAL,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
