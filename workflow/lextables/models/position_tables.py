"""The tables of learned positions of transformers' models."""

from copy import deepcopy

import torch
from transformers import AutoModel, PretrainedConfig, PreTrainedModel

# Names of the tables in transformers' models.
POSITION_TABLES = ("position_embeddings", "embed_positions", "wpe")


def positions_of_model(config: PretrainedConfig) -> int | None:
    """Return `learned_positions` of the model of a configuration, without its
    weights.
    """
    with torch.device("meta"):
        model = AutoModel.from_config(deepcopy(config), trust_remote_code=False)
    return learned_positions(model)


def learned_positions(model: PreTrainedModel) -> int | None:
    """Return the number of tokens that a model's table of positions has vectors for;
    None without a table.

    A longer text is an error there.  Models with relative or rotary positions have no
    table.  Positions start after that of the padding token, where the table has one
    (RoBERTa).
    """
    counts = []
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in POSITION_TABLES and isinstance(
            module, torch.nn.Embedding
        ):
            before = 0 if module.padding_idx is None else module.padding_idx + 1
            counts.append(module.num_embeddings - before)
    if not counts:
        return None
    # Some tables have more vectors than the model uses (BART).
    configured = getattr(model.config, "max_position_embeddings", None)
    return min([*counts, configured or counts[0]])
