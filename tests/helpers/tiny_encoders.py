"""Encoders of several families with random weights and a small vocabulary, and their
common tokenizer.
"""

from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModel,
    BertConfig,
    BigBirdConfig,
    DebertaV2Config,
    ModernBertConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
    set_seed,
)

WORDS = "the company shall not close sell buy stock cash merger effect material adverse would could".split()
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
IDS = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
SMALL = {
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 2,
    "vocab_size": 40,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
CONFIGS = {
    "bert": BertConfig(**SMALL, max_position_embeddings=64),
    "roberta": RobertaConfig(**SMALL, max_position_embeddings=66, type_vocab_size=1),
    "deberta": DebertaV2Config(
        **SMALL,
        max_position_embeddings=64,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        pooler_hidden_size=32,
    ),
    "bigbird": BigBirdConfig(
        **SMALL | {"num_attention_heads": 1},
        max_position_embeddings=4096,
        block_size=2,
        num_random_blocks=1,
    ),
    "modernbert": ModernBertConfig(
        **SMALL,
        max_position_embeddings=4096,
        cls_token_id=0,
        sep_token_id=2,
        local_attention=8,
    ),
}


def save(root: Path, *families: str) -> dict[str, str]:
    """Write an encoder of each family (default: all); return {family: folder}."""
    words = Tokenizer(models.WordLevel(IDS, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="<unk>",
        pad_token="<pad>",
        cls_token="<s>",
        sep_token="</s>",
    )
    families = families or tuple(CONFIGS)
    for family in families:
        set_seed(0)
        AutoModel.from_config(CONFIGS[family]).save_pretrained(root / family)
        tokenizer.save_pretrained(root / family)
    return {family: str(root / family) for family in families}
