"""A row whose job cannot be done: its table says why, and the same command does it when the cause is gone."""

import csv
from pathlib import Path

import pytest

import forked
from language_model_server import reply, serving

ROOT = Path(__file__).parents[2]
MINE = "Mine, 5 retrieved paragraphs"
LEFT_OUT = ["privacy/SmolLM2-135M-Instruct, 5 retrieved paragraphs", "Words and a linear model", "GPT-4"]
TOKEN = {"token": "A", "logprob": -0.1, "top_logprobs": [{"token": "A", "logprob": -0.1}]}
ANSWER = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [TOKEN]}}]}
USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}


@pytest.fixture
def server():
    """A server that knows no model, until its attribute ``there`` is true."""

    def answer(handler, path, body):
        there = getattr(made, "there", False)
        error = {"error": {"message": "no model mine", "code": "model_not_found"}}
        reply(handler, 200 if there else 404, ANSWER | USAGE if there else error)

    with serving(answer) as made:
        yield made


def test_a_row_that_is_not_run_stops_no_table_and_is_tried_again(tmp_path, server):
    def run():
        mine = "extra_models={name: Mine, kind: language-model-api, model: mine}"
        config = ("papers=privacy", f"llm={server.base}", mine, f"exclude_rows={LEFT_OUT}")
        words = ("--directory", tmp_path, "--cores", "2", "privacy_table2", "--config", *config)
        done = forked.snakemake(tmp_path, "--snakefile", ROOT / "Snakefile", *words)
        assert done.returncode == 0, done.stderr[-3000:]
        with (tmp_path / "results/sample/tables/privacy/table2.csv").open(newline="") as file:
            lines = {line["column"]: line for line in csv.DictReader(file) if line["row"] == "overall"}
        return done.stderr, lines

    for _ in range(2):  # tried again, and not run again
        before = len(server.asked)
        said, table = run()
        assert len(server.asked) > before
        assert table[MINE]["verdict"] == "not run" and "no model mine" in table[MINE]["reason"]
        assert table["Answers of the other sites"]["ours"]
        assert said.splitlines()[-1] == f"Not run: {table[MINE]['reason']}."
    assert table["GPT-4"]["reason"] == "excluded in the configuration"
    assert not [column for column in table if "SmolLM2" in column or column == LEFT_OUT[1]]
    server.there = True
    said, table = run()
    assert table[MINE]["ours"] and "no model mine" not in table[MINE]["reason"]
    assert "Not run" not in said
    assert "Nothing to be done" in run()[0]
