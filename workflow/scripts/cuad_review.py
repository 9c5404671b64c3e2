"""Read a user's contract with a trained model and write what was found."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from lextables.atomic import write_text
from lextables.cuad import review
from lextables.cuad.contract_text import read_contract
from lextables.dataset import read, write
from lextables.job import job
from lextables.models import device, window_ranking
from lextables.models.span_extraction import NBEST, load, predict
from lextables.models.span_runs import READ_AT_ONCE, question_texts, window_settings
from lextables.models.span_windows import Collator, WindowDataset, write_features
from lextables.models.tokenizer import load_tokenizer

with job(snakemake.log[0]) as log, TemporaryDirectory() as work:
    contract = read_contract(snakemake.input.contract)
    name, texts = "contract", {"contract": contract.text}
    run = Path(snakemake.params.run)
    weights = run / "model"
    reading = json.loads((weights / "reading.json").read_text(encoding="utf-8"))
    categories = {f"{name}__{row['category']}": row["category"] for row in read(snakemake.input.categories)}

    contracts, asked, folder = (Path(work) / part for part in ("contracts", "questions", "features"))
    pq.write_table(pa.table({"contract_id": [name], "text": [contract.text]}), contracts)
    questions = {
        "question_id": list(categories),
        "contract_id": [name] * len(categories),
        "category": list(categories.values()),
    }
    pq.write_table(pa.table(questions), asked)
    tokenizer, settings = load_tokenizer(weights), window_settings(reading)
    wordings = question_texts(snakemake.input.questions)
    write_features(contracts, asked, wordings, folder, tokenizer, settings, labelled=False, shards=1)

    most, chosen = reading["windows_per_question"], None
    if most:
        ranker = window_ranking.load(weights / "window_ranking.npz")
        chosen = window_ranking.choose(ranker, folder, texts, most)
    dataset = WindowDataset(folder, tokenizer, settings, wordings, chosen)
    where = device.pick(snakemake.params.device)
    predictions = predict(
        load(str(weights), where),
        dataset,
        texts,
        Collator.of(tokenizer),
        batch_size=READ_AT_ONCE,
        n_best=reading["n_best"],
        max_answer_length=reading["max_answer_length"],
        bf16=reading["bf16"],
    )
    write(NBEST, predictions, snakemake.output.predictions)
    log.info("read %d of %d windows on %s", len(dataset), len(dataset.windows), device.describe(where))

    minimum = snakemake.params.minimum
    found = review.findings(read(snakemake.output.predictions), categories, minimum)
    scores, by_category = review.scores_of(read(run / "scores.parquet"))
    about = review.About(
        review.model_of(json.loads((run / "run.json").read_text(encoding="utf-8"))),
        minimum,
        scores,
        {category: by_category[category] for category in categories.values() if category in by_category},
        review.SAMPLE if snakemake.config["data"] == "sample" else "",
        (*contract.notes, *review.unread_windows(most, int(dataset.windows.window.max()) + 1)),
    )
    title = review.title_of(snakemake.input.contract)
    write_text(snakemake.output.csv, review.to_csv(found))
    write_text(snakemake.output.html, review.to_html(contract.text, found, title, about))
