"""The windows that a model reads: of the training examples, of the held-out and of the test contracts."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lextables.models.loading import load_tokenizer
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.shares import held_out_contracts
from lextables.tasks.spans.windows import WindowSettings, write_features

PARTS = ("train", "validation", "test")


def window_settings(settings: Mapping[str, Any]) -> WindowSettings:
    """The part of a run's settings that says how contracts are cut."""
    return WindowSettings(
        max_length=settings["max_length"],
        step=settings["step"],
        max_question_length=settings["max_question_length"],
    )


def question_texts(questions: str | Path) -> dict[str, str]:
    """Return {category: wording of its question}; `BadInput` where a category has two wordings."""
    texts: dict[str, str] = {}
    for row in read(questions, ["question_id", "category", "question"]):
        if texts.setdefault(row["category"], row["question"]) != row["question"]:
            raise BadInput(
                f"the category {row['category']!r} is asked in two wordings",
                where=f"{Path(questions).name}, {row['question_id']}",
            )
    return texts


def write_parts(
    contracts: Path,
    questions: Path,
    examples: Path,
    settings: Mapping[str, Any],
    weights: str | Path,
    folder: Path,
    *,
    shards: int,
    processes: int,
) -> dict[str, dict[str, int]]:
    """Write the windows of each of `PARTS` to a folder of its name in ``folder``; return their counts.

    ``weights`` is a folder with the model's tokenizer; the held-out contracts are those of
    ``settings["held_out"]``.
    """
    tokenizer = load_tokenizer(weights)
    splits = {row["contract_id"]: row["split"] for row in read(contracts, ["contract_id", "split"])}
    held = sorted(held_out_contracts(splits, settings["held_out"]))
    asked = pq.read_table(questions)
    counts = {}
    with tempfile.TemporaryDirectory() as scratch:
        held_questions = Path(scratch) / questions.name
        pq.write_table(asked.filter(pc.is_in(asked["contract_id"], pa.array(held))), held_questions)
        parts = {
            "train": {"examples": examples},
            "validation": {"examples": held_questions, "labelled": False},
            "test": {"examples": questions, "labelled": False, "split": "test"},
        }
        for part in PARTS:
            record = write_features(
                contracts,
                questions=question_texts(questions),
                folder=folder / part,
                tokenizer=tokenizer,
                settings=window_settings(settings),
                tokenizer_name=f"{settings['weights']} {settings['revision'] or ''}".strip(),
                shards=shards,
                processes=processes,
                **parts[part],
            )
            counts[part] = record["counts"]
    return counts
