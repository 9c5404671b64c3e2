"""Measure LawngNLI's paragraph filter beside gensim's BM25 built for each pair, on real opinions.

A pair is a majority opinion of more than five paragraphs and a hypothesis about it.  Hypotheses are those of
the parentheticals about opinions of the given shards; those of opinions that have several are met as the
data has them, and once with one hypothesis an opinion, which is the filter's worst case.  gensim gets each
pair as the released code gives it one: the paragraphs are split, a model is built, the hypothesis is scored.
gensim 4's model is the one that is installed; --gensim3 names gensim 3.8.3's summarization/bm25.py, which the
paper used.  The two take turns over parts of the pairs; the ratio is the median of the parts'.

    PYTHONPATH=workflow python bench/measure_paragraph_filter.py results/release/data --opinions 400
"""

import argparse
import importlib.util
import sys
import time
import types
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.parquet as pq
from gensim.corpora import Dictionary
from gensim.models import OkapiBM25Model

from lextables.models.okapi import MOST, Paragraphs

Asked = Sequence[tuple[str, list[str]]]  # opinions with their hypotheses
PARTS = 8


def pairs(data: Path, opinions: int) -> list[tuple[str, list[str]]]:
    """Return majority opinions that are long enough, with the hypotheses about each."""
    asked: dict[int, list[str]] = defaultdict(list)
    for path in sorted(data.glob("lawngnli/shards/*/parentheticals.parquet")):
        for row in pq.read_table(path, columns=["cited_case_id", "hypothesis"]).to_pylist():
            asked[row["cited_case_id"]].append(row["hypothesis"])
    found: list[tuple[str, list[str]]] = []
    for path in sorted(data.glob("caselaw/*.parquet")):
        for row in pq.read_table(path, columns=["case_id", "opinion_type", "text"]).to_pylist():
            if row["opinion_type"] != "majority" or row["case_id"] not in asked:
                continue
            if len(Paragraphs(row["text"])) > MOST:
                found.append((row["text"], asked[row["case_id"]]))
            if len(found) == opinions:
                return found
    return found


def ours(asked: Asked) -> list[list[int]]:
    chosen = []
    for text, hypotheses in asked:
        paragraphs = Paragraphs(text)
        chosen += [paragraphs.chosen(hypothesis) for hypothesis in hypotheses]
    return chosen


def gensim4(texts: list[list[str]], query: list[str]) -> Sequence[float]:
    dictionary = Dictionary(texts)
    model = OkapiBM25Model(dictionary=dictionary)
    wanted = dict(dictionary.doc2bow(query))
    return [
        sum(weight * wanted.get(word, 0) for word, weight in model[dictionary.doc2bow(words)])
        for words in texts
    ]


def gensim3(path: Path) -> Callable[[list[list[str]], list[str]], Sequence[float]]:
    """Return the scores by 3.8.3's own module; of its package it wants one function, to run in parallel."""
    package, utils = types.ModuleType("gensim_3"), types.ModuleType("gensim_3.utils")
    utils.effective_n_jobs = int
    sys.modules |= {"gensim_3": package, "gensim_3.utils": utils}
    spec = importlib.util.spec_from_file_location("gensim_3.summarization.bm25", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["gensim_3.summarization"] = types.ModuleType("gensim_3.summarization")
    spec.loader.exec_module(module)
    return lambda texts, query: module.BM25(texts).get_scores(query)


def theirs(asked: Asked, score: Callable[[list[list[str]], list[str]], Sequence[float]]) -> list[list[int]]:
    chosen = []
    for text, hypotheses in asked:
        for hypothesis in hypotheses:
            paragraphs = [line for line in text.split("\n") if line.strip()]
            scores = np.array(score([line.split() for line in paragraphs], hypothesis.split()))
            chosen.append(sorted(np.argsort(-scores, kind="stable")[:MOST].tolist()))
    return chosen


def measure(name: str, asked: Asked, score: Callable[[list[list[str]], list[str]], Sequence[float]]) -> None:
    ratios, seconds, differ, count = [], np.zeros(2), 0, 0
    for part in range(PARTS):
        some = asked[part::PARTS]
        if not some:
            continue
        found, spent = {}, {}
        ways = {"ours": ours, "theirs": lambda some: theirs(some, score)}
        for way in [*ways][:: 1 if part % 2 else -1]:
            start = time.process_time()
            found[way] = ways[way](some)
            spent[way] = time.process_time() - start
        ratios.append(spent["theirs"] / spent["ours"])
        seconds += spent["ours"], spent["theirs"]
        differ += sum(a != b for a, b in zip(found["ours"], found["theirs"], strict=True))
        count += len(found["ours"])
    each = 1000 * seconds / count
    print(
        f"{name}: {len(asked)} opinions, {count} pairs; {each[0]:.3f} and {each[1]:.2f} ms a pair, ratio "
        f"{median(ratios):.1f}; of {differ} pairs other paragraphs are chosen",
        flush=True,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path, help="folder with caselaw/ and lawngnli/")
    arguments.add_argument("--opinions", type=int, default=400)
    arguments.add_argument("--gensim3", type=Path, help="summarization/bm25.py of gensim 3.8.3")
    options = arguments.parse_args()
    asked = pairs(options.data, options.opinions)
    once = [(text, hypotheses[:1]) for text, hypotheses in asked]
    models = {"gensim 4's model": gensim4}
    if options.gensim3:
        models["gensim 3.8.3's"] = gensim3(options.gensim3)
    for model, score in models.items():
        measure(f"{model}, hypotheses as they come", asked, score)
        measure(f"{model}, one hypothesis an opinion", once, score)


if __name__ == "__main__":
    main()
