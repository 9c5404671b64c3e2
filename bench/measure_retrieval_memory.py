r"""Measure the peak memory of the jobs behind LawngNLI's Tables 6 and 17, on synthetic
opinions.

An opinion has as many paragraphs as an opinion of United States Reports, drawn at
random from all of them, and new words, so that the vocabulary grows as in the real
opinions (Heaps' law).  Queries, pools and the data set have the paper's numbers.
Encoders return random vectors, a cross-encoder random scores: the memory of models is
not included.  With ``--few`` paragraphs are filtered for that many queries only, and
not by BM25, which would take hours: the first five stand for the best.

Each step is a process of its own.  The script prints its peak memory (resident) and
seconds:

    PYTHONPATH=workflow python bench/measure_retrieval_memory.py --mirror
    ../shared/mirror --opinions 200000 \
        --folder /tmp/opinions 480 500 520
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from lextables.corpora.caselaw.ingest import OPINIONS
from lextables.corpora.caselaw.opinion import MAJORITY, Opinion
from lextables.corpora.caselaw.volume import read_volume
from lextables.models.okapi import MOST, Paragraphs
from lextables.papers.lawngnli.dataset import retrieval
from lextables.papers.lawngnli.dataset.examples import EXAMPLES
from lextables.pipeline import dataset
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.rankers import okapi
from lextables.tasks.retrieval.ranking import Encoders, Ranking, RankingSettings
from lextables.tasks.retrieval.scoring import by_query, scores

HYPOTHESES = 1322  # each asks for the opinion that it follows from, and its twin
STATES = 50  # jurisdictions, at most
DIMENSIONS = 768  # of vectors
SHARD = 10_000  # opinions of a file
# Written by the step `build`.
TABLES = (retrieval.DOCUMENTS, retrieval.QUERIES, retrieval.JUDGEMENTS)
RERANKED = 100  # the first hits of a query
# The task as the paper's file has it.
TASK = {
    "names": {
        "documents": "documents",
        "document": "document_id",
        "gain": "gain",
        "text": "text",
        "order": "similarity",
    },
    "pool": "judged",
    "metrics": ["Recall@1", "Recall@10", "Recall@100"],
    "groups": ["label"],
    "training": "train",
    "validation": "val",
    "test": "test",
}


def real_opinions(mirror: Path, volumes: Sequence[str]) -> list[list[str]]:
    """Return the paragraphs of each majority opinion."""
    opinions = []
    for volume in volumes:
        for opinion in read_volume(mirror / f"caselaw/us/{volume}.zip"):
            if not isinstance(opinion, Opinion):
                continue
            row = opinion.row()
            if row["opinion_type"] == MAJORITY and row["text"].strip():
                opinions.append(row["text"].split("\n"))
    return opinions


def growth(opinions: Sequence[Sequence[str]]) -> tuple[int, float]:
    """Return the number of different words, and the exponent of its growth (Heaps'
    law), from the numbers in half and in all of the opinions.
    """
    words: set[str] = set()
    halfway = 0
    for number, paragraphs in enumerate(opinions, 1):
        words.update(" ".join(paragraphs).split())
        if number == len(opinions) // 2:
            halfway = len(words)
    return len(words), math.log2(len(words) / halfway)


def synthetic(opinions: Sequence[Sequence[str]], number: int) -> Iterator[str]:
    """Yield ``number`` texts, whose vocabulary grows as that of ``opinions``."""
    rng = np.random.default_rng(0)
    paragraphs = [text for opinion in opinions for text in opinion]
    real_words, exponent = growth(opinions)
    used = 0  # invented words of earlier texts
    for count in range(1, number + 1):
        length = len(opinions[rng.integers(len(opinions))])
        places = rng.integers(len(paragraphs), size=length)
        drawn_paragraphs = [paragraphs[place] for place in places]
        # As many invented words as the vocabulary of so many opinions exceeds that of
        # the real ones.
        vocabulary = real_words * max(1.0, count / len(opinions)) ** exponent
        invented = int(vocabulary - real_words)
        new_words = [f"word{word}" for word in range(used, invented)]
        used = max(used, invented)
        yield "\n".join([*drawn_paragraphs, " ".join(new_words)])


def states_of(opinions: int) -> int:
    """Return the number of states, so many that every pool is full."""
    return max(1, min(STATES, opinions // (retrieval.OTHERS + 1)))


def write_sources(arguments: argparse.Namespace) -> None:
    """Write opinions in shards, and the examples that are the queries."""
    real = real_opinions(arguments.mirror, arguments.volumes)
    texts = synthetic(real, arguments.opinions)
    unused = [column.name for column in OPINIONS.columns]
    empty = dict.fromkeys(unused, "") | {"citations": [], "pages": [], "body_end": 0}
    states = states_of(arguments.opinions)
    for start in range(0, arguments.opinions, SHARD):
        rows = []
        for case in range(start, min(start + SHARD, arguments.opinions)):
            row = {"opinion_id": f"{case}-0", "case_id": case, "position": 0}
            row |= {"jurisdiction": f"State {case % states}", "opinion_type": MAJORITY}
            rows.append(empty | row | {"majorities": 1, "text": next(texts)})
        dataset.write(OPINIONS, rows, arguments.folder / f"opinions-{start}.parquet")
    step = arguments.opinions // HYPOTHESES
    examples = []
    for number in range(HYPOTHESES):
        case = number * step
        words = real[number % len(real)][0].split()[:30]
        for is_twin in (False, True):
            row = dict.fromkeys((column.name for column in EXAMPLES.columns), "")
            row |= {
                "example_id": f"{number:04}",
                "is_twin": is_twin,
                "split": "test",
                "analysis": True,
                "label": "contradict" if is_twin else "entail",
                "negated": False,
                "hypothesis": " ".join([*words, "not"] if is_twin else words),
                "citing_case_id": case,
                "cited_case_id": case,
                "cited_jurisdiction": f"State {case % states}",
                "pages": [],
                "support": 1.0,
                "premise_start": 0,
                "premise_end": 0,
                "premise_spans": [],
                "fault": None,
            }
            examples.append(row)
    dataset.write(EXAMPLES, examples, arguments.folder / "examples.parquet")


def vectors(texts: Sequence[str]) -> np.ndarray:
    """Return a random vector for each text, float32 (texts, `DIMENSIONS`)."""
    rng = np.random.default_rng(len(texts))
    return rng.standard_normal((len(texts), DIMENSIONS), dtype=np.float32)


def build(arguments: argparse.Namespace) -> None:
    """Make the pools of the queries, as the rule `lawngnli_retrieval`."""
    folder = arguments.folder
    paths = {table.name: folder / f"{table.name}.parquet" for table in TABLES}
    shards = [
        folder / f"opinions-{start}.parquet"
        for start in range(0, arguments.opinions, SHARD)
    ]
    examples = folder / "examples.parquet"
    retrieval.write_retrieval(examples, shards, vectors, vectors, paths)


def loaded(arguments: argparse.Namespace) -> collection.Collection:
    """Read the data set as each job that ranks does."""
    names = collection.files(TASK)
    return collection.load(
        [arguments.folder / f"{name}.parquet" for name in names], TASK
    )


def filter_without_bm25() -> None:
    """Replace methods of `Paragraphs`, so that the first paragraphs of a text stand for
    the best.
    """

    def keep_text(self: Paragraphs, text: str) -> None:
        self.text = text

    def first_paragraphs(self: Paragraphs, query: str, most: int = MOST) -> str:
        return "\n".join(self.text.split("\n")[:most])

    Paragraphs.__init__ = keep_text
    Paragraphs.best = first_paragraphs


def write_hits(arguments: argparse.Namespace, hits: collection.HitsByCondition) -> None:
    """Write the predictions of each run, as the script does."""
    for name, hits_of_run in hits.items():
        rows = collection.prediction_rows(hits_of_run)
        path = arguments.folder / f"{arguments.step}-{name}.parquet"
        dataset.write(collection.PREDICTIONS, rows, path)


def rank(arguments: argparse.Namespace) -> None:
    """Rank the pools: ``bm25`` or ``encoder``, over whole or filtered opinions."""
    data = loaded(arguments)
    settings = {"whole": {"form": "text"}}
    if arguments.step.endswith("filtered"):
        queries = sorted(data.queries)[: arguments.few or None]
        filter_without_bm25()
        settings = {
            "filtered": {"form": "text", "documents": "filtered", "queries": queries}
        }
    if arguments.step.startswith("bm25"):
        hits = okapi.rank(Ranking(data, settings))
    else:
        from lextables.tasks.retrieval import dense  # loads torch

        runs = {name: RankingSettings(**each) for name, each in settings.items()}
        hits = dense.retrieve(data, runs, Encoders(vectors, vectors))
    write_hits(arguments, hits)


def rerank(arguments: argparse.Namespace) -> None:
    """Reorder the first hits of every query over filtered opinions, as a cross-encoder
    does.
    """
    from lextables.tasks.retrieval.rankers import cross_encoder  # loads torch

    data = loaded(arguments)
    filter_without_bm25()
    queries = sorted(data.queries)
    hits = {query: list(data.judged[query])[:RERANKED] for query in queries}
    ranking = Ranking(data, {"filtered": {"form": "text", "documents": "filtered"}})
    object.__setattr__(ranking, "first_hits", {"filtered": hits})
    rng = np.random.default_rng(0)

    def random_scores(pairs: Sequence[object]) -> list[float]:
        return rng.random(len(pairs)).tolist()

    write_hits(arguments, cross_encoder.rerank(ranking, random_scores))


def score(arguments: argparse.Namespace) -> None:
    """Score the hits of BM25, as the rule `score`."""
    data = loaded(arguments)
    hits = dataset.read(arguments.folder / "bm25-whole.parquet")
    by_query(scores(hits, data), data)


# {step: function}, in their order
STEPS = {
    "sources": write_sources,
    "build": build,
    "bm25": rank,
    "score": score,
    "encoder": rank,
    "bm25-filtered": rank,
    "encoder-filtered": rank,
    "rerank": rerank,
}


def main() -> None:
    """Run every step in a process of its own, or the one that ``--step`` names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--opinions", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--few", type=int, default=0)
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("volumes", nargs="+")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if not arguments.step:
        for step in STEPS:
            few = ["--few", "128"] if step.endswith("-filtered") else []
            command = [sys.executable, __file__, *sys.argv[1:], "--step", step, *few]
            subprocess.run(command, check=True)
        return
    start = time.monotonic()
    STEPS[arguments.step](arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = time.monotonic() - start
    measured = {
        "step": arguments.step,
        "opinions": arguments.opinions,
        "few": arguments.few,
        "peak_mib": round(peak),
        "seconds": round(seconds),
    }
    print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
