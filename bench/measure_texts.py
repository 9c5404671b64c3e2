"""Measure the number and length of the texts of finished data sets: `resources/costs/texts.csv`.

Each results folder is given with the kind of its data and the number of volumes of case law in it.  Lengths
are in byte-pair tokens, of at most 200 texts per part.  Rows of other sources, and of data sets that no
folder has, are kept.

    PYTHONPATH=workflow python bench/measure_texts.py sample:5:results/sample release:179:results
"""

import argparse
import csv
from pathlib import Path
from statistics import mean

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lextables import ROOT
from lextables.models.token_count import TokenCounter
from lextables.papers import packages
from lextables.pipeline.atomic import replacing

TEXTS = ROOT / "resources/costs/texts.csv"
HEAD = ("data", "dataset", "part", "rows", "tokens", "volumes", "source")
MOST, MEASURED = 200, "measured"
COUNTER = TokenCounter()


def tokens(texts):
    """Return the mean length of evenly spaced texts."""
    some = texts[:: max(1, len(texts) // MOST)]
    return round(mean(COUNTER.tokens(text) for text in some), 1) if some else 0


def read(folder, table, columns=None):
    return pq.read_table(folder / f"{table}.parquet", columns=columns)


def by_split(table, column="split"):
    return {
        split: table.filter(pc.equal(table[column], split)) for split in pc.unique(table[column]).to_pylist()
    }


def retrieval(folder, task):
    names = task.names
    documents = read(folder, names.documents, [names.text])[names.text].to_pylist()
    queries = read(folder, "queries")
    yield "documents", len(documents), tokens(documents)
    for part, split in (("train", task.training), ("valid", task.validation), ("test", task.test)):
        texts = queries.filter(pc.equal(queries["split"], split))[task.forms[0]].to_pylist()
        yield part, len(texts), tokens(texts)
    test = queries.filter(pc.equal(queries["split"], task.test))["query_id"]
    judged = read(folder, "judgements", ["query_id"])["query_id"]
    yield "judged", pc.sum(pc.is_in(judged, pc.unique(test))).as_py(), 0


def spans(folder, task):
    for split, those in by_split(read(folder, "contracts", ["split", "text"])).items():
        yield split, len(those), tokens(those["text"].to_pylist())
    asked = pc.unique(read(folder, "questions", ["question"])["question"]).to_pylist()
    kinds = len(pc.unique(read(folder, "questions", ["category"])["category"]))
    yield "questions", kinds, tokens(asked)
    yield "answered", read(folder, "training_examples", ["example_id"]).num_rows, 0


def classification(folder, task):
    examples = read(folder, "examples")
    texts = read(folder, task.names.texts, ["text_id", "text"])
    texts = dict(zip(texts["text_id"].to_pylist(), texts["text"].to_pylist(), strict=True))
    parts = (("train", task.final), ("dev", task.validation), ("test", task.test))
    for part, splits in parts:
        yield part, sum(split in splits for split in examples["split"].to_pylist()), 0
    for column in sorted({panel.where for panel in task.models.values() if panel.where}):
        final = pc.is_in(examples["split"], pa.array(task.final))
        yield f"train {column}", len(examples.filter(pc.and_(final, examples[column]))), 0
    yield "heads", read(folder, task.names.heads, ["head_id"]).num_rows, 0
    columns = {c for view in task.views.values() for c in (view.text, view.pair) if c} or {"text_id"}
    for column in sorted(columns):
        shown = [texts[one] for one in pc.unique(examples[column]).to_pylist() if one in texts]
        yield column, len(shown), tokens(sorted(shown))


def answers(folder, task):
    paragraphs = read(folder, task.names.paragraphs, ["site", "text"])
    each = paragraphs["text"].to_pylist()
    sites, length = len(pc.unique(paragraphs["site"])), tokens(each)
    yield "documents", sites, round(length * len(each) / sites, 1)
    yield "paragraphs", len(each), length
    yield "questions", read(folder, "questions", ["question_id"]).num_rows, 0


KINDS = {"retrieval": retrieval, "spans": spans, "classification": classification, "answers": answers}


def measured(data, volumes, results):
    """Return the rows of all data sets in one results folder."""
    for path in sorted((ROOT / "resources/papers").glob("*.yaml")):
        for name, task in packages.load(str(path)).tasks.items():
            folder = Path(results, "data", name)
            if (folder / "census.json").is_file():
                built = volumes if not packages.load(str(path)).data.get(name) else ""
                for part, rows, length in KINDS[task.task](folder, task):
                    grows = "" if part == "heads" else built
                    yield data, name, part, str(rows), str(length), grows, MEASURED


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("results", nargs="+", help="data:volumes:folder")
    with TEXTS.open(encoding="utf-8", newline="") as file:
        found = {tuple(row.values())[:3]: tuple(row.values()) for row in csv.DictReader(file)}
    for given in arguments.parse_args().results:
        for row in measured(*given.split(":", 2)):
            if found.get(row[:3], row)[-1] == MEASURED:
                found[row[:3]] = row
    with replacing(TEXTS) as path, path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *(found[key] for key in sorted(found))])


if __name__ == "__main__":
    main()
