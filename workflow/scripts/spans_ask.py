"""Ask a language model about the test contracts.

It quotes the answers as spans, or writes outputs that are scored as text.
"""

from lextables.models import cached_model
from lextables.models.language_model import note_asked
from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans import asking, writing
from lextables.tasks.spans.outputs import OUTPUTS, candidate_passages
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import contract_texts, read_questions

with job(snakemake.log[0]):
    contracts, questions = snakemake.input.data
    writes = snakemake.params.writes
    kind = writing.WritingSettings if writes else asking.AskingSettings
    settings = kind(**snakemake.params.settings)
    with recorded(snakemake.output.record, settings.plain()) as record:
        model = cached_model.of_rule(settings.plain(), snakemake.params)
        texts = contract_texts(contracts, "test")
        asked = read_questions(questions)
        if writes:
            candidates = None
            for predictions in snakemake.input.predictions:
                candidates = candidate_passages(
                    read(predictions), asked, texts, settings.least
                )
            rows, counts = writing.write(model, settings, asked, texts, candidates)
            note_asked(record, model, counts)
            write(OUTPUTS, rows, snakemake.output.predictions)
        else:
            rows, counts = asking.ask(model, settings, asked, texts)
            note_asked(record, model, counts)
            write(NBEST, rows, snakemake.output.predictions)
