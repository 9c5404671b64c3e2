"""One run of span extraction: choose a point of the grid, train, read contracts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lextables.atomic import write_text
from lextables.dataset import Row, read, write
from lextables.errors import BadInput
from lextables.metrics import spans
from lextables.models import span_extraction, window_ranking
from lextables.models.checkpoints import work_folder
from lextables.models.contract_shares import held_out, part
from lextables.models.span_windows import (
    Collator,
    WindowDataset,
    Windows,
    WindowSettings,
    balanced,
    empty_weight,
    open_windows,
)
from lextables.models.tokenizer import load_tokenizer
from lextables.models.weights import weights_folder

Settings = Mapping[str, Any]
TEST = "test"
READ_AT_ONCE = 32  # windows


def window_settings(settings: Settings) -> WindowSettings:
    """The part of a run's settings that says how contracts are cut."""
    return WindowSettings(
        max_length=settings["max_length"],
        step=settings["step"],
        max_question_length=settings["max_question_length"],
    )


def held_out_contracts(splits: Mapping[str, str], share: float | str) -> frozenset[str]:
    """The contracts on which a grid is searched: those of split ``share``, or that share of those in train.

    ``splits`` maps a contract to its split.
    """
    if isinstance(share, str):
        return frozenset(name for name, split in splits.items() if split == share)
    return held_out((name for name, split in splits.items() if split != TEST), share)


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


@dataclass(frozen=True)
class Task:
    """The data sets of a task and the windows of one model: files and folders.

    ``read`` are the windows of the contracts to read: the held-out ones of a search, else the test's.
    """

    contracts: Path
    questions: Path
    train: Path
    read: Path

    def texts(self) -> dict[str, str]:
        """Return {contract: text}."""
        return {row["contract_id"]: row["text"] for row in read(self.contracts, ["contract_id", "text"])}

    def splits(self) -> dict[str, str]:
        """Return {contract: split}."""
        return {row["contract_id"]: row["split"] for row in read(self.contracts, ["contract_id", "split"])}


def chosen_point(
    settings: Settings, searched: Sequence[str | Path], asked: Sequence[Row], answers: Iterable[Row]
) -> tuple[dict[str, Any], list[float]]:
    """Return the point of the grid with the best area on the held-out contracts, and the area of each.

    ``searched`` are the predictions of one search a point, in the order of the points; ``asked`` are the
    questions of the held-out contracts.  The settings' ``relaxed`` and ``tail`` are those of the task's
    scorer.  Of equals the first wins.  A grid of one point needs no search.
    """
    points = settings["points"]
    if not searched:
        (only,) = points
        return dict(only), []
    gold = spans.gold(asked, answers)
    areas = [_area(path, gold, settings["relaxed"], settings["tail"]) for path in searched]
    return dict(points[int(np.argmax(areas))]), areas


def _area(path: str | Path, gold: spans.Gold, relaxed: str | None, tail: Sequence[float]) -> float:
    nbest = spans.nbest_rows(read(path))
    spans.check_questions(nbest, gold)
    matches = spans.paper_matches(nbest, gold, relaxed)
    return float(spans.aupr(spans.overall_counts(matches, gold, spans.sweep(tail)).curve())[0])


def training_rows(
    windows: Windows, splits: Mapping[str, str], settings: Settings, seed: int, search: bool
) -> tuple[np.ndarray, float | None]:
    """Return the indices of the windows to train on, and the weight of an empty one (None: as any other).

    A search leaves the held-out contracts out.  Below 100 per cent, only so many of the contracts stay.
    Balanced by a seeded sample of the empty windows, as the released code does, or by their weight, as
    Section 4.1 says.
    """
    contracts = set(windows.contracts)
    if search:
        contracts -= held_out_contracts(splits, settings["held_out"])
    if settings["percent"] < 100:
        contracts = part(contracts, settings["percent"], seed)
    keep = np.isin(windows.contract, [i for i, name in enumerate(windows.contracts) if name in contracts])
    rows = np.flatnonzero(keep)
    starts, ends = windows.start_positions[rows], windows.end_positions[rows]
    if not starts.any():
        raise BadInput(
            f"none of the {len(rows)} windows of {len(contracts)} contracts holds an answer",
            where="training windows",
            do="train on a larger share of the contracts",
        )
    if settings["balance"] == "weight":
        return rows, empty_weight(starts, ends)
    return rows[balanced(starts, ends, seed)], None


def train(
    task: Task,
    settings: Settings,
    point: Mapping[str, Any],
    *,
    seed: int,
    search: bool,
    device: torch.device,
    work_root: str | Path,
    identity: Mapping[str, Any],
    output: str | Path,
) -> dict[str, Any]:
    """Fine-tune at one point of the grid and save the model to ``output``; return what `run.json` records.

    ``identity`` is what makes a checkpoint this run's own (data, code, libraries, device).
    """
    folder = weights_folder(settings)
    tokenizer = load_tokenizer(folder)
    windows = open_windows(task.train)
    rows, weight = training_rows(windows, task.splits(), settings, seed, search)
    dataset = WindowDataset(
        task.train, tokenizer, window_settings(settings), question_texts(task.questions), rows
    )
    work = work_folder(
        work_root,
        {"settings": dict(settings), "point": dict(point), "seed": seed, "search": search}
        | {"identity": dict(identity)},
    )
    model = span_extraction.load(folder, device, seed)
    resumed = span_extraction.finetune(
        model,
        dataset,
        Collator.of(tokenizer),
        learning_rate=point["learning_rate"],
        epochs=point["epochs"],
        batch_size=settings["batch_size"],
        accumulation=settings["accumulation"],
        max_updates=settings["max_updates"],
        empty_weight=weight,
        bf16=settings["bf16"],
        save_every=settings["save_every"],
        seed=seed,
        work=work,
    )
    span_extraction.save(model, tokenizer, output)
    held = int((windows.start_positions[rows] > 0).sum())
    return {
        "point": dict(point),
        "updates": span_extraction.updates(
            len(rows), settings["batch_size"], point["epochs"], settings["max_updates"]
        ),
        "training_windows": {"with an answer": held, "without": len(rows) - held},
        "resumed_from_update": resumed,
        "work": work.name,
    }


def fit_ranker(train: Path, texts: Mapping[str, str], unseen: frozenset[str]) -> window_ranking.Ranker:
    """Return the model that chooses windows, fitted on the training windows but those of ``unseen``."""
    found = window_ranking.passages(train, texts)
    contract = np.zeros(len(found.texts), dtype=np.int64)
    contract[found.passage] = found.windows.contract
    left_out = [i for i, name in enumerate(found.windows.contracts) if name in unseen]
    seen = ~np.isin(contract, left_out)
    held = {category: answered[seen] for category, answered in window_ranking.answered(found).items()}
    return window_ranking.fit([found.texts[i] for i in np.flatnonzero(seen)], held)


def read_contracts(
    task: Task,
    settings: Settings,
    model_folder: str | Path,
    device: torch.device,
    output: str | Path,
    unseen: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Read the contracts with the model in ``model_folder`` and write the spans; return what is recorded.

    Where the settings cap the windows that a question reads, the model that chooses them is fitted on the
    training windows and saved beside the weights, as is `reading.json`, which says how contracts are cut.
    ``unseen`` are the contracts that a search holds out: nothing is fitted on them.
    """
    tokenizer = load_tokenizer(model_folder)
    texts = task.texts()
    chosen = None
    if settings["windows_per_question"]:
        ranker = fit_ranker(task.train, texts, unseen)
        window_ranking.save(ranker, Path(model_folder) / "window_ranking.npz")
        chosen = window_ranking.choose(ranker, task.read, texts, settings["windows_per_question"])
    dataset = WindowDataset(
        task.read, tokenizer, window_settings(settings), question_texts(task.questions), chosen
    )
    rows = span_extraction.predict(
        span_extraction.load(str(model_folder), device, trained=True),
        dataset,
        texts,
        Collator.of(tokenizer),
        batch_size=READ_AT_ONCE,
        n_best=settings["n_best"],
        max_answer_length=settings["max_answer_length"],
        bf16=settings["bf16"],
    )
    write(span_extraction.NBEST, rows, output)
    kept = ("max_length", "step", "max_question_length", "windows_per_question", "n_best")
    reading = {name: settings[name] for name in (*kept, "max_answer_length", "bf16")}
    write_text(Path(model_folder) / "reading.json", json.dumps(reading, indent=2, sort_keys=True) + "\n")
    return {"windows_read": len(dataset), "windows": len(dataset.windows)}
