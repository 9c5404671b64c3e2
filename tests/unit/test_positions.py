"""The number of positions from a configuration equals that of the model's table."""

import subprocess
import sys

import pytest
from transformers import CONFIG_MAPPING, AutoModel, BertConfig, MPNetConfig

from lextables.models import positions
from lextables.models.position_tables import learned_positions, positions_of_model

TINY = {
    "num_hidden_layers": 1,
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_attention_heads": 1,
    "vocab_size": 12,
    "max_position_embeddings": 40,
}
SPECIAL = {
    "albert": {"embedding_size": 8},
    "bart": {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1}
    | {"encoder_attention_heads": 1, "decoder_attention_heads": 1},
    "distilbert": {"dim": 8, "n_heads": 1, "hidden_dim": 8, "n_layers": 1},
    "longformer": {"attention_window": 4},
    "llama": {"num_key_value_heads": 1},
    "qwen2": {"num_key_value_heads": 1},
    "qwen3": {"num_key_value_heads": 1},
}
LISTED = sorted(positions.FROM_ZERO | positions.AFTER_PADDING)


def tiny(kind, **changes):
    """A configuration of a type of model with 40 positions."""
    settings = {**TINY, **SPECIAL.get(kind, {}), "pad_token_id": 2, **changes}
    return CONFIG_MAPPING[kind](**settings)


@pytest.mark.parametrize("padding", [1, 2])
@pytest.mark.parametrize("kind", LISTED)
def test_positions_of_listed_types_are_those_of_their_models(kind, padding):
    config = tiny(kind, pad_token_id=padding)
    table = learned_positions(AutoModel.from_config(config))
    assert positions.positions(config) == (table or 40)
    expected = 40 - padding - 1 if kind in positions.AFTER_PADDING else 40
    assert positions.positions(config) == expected


def test_positions_of_other_types_are_those_of_their_models():
    config = MPNetConfig(**TINY)
    assert config.model_type not in LISTED
    assert positions.positions(config) == positions_of_model(config) == 38
    assert positions.positions(BertConfig(max_position_embeddings=-1)) is None


def test_listed_types_need_no_classes_of_models():
    program = (
        "import sys; from transformers import BertConfig;"
        "from lextables.models.positions import positions;"
        "print(positions(BertConfig()), 'transformers.modeling_utils' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["512", "False"]
