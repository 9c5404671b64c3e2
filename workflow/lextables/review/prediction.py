"""Predict the spans of each category in a user's contract, with a trained model."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lextables.pipeline.dataset import Row, write
from lextables.pipeline.files import read_json
from lextables.review.reviewer import CONTRACT, question_id
from lextables.sources.characters import PlainText, plain
from lextables.tasks.spans.schema import NBEST

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class WindowCount:
    """Numbers of windows of a contract."""

    windows: int
    """All windows with all questions."""
    read: int
    """The windows that the model read."""
    most: int | None
    """The limit of windows that are read for a question; None if there is none."""
    of_question: int
    """All windows with one question, before the limit."""


def read_with_linear_model(
    text: str,
    categories: Iterable[str],
    settings: Mapping[str, Any],
    weights: str | Path,
    output: str | Path,
) -> None:
    """Write the most probable spans of each category in the contract's ``text``, rows
    of `NBEST`.

    The model reads the text in plain characters.  ``settings`` are those of the run
    that read the test contracts; ``weights`` is its model's folder.
    """
    # Not needed by the other models.
    from lextables.tasks.spans import linear
    from lextables.tasks.spans.linear_settings import LinearRun

    model = linear.load(Path(weights) / linear.WEIGHTS)
    questions = [
        {"question_id": question_id(name), "contract_id": CONTRACT, "category": name}
        for name in categories
    ]
    plain_text = plain(text)
    rows = linear.spans_of(
        model, {CONTRACT: plain_text.text}, questions, LinearRun(**settings)
    )
    write(NBEST, _in_source(rows, text, plain_text), output)


def _in_source(
    rows: Iterable[Row], source: str, plain_text: PlainText
) -> Iterator[Row]:
    """Yield ``rows`` about the plain text with the places and the words of the
    source.
    """
    for row in rows:
        if row["start"] >= 0:
            start, end = plain_text.source_span(row["start"], row["end"])
            words = source[start:end]
            row = {
                **row,
                "start": start,
                "end": end,
                "text": words,
                "released_text": words,
            }
        yield row


def read_with_fine_tuned_model(
    text: str,
    wordings: Mapping[str, str],
    reading: str | Path,
    weights: str | Path,
    device: "torch.device",
    output: str | Path,
) -> WindowCount:
    """Write the most probable spans for each category's question (``wordings``), rows
    of `NBEST`.

    The model reads the text in plain characters.  ``reading`` is the folder of the
    reading run, which records how contracts are cut into windows; ``weights`` is the
    model's folder.
    """
    # torch takes seconds to load, and linear models do not need it.
    from lextables.models.tokenizers import load_tokenizer
    from lextables.tasks.spans import window_ranking
    from lextables.tasks.spans.features import WindowSource, write_features
    from lextables.tasks.spans.inference import RANKER, RECORD, read_windows
    from lextables.tasks.spans.settings import NbestSettings
    from lextables.tasks.spans.windows import WindowDataset

    settings = NbestSettings(**read_json(Path(reading) / RECORD))
    tokenizer = load_tokenizer(weights)
    plain_text = plain(text)
    texts = {CONTRACT: plain_text.text}
    with TemporaryDirectory() as work:
        contracts = Path(work) / "contracts"
        questions = Path(work) / "questions"
        folder = Path(work) / "features"
        pq.write_table(
            pa.table({"contract_id": [CONTRACT], "text": [plain_text.text]}), contracts
        )
        columns = {
            "question_id": list(map(question_id, wordings)),
            "contract_id": [CONTRACT] * len(wordings),
            "category": list(wordings),
        }
        pq.write_table(pa.table(columns), questions)
        source = WindowSource(contracts, questions, wordings, labelled=False)
        write_features(source, folder, tokenizer, settings, shards=1)
        limit = settings.windows_per_question
        chosen = None
        if limit:
            ranker = window_ranking.load(Path(reading) / RANKER)
            chosen = window_ranking.choose(ranker, folder, texts, limit)
        dataset = WindowDataset(folder, tokenizer, settings, wordings, chosen)
        rows = read_windows(dataset, texts, settings, weights, device)
        write(NBEST, _in_source(rows, text, plain_text), output)
        return WindowCount(
            len(dataset.windows),
            len(dataset),
            limit,
            int(dataset.windows.window.max()) + 1,
        )
