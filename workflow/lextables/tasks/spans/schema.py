"""The table of predicted spans."""

import pyarrow as pa

from lextables.pipeline.dataset import (
    Column,
    Table,
)

# Written by the release if a question has only the empty prediction; its logits are 0.
NOTHING_ELSE = "empty"

NBEST = Table(
    "predictions",
    "The most probable spans of each question and the empty prediction, one for each released text.",
    (
        Column("question_id", pa.string(), "the question"),
        Column("rank", pa.int32(), "rank by score, from 0"),
        Column(
            "released_text",
            pa.string(),
            "the span as the released code writes it, often whole words, with single blanks; scored in paper "
            "mode; empty for the empty prediction, and the word empty, without a slice, if the question has "
            "no other prediction",
        ),
        Column(
            "text",
            pa.string(),
            "the contract from the span's first to its last token; scored in strict mode",
        ),
        Column(
            "start",
            pa.int32(),
            "first character of the slice; -1 for the empty prediction",
        ),
        Column(
            "end", pa.int32(), "character after the slice; -1 for the empty prediction"
        ),
        Column(
            "probability",
            pa.float64(),
            "softmax of start_logit + end_logit over the question's rows",
        ),
        Column(
            "start_logit",
            pa.float64(),
            "logit of the first token, or of the classification token",
        ),
        Column(
            "end_logit",
            pa.float64(),
            "logit of the last token, or of the classification token",
        ),
    ),
    key=("question_id", "rank"),
)
