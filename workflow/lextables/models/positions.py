"""How many tokens a transformer has positions for, from its configuration.

The classes of transformers' models take seconds to import, so they are only imported
for types of models that are not listed here.
"""

from transformers import PretrainedConfig

# Types of models whose positions start at 0, or that have no table of positions.
FROM_ZERO = frozenset(
    {
        *("albert", "bart", "bert", "big_bird", "deberta", "deberta-v2"),
        *("distilbert", "electra", "llama", "modernbert", "qwen2", "qwen3"),
    }
)
# Types whose positions start after that of the padding token.
AFTER_PADDING = frozenset({"camembert", "longformer", "roberta", "xlm-roberta"})


def positions(config: PretrainedConfig) -> int | None:
    """Return the maximum number of tokens that a model was made for; None for no
    limit.
    """
    count = getattr(config, "max_position_embeddings", None)
    if not count or count < 0:
        return None
    if config.model_type in FROM_ZERO:
        return count
    if config.model_type in AFTER_PADDING and config.pad_token_id is not None:
        return count - config.pad_token_id - 1
    from lextables.models.position_tables import positions_of_model

    return positions_of_model(config) or count
