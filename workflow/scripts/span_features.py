"""The windows of the training examples, of the held-out contracts and of the test contracts."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lextables.dataset import read
from lextables.job import job
from lextables.models.span_runs import held_out_contracts, question_texts, window_settings
from lextables.models.span_windows import write_features
from lextables.models.tokenizer import load_tokenizer
from lextables.models.weights import weights_folder

with job(snakemake.log[0]) as log, tempfile.TemporaryDirectory() as scratch:
    settings = snakemake.params.settings
    contracts, questions, examples = snakemake.input.data
    tokenizer = load_tokenizer(weights_folder(settings))
    splits = {row["contract_id"]: row["split"] for row in read(contracts, ["contract_id", "split"])}
    held = sorted(held_out_contracts(splits, settings["held_out"]))
    asked = pq.read_table(questions)
    held_questions = Path(scratch) / Path(questions).name
    pq.write_table(asked.filter(pc.is_in(asked["contract_id"], pa.array(held))), held_questions)
    parts = {
        "train": {"examples": examples},
        "validation": {"examples": held_questions, "labelled": False},
        "test": {"examples": questions, "labelled": False, "split": "test"},
    }
    for part, arguments in parts.items():
        record = write_features(
            contracts,
            questions=question_texts(questions),
            folder=Path(snakemake.output.train[0]).parents[1] / part,
            tokenizer=tokenizer,
            settings=window_settings(settings),
            tokenizer_name=f"{settings['weights']} {settings['revision'] or ''}".strip(),
            shards=snakemake.params.shards,
            processes=snakemake.threads,
            **arguments,
        )
        log.info("%s: %s", part, record["counts"])
