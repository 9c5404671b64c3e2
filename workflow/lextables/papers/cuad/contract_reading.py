"""Reading one contract of a user's with a fine-tuned model: every category's question, a window at a time."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from lextables.models.loading import load_tokenizer
from lextables.papers.cuad.asking import CONTRACT, question_id
from lextables.pipeline.dataset import write
from lextables.tasks.spans import window_ranking
from lextables.tasks.spans.features import window_settings
from lextables.tasks.spans.reading import RANKER, RECORD, read_windows
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.windows import WindowDataset, write_features


@dataclass(frozen=True)
class Read:
    """How many windows the contract has and how many were read; ``most`` is what a question may read of its
    ``of_question`` windows (None: all).
    """

    windows: int
    read: int
    most: int | None
    of_question: int


def read_contract(
    text: str,
    wordings: Mapping[str, str],
    reading: str | Path,
    weights: str | Path,
    device: torch.device,
    output: str | Path,
) -> Read:
    """Ask every category's question (``wordings``) of a contract and write the spans, rows of `NBEST`.

    ``reading`` is the folder of a reading run that says how contracts are cut, and ``weights`` the model's.
    """
    said: dict[str, Any] = json.loads((Path(reading) / RECORD).read_text(encoding="utf-8"))
    settings, tokenizer = window_settings(said), load_tokenizer(weights)
    texts = {CONTRACT: text}
    with TemporaryDirectory() as work:
        contracts, asked, folder = (Path(work) / part for part in ("contracts", "questions", "features"))
        pq.write_table(pa.table({"contract_id": [CONTRACT], "text": [text]}), contracts)
        questions = {
            "question_id": list(map(question_id, wordings)),
            "contract_id": [CONTRACT] * len(wordings),
            "category": list(wordings),
        }
        pq.write_table(pa.table(questions), asked)
        write_features(contracts, asked, wordings, folder, tokenizer, settings, labelled=False, shards=1)
        most, chosen = said["windows_per_question"], None
        if most:
            ranker = window_ranking.load(Path(reading) / RANKER)
            chosen = window_ranking.choose(ranker, folder, texts, most)
        dataset = WindowDataset(folder, tokenizer, settings, wordings, chosen)
        write(NBEST, read_windows(dataset, texts, said, weights, device), output)
        return Read(len(dataset.windows), len(dataset), most, int(dataset.windows.window.max()) + 1)
