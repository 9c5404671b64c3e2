"""Predict the clauses of a user's contract with a trained model and write the review.

Rule `review_contract` (review.smk).  ``contract`` is the user's file and ``run`` the
folder of the run whose model reads it.  ``weights`` is the folder of its trained
weights, or "" for a model that is loaded as published.  ``marks`` has the precision of
the model on the test contracts.
"""

from pathlib import Path

from lextables.pipeline import not_run
from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import RunSettings, check_weights
from lextables.registry.paper import Review
from lextables.review import marks, page, prediction
from lextables.review.contract_text import read_contract
from lextables.review.reviewer import LINEAR, question_id

with job(snakemake.log[0]) as log:
    params = snakemake.params
    output = snakemake.output
    # The files of a run that could not be computed have the reason instead.
    reason = not_run.inherited(map(str, snakemake.input))
    if reason:
        raise BadInput(f"the model that reads the contract is not run: {reason}")
    questions, categories = snakemake.input.data
    contract = read_contract(params.contract)
    run = Path(params.run)
    record = read_json(run / "run.json", RunSettings)
    settings = record["settings"]
    names = [row["category"] for row in read(categories)]
    if params.weights:
        check_weights(params.weights)
    notes = contract.notes
    if settings.get("kind") == LINEAR:
        prediction.read_with_linear_model(
            contract.text,
            categories=names,
            settings=settings,
            weights=params.weights,
            output=output.predictions,
        )
    else:
        # Imported here: torch takes seconds to load, and linear models do not need it.
        from lextables.models import device
        from lextables.models.weights import weights_folder
        from lextables.tasks.spans.windows import question_texts

        torch_device = device.pick(params.device)
        wordings = question_texts(questions)
        windows = prediction.read_with_fine_tuned_model(
            contract.text,
            wordings={name: wordings[name] for name in names},
            reading=run / "reading",
            weights=params.weights or weights_folder(settings),
            device=torch_device,
            output=output.predictions,
        )
        log.info(
            "read %d of %d windows on %s",
            windows.read,
            windows.windows,
            device.describe(torch_device),
        )
        notes += page.unread_windows(windows.most, windows.of_question)

    # The page has the findings, and the model's scores on the test contracts.
    category_of = {question_id(name): name for name in names}
    review = Review(**params.review)
    findings = page.findings(read(output.predictions), category_of, review.minimum)
    scores, by_category = page.scores_of(read(run / "scores.parquet"))
    mark_counts = list(read(snakemake.input.marks))
    about = page.About(
        review=review,
        model=page.model_of(record, review.data),
        scores=scores,
        categories={name: by_category[name] for name in names if name in by_category},
        marks=marks.by_category(mark_counts, review.minimum),
        bands=marks.bands(mark_counts),
        warning=page.SAMPLE if snakemake.config["data"] == "sample" else "",
        unread=notes,
    )
    title = f"Review of {Path(params.contract).name}"
    write_text(output.csv, page.to_csv(findings, about.marks, review))
    write_text(output.html, page.to_html(contract.text, findings, title, about))
