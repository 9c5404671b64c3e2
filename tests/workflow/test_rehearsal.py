"""A rehearsal of one paper: local language models and a server run through the real
rules to the table.
"""

import csv
import json

from helpers import forked
from lextables import ROOT
from lextables.models.resolve import REHEARSED

# The published rows of models that can be rehearsed on a processor: those of a server
# and of local models with a tiny one of the same architecture.
REHEARSED_ROWS = {
    "GPT 4.1",
    "GPT 4.1 mini",
    "Claude Sonnet 4",
    "DeepSeek R1 Distill Qwen 7B",
    "DeepSeek R1 0528 Qwen3 8B",
    "Gemma 3 4B",
    "Gemma 3 12B",
}


def test_each_published_row_ran_or_has_a_reason_and_none_has_a_verdict(tmp_path):
    config = ("--config", "papers=[contracteval]", "preload=no")
    run = forked.pipeline(tmp_path, "rehearsal", *config)
    assert run.code == 0, run.output
    sentence = (
        "contracteval: 19 published rows, 7 ran, 0 ran in part, 12 could not run."
    )
    assert f"Rehearsal of {sentence}" in run.output
    results = tmp_path / "results/rehearsal"
    with (results / "rehearsal.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["row"] for row in rows if row["status"] == "ran"} == REHEARSED_ROWS
    for row in rows:
        assert (row["status"] == "ran") == (not row["reason"]), row
    with (ROOT / "resources/published/contracteval.csv").open(encoding="utf-8") as file:
        published = {line["row"] for line in csv.DictReader(file)}
    assert {row["row"] for row in rows} == published
    table = results / "tables/contracteval/table3.csv"
    with table.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["verdict"] for line in lines} == {"", "not run"}
    assert not any(line["reproduced"] for line in lines)
    # Where the weights of each run were found.
    origins = set()
    for record in results.glob("runs/*/ask/*/*/*/run.json"):
        origins.add(json.loads(record.read_text())["settings"]["found"])
    assert origins == {REHEARSED, "API"}
