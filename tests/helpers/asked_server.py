"""A model behind a server on loopback, and the answers of such a server."""

from lextables.models import api
from lextables.models.cached_model import open_language_model
from lextables.models.language_model import Message
from lextables.models.spending import Limits

PROMPT = (Message("system", "Answer with a letter."), Message("user", "Which one?"))
USAGE = {"usage": {"prompt_tokens": 20, "completion_tokens": 1}}


def repeat_quickly(monkeypatch):
    """Set a key, and let the client repeat requests without waiting."""
    monkeypatch.setenv(api.KEY, "sk-test-key")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.002)


def models(serve, folder):
    """Return a function that starts a server and returns its model and the server.

    ``serve`` is the fixture, and answers are cached in ``folder``.  The function takes
    the answer of the server, and settings of the model.
    """

    def make(answer, **changes):
        server = serve(answer)
        settings = {"model": "mine", "weights": "served", "api": server.base, **changes}
        return open_language_model(settings, folder, Limits(), "cpu"), server

    return make


def chat(content, finish="stop", **message):
    """An answer of a server with this text."""
    message = {"role": "assistant", "content": content, **message}
    return {"choices": [{"message": message, "finish_reason": finish}]} | USAGE
