"""Ask a language model about contracts, or about the candidates of a linear model, and keep its outputs."""

from lextables.models import cached_model
from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans import writing
from lextables.tasks.spans.outputs import OUTPUTS, by_question, contract_of, passages

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    contracts, questions = snakemake.input.data
    with recorded(snakemake.output.record, settings) as record:
        model = cached_model.of_rule(settings, snakemake.params)
        texts = {
            row["contract_id"]: row["text"]
            for row in read(contracts)
            if row["split"] == "test"
        }
        questions, candidates = list(read(questions)), None
        if snakemake.input.predictions:
            contract = contract_of(questions, "test")
            candidates = {
                question: passages(texts[contract[question]], spans, settings["least"])
                for question, spans in by_question(read(snakemake.input.predictions[0]))
            }
        rows, counts = writing.write(model, settings, questions, texts, candidates)
        write(OUTPUTS, rows, snakemake.output.predictions)
        record |= {"asked": dict(counts), "device": model.device}
        log.info("asked: %s", record["asked"])
