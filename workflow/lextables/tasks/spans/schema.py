"""What span extraction predicts: the n-best spans of each question."""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

# What the release writes where a question has the empty prediction and nothing else; its logits are 0.
NOTHING_ELSE = "empty"

NBEST = Table(
    "predictions",
    "The likeliest spans for each question, the empty prediction among them, one for each released text.",
    (
        Column("question_id", pa.string(), "the question"),
        Column("rank", pa.int32(), "place by score, 0 first"),
        Column(
            "released_text",
            pa.string(),
            "the span as the released code writes it, often in whole words, white space as single blanks: "
            "what paper mode scores; nothing for the empty prediction, and the word empty, without a slice, "
            "where the question has nothing else",
        ),
        Column(
            "text", pa.string(), "the contract from the span's first token to its last, as strict mode has it"
        ),
        Column("start", pa.int32(), "first character of the slice; -1 for the empty prediction"),
        Column("end", pa.int32(), "character after the slice; -1 for the empty prediction"),
        Column("probability", pa.float64(), "softmax of start_logit + end_logit over the question's rows"),
        Column("start_logit", pa.float64(), "logit of the first token, or of the classification token"),
        Column("end_logit", pa.float64(), "logit of the last token, or of the classification token"),
    ),
    key=("question_id", "rank"),
)
