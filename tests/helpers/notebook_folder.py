"""A working folder with the data sets of the sample, and predictions for them."""

import json
import random
from collections import defaultdict

import numpy as np
import pyarrow.parquet as pq

import lextables
from helpers.sample_data import write_data_set

DATA = "results/data"


def rows_of(folder, table):
    """Return the rows of a table, such as ``cuad/contracts``."""
    return pq.read_table(folder / DATA / f"{table}.parquet").to_pylist()


def write_spans(folder, name, rng):
    """Write spans for CUAD's test questions: some gold ones, and others from the
    contract.
    """
    words, gold = {}, defaultdict(list)
    for row in rows_of(folder, "cuad/contracts"):
        words[row["contract_id"]] = row["text"].split()
    for row in rows_of(folder, "cuad/answers"):
        gold[row["question_id"]].append(" ".join(row["text"].split()))
    nbest = {}
    for row in rows_of(folder, "cuad/questions"):
        start = rng.randrange(99)
        found = [" ".join(words[row["contract_id"]][start : start + 9]), ""]
        found += [text for text in gold[row["question_id"]] if rng.random() < 0.5]
        nbest[row["question_id"]] = [
            {"text": text, "probability": rng.random()} for text in found
        ]
    (folder / name).write_text(json.dumps(nbest))


def write_probabilities(path, asked):
    """Write probabilities 1 : 2 : 3 … of the choices, which are in the last column."""
    weights = asked.pop(asked.columns[-1]).map(lambda each: np.arange(len(each)) + 1)
    asked["probabilities"] = weights / weights.map(sum)
    asked.to_json(path, orient="records", lines=True)


def write_folder(folder):
    """Write the sample's data sets, as if they were the release's, and predictions for
    them; return ``folder``.
    """
    for name in ("acord", "cuad", "maud", "privacy"):
        write_data_set(name, folder / DATA / name)
    hits = lextables.load("acord", folder=folder)["judgements"]
    hits = hits.rename(columns={"clause_id": "document_id"})
    for seed in range(3):
        write_spans(folder, f"spans{seed}.json", random.Random(seed))
        hits["score"] = np.random.default_rng(seed).random(len(hits))
        hits.to_csv(folder / f"ranking{seed}.csv", index=False)
    (folder / "none.json").write_text("{}")
    maud, privacy = (
        lextables.load(name, folder=folder) for name in ("maud", "privacy")
    )
    examples = maud["examples"][["example_id", "head_id"]]
    asked = examples.merge(maud["questions"][["head_id", "answers"]])
    write_probabilities(folder / "maud.jsonl", asked)
    sites = privacy["documents"]["site"].drop_duplicates().to_frame("document_id")
    asked = sites.merge(privacy["questions"][["question_id", "options"]], "cross")
    write_probabilities(folder / "privacy.jsonl", asked)
    return folder
