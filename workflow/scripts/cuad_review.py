"""Predict the clauses of a user's contract with a trained model and write the
review.
"""

from pathlib import Path

from lextables.papers.cuad import marks, reading, review
from lextables.papers.cuad.reviewer import LINEAR, question_id
from lextables.pipeline import not_run
from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import RunSettings
from lextables.review.contract_text import read_contract

with job(snakemake.log[0]) as log:
    params = snakemake.params
    output = snakemake.output
    if why := not_run.inherited(map(str, snakemake.input)):
        raise BadInput(f"the model that reads the contract is not run: {why}")
    questions, categories = snakemake.input.data
    contract = read_contract(params.contract)
    run = Path(params.run)
    record = read_json(run / "run.json", RunSettings)
    settings = record["settings"]
    names = [row["category"] for row in read(categories)]
    notes = contract.notes
    if settings.get("kind") == LINEAR:
        reading.read_with_linear_model(
            contract.text, names, settings, params.weights, output.predictions
        )
    else:
        # Imported here: torch takes seconds to load, and linear models do not need it.
        from lextables.models import device
        from lextables.models.weights import weights_folder
        from lextables.tasks.spans.windows import question_texts

        where = device.pick(params.device)
        wordings = question_texts(questions)
        windows = reading.read_with_fine_tuned_model(
            contract.text,
            {name: wordings[name] for name in names},
            run / "reading",
            params.weights or weights_folder(settings),
            where,
            output.predictions,
        )
        log.info(
            "read %d of %d windows on %s",
            windows.read,
            windows.windows,
            device.describe(where),
        )
        notes += review.unread_windows(windows.most, windows.of_question)

    asked = {question_id(name): name for name in names}
    findings = review.findings(read(output.predictions), asked, params.minimum)
    scores, by_category = review.scores_of(read(run / "scores.parquet"))
    marked = list(read(snakemake.input.marks))
    about = review.About(
        model=review.model_of(record),
        minimum=params.minimum,
        scores=scores,
        categories={name: by_category[name] for name in names if name in by_category},
        marks=marks.by_category(marked, params.minimum),
        bands=marks.bands(marked),
        warning=review.SAMPLE if snakemake.config["data"] == "sample" else "",
        unread=notes,
    )
    title = f"Review of {Path(params.contract).name}"
    write_text(output.csv, review.to_csv(findings, about.marks))
    write_text(output.html, review.to_html(contract.text, findings, title, about))
