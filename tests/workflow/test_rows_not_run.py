"""A row that cannot run: its table shows the reason, and the same command runs it once this is fixed."""

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
    "logprob": -0.1,
    "top_logprobs": [{"token": "A", "logprob": -0.1}],
}
ANSWER = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [TOKEN]}}]}
USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}


@pytest.fixture
def server():
    """A server that has no model until its attribute ``has_model`` is true."""

    def answer(handler, path, body):
        has_model = getattr(server, "has_model", False)
        error = {"error": {"message": "no model mine", "code": "model_not_found"}}
        reply(
            handler, 200 if has_model else 404, ANSWER | USAGE if has_model else error
        )

    with serving(answer) as server:
        yield server


def test_a_row_that_cannot_run_does_not_block_its_table_and_runs_later(
    tmp_path, server
):
    def run():
        mine = "extra_models={name: Mine, kind: language-model-api, model: mine}"
        config = (
            "papers=privacy",
            f"llm={server.base}",
            mine,
            f"exclude_rows={LEFT_OUT}",
        )
        finished = forked.pipeline(tmp_path, "privacy_table2", "--config", *config)
        assert finished.code == 0, finished.output[-3000:]
        with (tmp_path / "results/sample/tables/privacy/table2.csv").open(
            newline=""
        ) as file:
            lines = {
                line["column"]: line
                for line in csv.DictReader(file)
                if line["row"] == "overall"
            }
        return finished.output, lines

    screen, table = run()
    assert server.asked
    assert (
        table[MINE]["verdict"] == "not run" and "no model mine" in table[MINE]["reason"]
    )
    assert table["random guesses"]["ours"]
    assert screen.splitlines()[-1] == f"Not run: {table[MINE]['reason']}."
    assert table["GPT-4"]["reason"] == "excluded in the configuration"
    assert not [column for column in table if "SmolLM2" in column or "linear" in column]
    server.has_model = True
    screen, table = run()
    assert table[MINE]["ours"] and "no model mine" not in table[MINE]["reason"]
    assert "Not run" not in screen
    assert "Nothing to be done" in run()[0]
