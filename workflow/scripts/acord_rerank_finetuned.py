"""Choose learning rate and updates on the validation queries, and reorder a retriever's hits."""

import json
from pathlib import Path

from lextables.acord.retrieval import load_collection, prediction_rows, ranked_clauses
from lextables.acord.scores import PREDICTIONS
from lextables.acord.selection import choose, finetuned_hits
from lextables.dataset import write
from lextables.job import job
from lextables.run import recorded

with job(snakemake.log[0]) as log:
    first, *trained = snakemake.input.needs
    runs = {}
    for path in trained:
        record = json.loads((Path(path).parent / "run.json").read_text(encoding="utf-8"))
        runs[record["settings"]["learning_rate"], int(Path(path).parent.name.removeprefix("seed"))] = path
    with recorded(Path(snakemake.output.record).parent, snakemake.params.settings) as record:
        collection = load_collection(str(Path(snakemake.input.census).parent))
        hits = ranked_clauses(first)
        choice, means = choose(runs, collection, hits)
        log.info("chosen: %s", choice)
        record |= {"choice": choice, "validation": means}
        best = runs[choice["learning_rate"], int(snakemake.wildcards.seed)]
        reranked = finetuned_hits(best, choice["updates"], collection, hits)
        write(PREDICTIONS, prediction_rows(reranked), snakemake.output.predictions)
