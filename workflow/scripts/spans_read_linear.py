"""Predict spans in the test contracts with a linear baseline."""

from pathlib import Path

from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans import linear
from lextables.tasks.spans.linear_settings import LinearRun
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import contract_texts, read_questions
from lextables.tasks.spans.units import read_vectors

with job(snakemake.log[0]):
    settings = LinearRun(**snakemake.params.settings)
    contracts, questions = snakemake.input.data
    with recorded(snakemake.output.record, settings.plain()) as record:
        record["trained"] = read_json(snakemake.input.source_records[0])
        weights = Path(snakemake.input.weights[0])
        texts = contract_texts(contracts, "test")
        rows = linear.spans_of(
            linear.load(weights / linear.WEIGHTS),
            texts,
            read_questions(questions),
            settings,
            read_vectors(snakemake.input.vectors, sorted(texts)),
        )
        write(NBEST, rows, snakemake.output.predictions)
