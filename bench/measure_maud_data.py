"""Measure MAUD's data stage at full size: csv to parquet, and parquet to tokens.

Each stage runs in a process of its own, whose peak memory it reports; tokens are made once a text, by the
function that the training jobs call.

    PYTHONPATH=workflow python bench/make_maud.py /tmp/maud
    PYTHONPATH=workflow python bench/measure_maud_data.py /tmp/maud --model <folder of a model>
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

from lextables.papers.maud import constraints, raw
from lextables.papers.maud.schema import ANSWERED, EXTRACTED
from lextables.pipeline.dataset import census, read, write
from lextables.tasks.classification.examples import texts_of
from lextables.tasks.classification.features import read_tokens, tokenise
from make_maud import recorded_questions

LIMIT = 512


def data(folder: Path) -> str:
    """Write the parquet tables of ``folder`` as the rule does, and count each."""
    catalogue, _ = raw.read_catalogue(folder / "maud_v1.zip", recorded_questions())
    numbers = {head.head_id: head.head_id for head in catalogue.heads}
    found = raw.read_release(folder / "maud_v1.zip", catalogue, numbers)
    rows = {
        "examples": found.examples,
        "texts": found.texts,
        "questions": catalogue.rows(numbers),
        "contracts": raw.contract_rows(folder / "maud_v1.zip", found.examples),
        "answer_counts": constraints.answer_counts(found.examples, catalogue),
        "split_overlap": constraints.split_overlap(found.examples),
        "constraint_violations": constraints.constraint_violations(found.examples, {}, []),
    }
    counts = {}
    for table in ANSWERED:
        if table.name in rows:
            write(table, rows[table.name], folder / f"{table.name}.parquet")
            counts[table.name] = census(table, folder / f"{table.name}.parquet")["rows"]
    return str(counts)


def extraction(folder: Path) -> str:
    """Write the parquet tables of the extraction task."""
    files = {split: folder / f"maud_squad_{split}.json" for split in raw.SPLITS}
    found = raw.read_squad_release(files, recorded_questions(), {})
    (folder / "extraction").mkdir(exist_ok=True)
    counts = {}
    for table in EXTRACTED:
        path = folder / "extraction" / f"{table.name}.parquet"
        write(table, getattr(found, table.name), path)
        counts[table.name] = census(table, path)["rows"]
    return str(counts)


def features(folder: Path, model: str) -> str:
    """Tokenise each text once, and read the tokens as a training job does."""
    texts = texts_of(folder / "examples.parquet", folder / "texts.parquet")
    counts = tokenise(texts, model, LIMIT, folder / "tokens.parquet")
    tokens = read_tokens(folder / "tokens.parquet")
    lengths = {
        row["text_id"]: row["length"] for row in read(folder / "tokens.parquet", ["text_id", "length"])
    }
    used = [lengths[row["text_id"]] for row in read(folder / "examples.parquet", ["text_id"])]
    long = sum(length > LIMIT for length in used) / len(used)
    return f"{counts}, {len(tokens.ids):,} tokens kept, {long:.1%} of examples over {LIMIT} tokens"


def main() -> None:
    """Run the stages, or the one that is named."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--model", default="", help="folder of the model whose tokenizer is measured")
    arguments.add_argument("--stage", choices=["data", "extraction", "features"])
    options = arguments.parse_args()
    if options.stage is None:
        for stage in ("data", "extraction", *(["features"] if options.model else [])):
            subprocess.run([sys.executable, *sys.argv, "--stage", stage], check=True)
        return
    start, cpu = time.perf_counter(), time.process_time()
    if options.stage == "features":
        found = features(options.folder, options.model)
    else:
        found = {"data": data, "extraction": extraction}[options.stage](options.folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    print(f"{options.stage}: {seconds:.1f} s ({used:.1f} s CPU), peak {peak:.2f} GiB; {found}", flush=True)


if __name__ == "__main__":
    main()
