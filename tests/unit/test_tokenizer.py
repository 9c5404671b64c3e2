"""A tokenizer is loaded with the map of characters that its SentencePiece model holds."""

import pytest
import sentencepiece
from transformers import DebertaV2Tokenizer

from lextables.models.loading import load_tokenizer
from tokenizer_kinds import roberta

TEXT = "the law of delaware governs this agreement and the services " * 40
SPECIAL = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder as DeBERTa's on the hub: a SentencePiece model and no tokenizer.json."""
    folder = tmp_path_factory.mktemp("deberta")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([TEXT]),
        model_prefix=str(folder / "spm"),
        vocab_size=28,
        minloglevel=2,
        num_threads=1,
        **{f"{name}_id": at for at, name in enumerate(SPECIAL)},
        **{f"{name}_piece": piece for name, piece in SPECIAL.items()},
    )
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "DebertaV2Tokenizer"}')
    return folder


# What transformers 4 makes of them: the words as if written plainly.
SAME = [("of\u00a0delaware", "of delaware"), ("ｌａｗ", "law"), ("aﬃ", "affi"), ("the\u2028law", "the law")]


@pytest.mark.parametrize(("text", "plain"), SAME)
def test_characters_are_mapped_as_the_model_says(text, plain, folder, tmp_path):
    tokenizer = load_tokenizer(folder)
    assert isinstance(tokenizer, DebertaV2Tokenizer)
    assert tokenizer.tokenize(text) == tokenizer.tokenize(plain)
    tokenizer.save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.model"))
    again = load_tokenizer(tmp_path)
    assert again.tokenize(text) == tokenizer.tokenize(plain)
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()


def test_other_tokenizers_are_left_as_they_are(tmp_path):
    roberta().save_pretrained(tmp_path)
    assert load_tokenizer(tmp_path).backend_tokenizer.normalizer is None
