"""A row that cannot run: its table shows the reason, and the same command runs it once
this is fixed.
"""

import csv

import pytest

from helpers import forked
from helpers.language_model_server import reply, serving

MINE = "Mine, 5 retrieved paragraphs"
LEFT_OUT = [
    "privacy/SmolLM2-135M-Instruct, 5 retrieved paragraphs",
    "Words and a linear model",
    "Sentence embeddings and a linear model",
    "GPT-4",
]
TOKEN = {
    "token": "A",
    "logprob": -0.01,
    "top_logprobs": [{"token": "A", "logprob": -0.01}],
}
ANSWER = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [TOKEN]}}]}
USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}
NO_MODEL = {"error": {"message": "no model mine", "code": "model_not_found"}}


@pytest.fixture
def server():
    """A server that has no model until its attribute ``has_model`` is true."""

    def answer(handler, path, body):
        if server.has_model:
            reply(handler, 200, ANSWER | USAGE)
        else:
            reply(handler, 404, NO_MODEL)

    with serving(answer) as server:
        server.has_model = False
        yield server


def run(folder, server):
    """Make privacy's Table 2; return the screen, and {system: its overall cell}."""
    config = (
        "papers=privacy",
        f"llm={server.base}",
        "extra_models={name: Mine, kind: language-model-api, model: mine}",
        f"exclude_rows={LEFT_OUT}",
    )
    finished = forked.pipeline(folder, "privacy_table2", "--config", *config)
    assert finished.code == 0, finished.output[-3000:]
    path = folder / "results/sample/tables/privacy/table2.csv"
    table = {}
    with path.open(newline="") as file:
        for cell in csv.DictReader(file):
            if cell["row"] == "overall":
                table[cell["column"]] = cell
    return finished.output, table


def test_a_row_that_cannot_run_does_not_block_its_table_and_runs_later(
    tmp_path, server
):
    screen, table = run(tmp_path, server)
    assert server.asked
    assert table[MINE]["verdict"] == "not run"
    assert "no model mine" in table[MINE]["reason"]
    assert table["random guesses"]["ours"]
    assert screen.splitlines()[-1] == f"Not run: {table[MINE]['reason']}."
    assert table["GPT-4"]["reason"] == "excluded in the configuration"
    assert not [column for column in table if "SmolLM2" in column or "linear" in column]
    server.has_model = True
    screen, table = run(tmp_path, server)
    assert table[MINE]["ours"] and "no model mine" not in table[MINE]["reason"]
    assert "Not run" not in screen
    screen, _ = run(tmp_path, server)
    assert "Nothing to be done" in screen
