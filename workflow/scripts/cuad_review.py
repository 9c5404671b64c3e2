"""Predict the clauses of a user's contract with a trained model and write the review."""

from pathlib import Path

from lextables.papers.cuad import marks, reading, review
from lextables.papers.cuad.contract_text import read_contract
from lextables.papers.cuad.reviewer import LINEAR, question_id
from lextables.pipeline import not_run
from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import RunSettings

with job(snakemake.log[0]) as log:
    if why := not_run.inherited(map(str, snakemake.input)):
        raise BadInput(f"the model that reads the contract is not run: {why}")
    questions, categories = snakemake.input.data
    output, minimum = snakemake.output, snakemake.params.minimum
    contract = read_contract(snakemake.params.contract)
    run, weights = Path(snakemake.params.run), snakemake.params.weights
    record = read_json(run / "run.json", RunSettings)
    settings, names = record["settings"], [row["category"] for row in read(categories)]
    if settings.get("kind") == LINEAR:
        reading.read_with_linear_model(
            contract.text, names, settings, weights, output.predictions
        )
        unread = ()
    else:
        # Imported here: torch takes seconds to load, and linear models do not need it.
        from lextables.models import device
        from lextables.models.weights import weights_folder
        from lextables.tasks.spans.windows import question_texts

        where, wordings = (
            device.pick(snakemake.params.device),
            question_texts(questions),
        )
        progress = reading.read_with_fine_tuned_model(
            contract.text,
            {name: wordings[name] for name in names},
            run / "reading",
            weights or weights_folder(settings),
            where,
            output.predictions,
        )
        log.info(
            "read %d of %d windows on %s",
            progress.read,
            progress.windows,
            device.describe(where),
        )
        unread = review.unread_windows(progress.most, progress.of_question)

    asked = {question_id(name): name for name in names}
    found = review.findings(read(output.predictions), asked, minimum)
    scores, by_category = review.scores_of(read(run / "scores.parquet"))
    marked = list(read(snakemake.input.marks))
    about = review.About(
        review.model_of(record),
        minimum,
        scores,
        {name: by_category[name] for name in names if name in by_category},
        marks.by_category(marked, minimum),
        marks.bands(marked),
        review.SAMPLE if snakemake.config["data"] == "sample" else "",
        (*contract.notes, *unread),
    )
    title = f"Review of {Path(snakemake.params.contract).name}"
    write_text(output.csv, review.to_csv(found, about.marks))
    write_text(output.html, review.to_html(contract.text, found, title, about))
