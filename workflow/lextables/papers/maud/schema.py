"""MAUD's data sets: examples and their texts, the questions, contracts, and checks of
them.
"""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table
from lextables.tasks.classification.schema import PUBLISHED_SETTINGS
from lextables.tasks.spans import squad

EXAMPLES = Table(
    "examples",
    "The question-answer pairs of the three csv files; their texts stand once each in `texts`.",
    (
        Column("example_id", pa.string(), "split and 1-based place in the split's csv"),
        Column(
            "split",
            pa.string(),
            "train, dev or test, as released: rows are split, not contracts",
        ),
        Column(
            "data_type",
            pa.string(),
            "main, abridged or rare (rare answers), as Table 2 names them",
        ),
        Column(
            "contract",
            pa.string(),
            "the contract; null where the release names none",
            nullable=True,
        ),
        Column("head_id", pa.string(), "the head of `questions` that answers it"),
        Column("question", pa.string(), "the deal point question"),
        Column(
            "subquestion",
            pa.string(),
            "the answer that a binary head is about",
            nullable=True,
        ),
        Column("text_type", pa.string(), "deal point type"),
        Column("category", pa.string(), "deal point category"),
        Column(
            "answer",
            pa.string(),
            "as released: of a multilabel question all its answers, by commas",
        ),
        Column("label", pa.int32(), "place in the answers of the head"),
        Column("text_id", pa.string(), "the deal point text in `texts`"),
    ),
    key=("example_id",),
    labels=("split", "data_type", "category"),
)
TEXTS = Table(
    "texts",
    "The different deal point texts of the examples.",
    (
        Column("text_id", pa.string(), "first 16 hex digits of the text's SHA-256"),
        Column("text", pa.string(), "the deal point text as released"),
        Column("words", pa.int32(), "words in the text, split at white space"),
        Column("examples", pa.int32(), "examples that have this text"),
    ),
    key=("text_id",),
    # Texts run to 30 KB.
    row_group=1024,
)
QUESTIONS = Table(
    "questions",
    "The heads: the questions, each multilabel one as one binary head an answer (Section 3).",
    (
        Column(
            "head_id",
            pa.string(),
            "number of the question, and place of the answer of a binary head",
        ),
        Column("position", pa.int32(), "0-based place among the heads"),
        Column(
            "question_number",
            pa.int32(),
            "1-based place of the question in the catalogue",
        ),
        Column("question", pa.string(), "the deal point question"),
        Column(
            "subquestion",
            pa.string(),
            "the answer that a binary head is about",
            nullable=True,
        ),
        Column("category", pa.string(), "deal point category"),
        Column("text_type", pa.string(), "deal point type"),
        Column("answers", pa.list_(pa.string()), "the answers in the order of labels"),
        Column(
            "multilabel",
            pa.bool_(),
            "whether the question may have several answers at once",
        ),
        Column(
            "author_number",
            pa.string(),
            "the number of the head in the released result files",
        ),
    ),
    key=("head_id",),
    labels=("category", "multilabel"),
)
CONTRACTS = Table(
    "contracts",
    "The merger agreements, in order of contract id.",
    (
        Column("contract_id", pa.string(), "the release's name of the contract"),
        Column("examples", pa.int32(), "examples whose text is from this contract"),
        Column(
            "text",
            pa.string(),
            "the agreement; null where the source has no text of it",
            nullable=True,
        ),
    ),
    key=("contract_id",),
    row_group=16,
)
HYPERPARAMETERS = Table(
    "hyperparameters",
    "The settings that the authors found best on the dev split, by model, share of the data and head.",
    (
        Column("model", pa.string(), "hub name of the model"),
        Column("share", pa.float64(), "share of the training data, 1 for all"),
        Column("head_id", pa.string(), "the head"),
        Column("learning_rate", pa.float64(), "best learning rate"),
        Column("updates", pa.int32(), "best number of updates"),
        Column(
            "validation_aupr",
            pa.float64(),
            "the authors' mean AUPR on the dev split, as a share of one",
        ),
    ),
    key=("model", "share", "head_id"),
    labels=("model", "share"),
)
MULTI_TASK_GRID = Table(
    "multi_task_grid",
    "The authors' search over multi-task settings: overall AUPR on the dev split.",
    (
        Column("model", pa.string(), "hub name of the model"),
        Column(
            "abridged", pa.bool_(), "whether it was trained on the abridged data too"
        ),
        Column("learning_rate", pa.float64(), "learning rate"),
        Column("epochs", pa.int32(), "epochs"),
        Column(
            "validation_aupr",
            pa.float64(),
            "mean AUPR over the questions, as a share of one",
        ),
        Column("chosen", pa.bool_(), "whether the authors mark it as the model's best"),
    ),
    key=("model", "abridged", "learning_rate", "epochs"),
    labels=("model", "abridged"),
)
ANSWER_COUNTS = Table(
    "answer_counts",
    "How many examples have each answer of each head, by split and data type.",
    (
        Column("head_id", pa.string(), "the head"),
        Column("split", pa.string(), "train, dev or test"),
        Column("label", pa.int32(), "place in the answers of the head"),
        Column(
            "answer", pa.string(), "the answer; <OTHER> is any but a binary head's own"
        ),
        Column("main", pa.int32(), "examples of the main data"),
        Column("abridged", pa.int32(), "examples of the abridged data"),
        Column("rare", pa.int32(), "examples of the rare answers data"),
    ),
    key=("head_id", "split", "label"),
)
SPLIT_OVERLAP = Table(
    "split_overlap",
    "The contracts and the texts that stand in more than one split, with their examples in each.",
    (
        Column("kind", pa.string(), "contract or text"),
        Column("key", pa.string(), "contract or text id"),
        Column("train", pa.int32(), "examples in train"),
        Column("dev", pa.int32(), "examples in dev"),
        Column("test", pa.int32(), "examples in test"),
        Column(
            "heads",
            pa.int32(),
            "heads whose own examples have it in more than one split",
        ),
    ),
    key=("kind", "key"),
    labels=("kind",),
)
CONSTRAINT_VIOLATIONS = Table(
    "constraint_violations",
    "The examples that break an output constraint of Appendix A.3.",
    (
        Column("example_id", pa.string(), "the example"),
        Column("constraint", pa.string(), "none of the above, or conditional question"),
        Column(
            "contract",
            pa.string(),
            "the contract; null where the release names none",
            nullable=True,
        ),
        Column(
            "question",
            pa.string(),
            "the question that is answered against the constraint",
        ),
        Column("answer", pa.string(), "its answer"),
        Column("needs", pa.string(), "the question that it depends on", nullable=True),
        Column(
            "found",
            pa.string(),
            "that question's answer for this contract",
            nullable=True,
        ),
    ),
    key=("example_id", "constraint"),
    labels=("constraint",),
)
ANSWERED = (
    EXAMPLES,
    TEXTS,
    QUESTIONS,
    CONTRACTS,
    HYPERPARAMETERS,
    MULTI_TASK_GRID,
    ANSWER_COUNTS,
    SPLIT_OVERLAP,
    CONSTRAINT_VIOLATIONS,
    PUBLISHED_SETTINGS,
)

EXTRACTION_CONTRACTS = Table(
    "contracts",
    "The contracts of the extraction task (Appendix A.14), in order of contract id.",
    (
        Column("contract_id", pa.string(), "the release's name of the contract"),
        Column(
            "split",
            pa.string(),
            "train, dev or test; contracts are split here, 80-10-10",
        ),
        Column("text", pa.string(), "the agreement as the spans count it"),
    ),
    key=("contract_id",),
    labels=("split",),
    row_group=16,
)
EXTRACTED = (EXTRACTION_CONTRACTS, squad.QUESTIONS, squad.ANSWERS, squad.EXAMPLES)
TABLES = {"maud": ANSWERED, "maud_extraction": EXTRACTED}
