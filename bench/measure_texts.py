"""Measure the number and length of the texts of finished data sets: `resources/costs/texts.csv`.

Each results folder is given with the kind of its data and the number of volumes of case law in it.  Lengths
are in byte-pair tokens, of at most 200 texts per part.  Rows of other sources, and of data sets that no
folder has, are kept.

    PYTHONPATH=workflow python bench/measure_texts.py sample:5:results/sample release:179:results
"""

import argparse
from functools import partial
from pathlib import Path
from statistics import mean

import pandas as pd

from lextables import ROOT
from lextables.models.token_count import TokenCounter
from lextables.papers import packages
from lextables.pipeline.atomic import write_text

TEXTS = ROOT / "resources/costs/texts.csv"
KEY = ["data", "dataset", "part"]
MOST, MEASURED = 200, "measured"
COUNTER = TokenCounter()


def tokens(texts):
    """Return the mean length of evenly spaced texts."""
    some = list(texts)[:: max(1, len(texts) // MOST)]
    return round(mean(map(COUNTER.tokens, some)), 1) if some else 0


def table(folder, name):
    return pd.read_parquet(folder / f"{name}.parquet")


def retrieval(read, task):
    documents, queries = read(task.names.documents)[task.names.text], read("queries")
    yield "documents", len(documents), tokens(documents)
    for part, split in (
        ("train", task.training),
        ("valid", task.validation),
        ("test", task.test),
    ):
        texts = queries.loc[queries["split"] == split, task.forms[0]]
        yield part, len(texts), tokens(texts)
    test = queries.loc[queries["split"] == task.test, "query_id"]
    yield "judged", read("judgements")["query_id"].isin(test).sum(), 0


def spans(read, task):
    for split, texts in read("contracts").groupby("split")["text"]:
        yield split, len(texts), tokens(texts)
    questions = read("questions")
    yield (
        "questions",
        questions["category"].nunique(),
        tokens(questions["question"].unique()),
    )
    yield "answered", len(read("training_examples")), 0


def classification(read, task):
    examples, texts = (
        read("examples"),
        read(task.names.texts).set_index("text_id")["text"],
    )
    for part, splits in (
        ("train", task.final),
        ("dev", task.validation),
        ("test", task.test),
    ):
        yield part, examples["split"].isin(splits).sum(), 0
    final = examples[examples["split"].isin(task.final)]
    for column in sorted(
        {panel.where for panel in task.models.values() if panel.where}
    ):
        yield f"train {column}", final[column].sum(), 0
    yield "heads", len(read(task.names.heads)), 0
    columns = {
        c for view in task.views.values() for c in (view.text, view.pair) if c
    } or {"text_id"}
    for column in sorted(columns):
        shown = sorted(texts[texts.index.isin(examples[column])])
        yield column, len(shown), tokens(shown)


def answers(read, task):
    paragraphs = read(task.names.paragraphs)
    sites, length = paragraphs["site"].nunique(), tokens(paragraphs["text"])
    yield "documents", sites, round(length * len(paragraphs) / sites, 1)
    yield "paragraphs", len(paragraphs), length
    yield "questions", len(read("questions")), 0


KINDS = {
    "retrieval": retrieval,
    "spans": spans,
    "classification": classification,
    "answers": answers,
}


def measured(data, volumes, results):
    """Return the rows of all data sets in one results folder."""
    for path in sorted((ROOT / "resources/papers").glob("*.yaml")):
        paper = packages.load(str(path))
        for name, task in paper.tasks.items():
            folder = Path(results, "data", name)
            if (folder / "census.json").is_file():
                built = "" if paper.data.get(name) else volumes
                for part, rows, length in KINDS[task.task](
                    partial(table, folder), task
                ):
                    grows = "" if part == "heads" else built
                    yield data, name, part, str(rows), str(length), grows, MEASURED


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("results", nargs="+", help="data:volumes:folder")
    kept = pd.read_csv(TEXTS, dtype=str, keep_default_na=False)
    rows = [
        row
        for given in arguments.parse_args().results
        for row in measured(*given.split(":", 2))
    ]
    new = pd.DataFrame(rows, columns=kept.columns)
    others = kept[kept["source"] != MEASURED]
    merged = (
        pd.concat([kept, new, others])
        .drop_duplicates(KEY, keep="last")
        .sort_values(KEY)
    )
    write_text(TEXTS, merged.to_csv(index=False))


if __name__ == "__main__":
    main()
