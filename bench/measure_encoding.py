"""Measure encoding on a processor: ours beside plain sentence-transformers, on ACORD's clauses.

The clauses are cut into parts, each of which both encode, in turn first and second: plain
`SentenceTransformer.encode` with its batches of 32, and `bi_encoder.encode_documents`.  What is printed
last is the median of the parts' ratios, the greatest difference between the cosines of any query and clause,
and what both score.  With --only a few parts are enough for the ratio.

    OMP_NUM_THREADS=1 PYTHONPATH=workflow python bench/measure_encoding.py results/release/data/acord
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median

import numpy as np
import torch

from lextables.metrics.ranking import by_name
from lextables.models import bi_encoder
from lextables.models.resolve import load_models
from lextables.models.weights import PACKAGE, place
from lextables.papers.packages import load
from lextables.tables import published
from lextables.tasks.retrieval import collection, dense
from lextables.tasks.retrieval.collection import Collection

ROOT = Path(__file__).parents[1]
TASK = load(ROOT / "resources/papers/acord.yaml").tasks["acord"]
MODEL = load_models(ROOT / "resources/models.yaml")["all-minilm-l6-v2"]
METRICS = ("NDCG@5", "NDCG@10")
Encode = Callable[[Sequence[str]], np.ndarray]


def timed(encode: Encode, texts: Sequence[str]) -> tuple[np.ndarray, float, float]:
    """Return the vectors of texts, and the seconds of processor and of clock that they took."""
    clock, processor = time.monotonic(), time.process_time()
    vectors = encode(texts)
    return vectors, time.process_time() - processor, time.monotonic() - clock


def scores(data: Collection, documents: dict[str, np.ndarray], encode_query: Encode) -> list[float]:
    """Return the mean of each metric over the test queries."""
    settings = {"form": TASK.forms[0], "pool": TASK.pool, "top": TASK.top, "queries": None}
    settings |= {"documents": "whole"}
    vectors = {text: documents[name] for name, text in data.documents.items()}
    found = dense.retrieve(
        data,
        {TASK.forms[0]: settings},
        lambda texts: np.stack([vectors[text] for text in texts]),
        encode_query,
    )[TASK.forms[0]]
    test = data.of("test")
    run = {query: [document for document, _ in found[query]] for query in test}
    qrels = {query: dict(data.judged[query]) for query in test}
    return [fmean(by_name(metric)(qrels, run).values()) for metric in METRICS]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path, help="folder of ACORD's parquet tables")
    arguments.add_argument("--parts", type=int, default=8)
    arguments.add_argument("--only", type=int, help="how many of the parts are encoded")
    options = arguments.parse_args()
    task = TASK.model_dump(mode="json")
    data = collection.load([options.data / f"{name}.parquet" for name in collection.files(task)], task)
    model = bi_encoder.load(place(PACKAGE + MODEL.package), torch.device("cpu"), MODEL.max_length)

    def plain(texts: Sequence[str]) -> np.ndarray:
        return model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)

    def ours(texts: Sequence[str]) -> np.ndarray:
        return bi_encoder.encode_documents(model, texts)

    ways = {"plain": plain, "ours": ours}
    queries = data.texts(TASK.forms[0], ("training", "validation", "test"))
    asked = {way: encode(list(queries.values())) for way, encode in ways.items()}
    names = sorted(data.documents)
    vectors: dict[str, dict[str, np.ndarray]] = {way: {} for way in ways}
    seconds: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads", flush=True)
    for number in range(options.only or options.parts):
        part = names[number :: options.parts]
        for way in [*ways][:: 1 if number % 2 else -1]:
            found, *times = timed(ways[way], [data.documents[name] for name in part])
            vectors[way] |= zip(part, found, strict=True)
            seconds[way].append((times[0], times[1]))
        (plain_processor, plain_clock), (our_processor, our_clock) = (seconds[way][-1] for way in ways)
        print(
            f"part {number}, {len(part)} clauses: seconds of processor {plain_processor:.1f} and "
            f"{our_processor:.1f}, of clock {plain_clock:.1f} and {our_clock:.1f}",
            flush=True,
        )
    totals = {way: np.sum(seconds[way], axis=0) for way in ways}
    for at, kind in enumerate(("processor", "clock")):
        ratios = [plain[at] / ours[at] for plain, ours in zip(*seconds.values(), strict=True)]
        both = " and ".join(f"{way} {total[at]:.1f}" for way, total in totals.items())
        print(f"seconds of {kind}: {both}; ratio {median(ratios):.2f} (median of parts)")
    cosines = {way: asked[way] @ np.stack([*vectors[way].values()]).T for way in ways}
    print(f"greatest difference of cosines: {np.abs(cosines['plain'] - cosines['ours']).max():.1e}")
    some = names[:: options.parts][:8]
    alone = [ours([data.documents[name]])[0] for name in some]
    same = all((vectors["ours"][name] == vector).all() for name, vector in zip(some, alone, strict=True))
    print(f"encoded alone, {len(some)} documents have {'the same vectors' if same else 'other vectors'}")
    if len(vectors["ours"]) < len(names):
        return
    printed = {
        cell.column: cell.value
        for cell in published.load(ROOT / "resources/published/acord.csv")
        if (cell.table, cell.row) == ("table_d3", "Bi-Encoder-MiniLM / None")
    }
    scored = [scores(data, vectors[way], ways[way]) for way in ways]
    for metric, plain_score, our_score in zip(METRICS, *scored, strict=True):
        print(f"{metric}: plain {plain_score:.4f}, ours {our_score:.4f}, printed {printed[metric]}")


if __name__ == "__main__":
    main()
