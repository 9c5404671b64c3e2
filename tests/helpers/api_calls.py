"""Questions for an API on loopback, its answer, and what a client stored."""

from lextables.models.api import Api, Call
from lextables.models.spending import Ledger, Limits

SECRET = "sk-secret-key"
QUESTION = Call("/completions", {"model": "served", "prompt": "?", "max_tokens": 1})
ANSWER = {
    "choices": [{"text": "A"}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 1},
}


def text(answer):
    """Return the text of a server's answer."""
    return answer["choices"][0]["text"]


def questions(count):
    """Return calls with different prompts."""
    return [
        Call(QUESTION.path, QUESTION.body | {"prompt": f"{number}?"})
        for number in range(count)
    ]


def ask(server, folder, *calls, model="served", **limits):
    """Return the texts of a server's answers to ``calls`` (default: one question)."""
    client = Api(server.base, model, folder, Limits(**limits))
    asks = [
        lambda call=call: text(client.ask(call, text)) for call in calls or [QUESTION]
    ]
    return client.ask_all(asks, "questions")


def spent(folder):
    """Return the tokens in the ledger of a folder."""
    return Ledger(folder, Limits(), "served").spent.tokens


def files(folder):
    """Return the files of the cached answers in a folder."""
    return sorted(folder.glob("*/*.json.gz"))
