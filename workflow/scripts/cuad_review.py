"""Read a user's contract with a trained model and write what was found."""

import json
from pathlib import Path

from lextables.atomic import write_text
from lextables.cuad import contract_reading, review
from lextables.cuad.contract_text import read_contract
from lextables.dataset import read
from lextables.job import job
from lextables.models import device
from lextables.models.weights import weights_folder
from lextables.tasks.spans.features import question_texts

with job(snakemake.log[0]) as log:
    questions, categories = snakemake.input.data
    output, minimum = snakemake.output, snakemake.params.minimum
    contract, where = read_contract(snakemake.input.contract), device.pick(snakemake.params.device)
    run = Path(snakemake.params.run)
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    weights = snakemake.params.weights or weights_folder(record["settings"])

    wordings = question_texts(questions)
    asked = {row["category"]: wordings[row["category"]] for row in read(categories)}
    done = contract_reading.read_contract(
        contract.text, asked, run / "reading", weights, where, output.predictions
    )
    log.info("read %d of %d windows on %s", done.read, done.windows, device.describe(where))

    names = {contract_reading.question_id(category): category for category in asked}
    found = review.findings(read(output.predictions), names, minimum)
    scores, by_category = review.scores_of(read(run / "scores.parquet"))
    about = review.About(
        review.model_of(record),
        minimum,
        scores,
        {category: by_category[category] for category in asked if category in by_category},
        review.SAMPLE if snakemake.config["data"] == "sample" else "",
        (*contract.notes, *review.unread_windows(done.most, done.of_question)),
    )
    title = review.title_of(snakemake.input.contract)
    write_text(output.csv, review.to_csv(found))
    write_text(output.html, review.to_html(contract.text, found, title, about))
