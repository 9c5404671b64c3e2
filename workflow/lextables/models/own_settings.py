"""A sentence encoder's own settings, which hold for its rows: similarity, prompts,
maximum length.

Sentence-transformers applies the others (routes, pooling, normalisation) when it
encodes.
"""

import logging

import numpy as np
from scipy.spatial.distance import cdist
from sentence_transformers import SentenceTransformer
from transformers import PreTrainedModel

from lextables.models.position_tables import learned_positions
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import note_once

# Similarity functions by sentence-transformers' names.
COSINE = "cosine"
DOT = "dot"
# Those that are inner products, of unit vectors for the cosine.
PRODUCTS = (COSINE, DOT)
# Names that models give their prompts for queries and for documents; the first that a
# model has is used.
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}
# Those that are negative distances, with scipy's names.
DISTANCES = {"euclidean": "euclidean", "manhattan": "cityblock"}
_log = logging.getLogger("lextables")


def check_similarity_is_product(similarity: str, *allowed: str) -> None:
    """Raise `BadInput` if a model's ``similarity`` function is not in ``allowed``
    (default: `PRODUCTS`).
    """
    allowed = allowed or PRODUCTS
    if similarity not in allowed:
        raise BadInput(
            f"the encoder compares texts by {similarity}, and this step needs "
            f"{' or '.join(allowed)}",
            where="models",
            do="use another encoder for it",
        )


def prompt_name(model: SentenceTransformer, part: str) -> str | None:
    """Return the name of the model's prompt for a ``part`` (`PROMPTS`); None if it has
    none.

    The library adds an empty prompt `document` to a model, which would hide the model's
    own `passage`.
    """
    return next((name for name in PROMPTS[part] if model.prompts.get(name)), None)


def closeness(query: np.ndarray, parts: np.ndarray, similarity: str) -> np.ndarray:
    """Return the negative distance of a query's vector (d) to each part (parts, d),
    float64 (parts,).

    ``similarity`` is in `DISTANCES`.  Each distance is computed separately, so equal
    vectors have equal ones.
    """
    return -cdist(query[np.newaxis], parts, DISTANCES[similarity])[0]


def set_length(model: SentenceTransformer, max_length: int | None) -> None:
    """Let the model truncate texts to ``max_length`` tokens, or else to its own number
    (`max_seq_length`).

    A model cannot read more tokens than it has positions for: a larger number is
    lowered with a note in the log and in the run's record.  Raises `BadInput` for a
    number that leaves no token of a text, or is none.
    """
    if max_length is not None:
        model.max_seq_length = max_length
    body = next(
        (module for module in model.modules() if isinstance(module, PreTrainedModel)),
        None,
    )
    if body is None:
        return  # a model of word vectors reads texts of any length
    length = model.max_seq_length
    special = model.tokenizer.num_special_tokens_to_add()
    if length is not None and (type(length) is not int or length <= special):
        raise BadInput(
            f"its maximum length (max_seq_length) is {length!r}",
            do=f"write a whole number of tokens above {special} in the model's configuration",
        )
    most = learned_positions(body)
    if most is None or (length is not None and length <= most):
        return
    model.max_seq_length = most
    length_text = "no maximum length"
    if length is not None:
        length_text = f"a maximum length of {length:,} tokens"
    note = (
        f"texts are cut at {most:,} tokens: the model has positions for no more, "
        f"and {length_text}"
    )
    _log.warning("%s", note)
    note_once(note)
