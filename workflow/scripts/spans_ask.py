"""Ask a language model to quote the answers in the test contracts."""

from lextables.models import cached_model
from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.asking import Extracted, Reader, asked_questions, nbest
from lextables.tasks.spans.outputs import contract_of
from lextables.tasks.spans.schema import NBEST

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    contracts, questions = snakemake.input.data
    with recorded(snakemake.output.record, settings) as record:
        model = cached_model.of_rule(settings, snakemake.params)
        reader, found = Reader(model, settings), Extracted()
        texts = {
            row["contract_id"]: row["text"]
            for row in read(contracts)
            if row["split"] == "test"
        }
        questions = list(read(questions))
        of_contracts = asked_questions(questions, settings["questions"])
        pieces = {
            name: reader.pieces(name, texts[name], rows)
            for name, rows in of_contracts.items()
        }
        piece_lengths = [
            piece.end - piece.start
            for name, rows in of_contracts.items()
            for piece in pieces[name]
            for _ in rows
        ]
        log.info(
            "%s: %d contracts, %d pieces",
            settings["model"],
            len(pieces),
            sum(map(len, pieces.values())),
        )
        model.expect(2 * len(piece_lengths), 2 * sum(piece_lengths))
        for name, rows in of_contracts.items():
            for piece in pieces[name]:
                reader.read(piece, texts[name], rows, found)
        rows = (
            row
            for name, contract in sorted(contract_of(questions, "test").items())
            for row in nbest(
                name, texts[contract], found.spans[name], settings["n_best"]
            )
        )
        write(NBEST, rows, snakemake.output.predictions)
        record |= {"asked": dict(found.counts), "device": model.device}
        log.info("asked: %s", record["asked"])
