"""The tables of the public NLI data sets, in the form of the classification task."""

from dataclasses import replace

import pyarrow as pa

from lextables.pipeline.dataset import Column
from lextables.tasks.classification.schema import EXAMPLES, HEADS, TEXTS

_EXAMPLE, _SPLIT, _HEAD, _TEXT, _LABEL = EXAMPLES.columns

PAIRS = replace(
    EXAMPLES,
    description="Premises and hypotheses; a pair that is repeated in training stands that many times.",
    columns=(
        replace(
            _EXAMPLE,
            description="`<part>-<line, item or pair of the published file>`, `.<repeat>`",
        ),
        _SPLIT,
        _HEAD,
        replace(_TEXT, description="the premise"),
        Column("pair_id", pa.string(), "the hypothesis, a text too"),
        _LABEL,
    ),
    labels=("split", "label"),
)
PAIR_TEXTS = replace(
    TEXTS,
    description="The different premises and hypotheses; one that is both stands once.",
    columns=(
        replace(
            TEXTS.columns[0], description="first 16 hex digits of the text's SHA-256"
        ),
        TEXTS.columns[1],
        Column(
            "tokens",
            pa.int32(),
            "its RoBERTa tokens, the two special tokens among them",
        ),
    ),
)
TABLES = dict.fromkeys(
    ("anli", "contractnli", "control", "docnli"), (PAIRS, HEADS, PAIR_TEXTS)
)
