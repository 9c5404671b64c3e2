"""Answers of servers that are unusual, broken or hostile, through the client and over
the loopback.
"""

import json

import pytest

from helpers.asked_server import PROMPT, USAGE, chat, models, repeat_quickly
from helpers.language_model_server import always, in_turn, reply
from lextables.models import api
from lextables.models.accepted_requests import is_filtered, reason_of, refused_part
from lextables.models.language_model import Choice, Message, Request, Written
from lextables.models.multiple_choice import parsed, pick
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded


@pytest.fixture(autouse=True)
def quick_repeats(monkeypatch):
    repeat_quickly(monkeypatch)


@pytest.fixture
def model(serve, tmp_path):
    """Return a function that starts a server and returns its model and the server."""
    return models(serve, tmp_path / "calls")


def texts(served, prompt=PROMPT):
    return [written.text for written in served.write([Request(prompt, 16, 0.0, 3)])]


def stored(tmp_path):
    return list((tmp_path / "calls").rglob("*.json.gz"))


def refusing(refuses, status, error):
    """A server that rejects the requests for which ``refuses`` is true."""

    def answer(handler, path, asked):
        if refuses(asked):
            reply(handler, status, error)
        else:
            reply(handler, 200, chat("B"))

    return answer


# Answers that users reported about other tools


def test_reported_answer_with_reasoning(model):
    content = "<think>\nOption A is the better one. B is not.\n</think>\n\nB"
    served, _ = model(always(200, chat(content)))
    (picked,) = pick(served, [(PROMPT, ["Yes", "No"])], samples=1)
    assert picked.winners == [1]


def test_reported_first_token_of_reasoning(model):
    token = {"token": "<think>", "logprob": -0.0001}
    answer = chat("<think>", "length")
    logprobs = {"content": [{**token, "top_logprobs": [token]}]}
    answer["choices"][0]["logprobs"] = logprobs
    served, _ = model(always(200, answer))
    (picked,) = pick(served, [(PROMPT, ["Yes", "No"])], samples=2)
    assert (picked.winners, picked.unparseable) == ([], 2)


@pytest.mark.parametrize("count", [4096, 4096.0, "4096"])
def test_reported_cut_prompt(count, model, tmp_path):
    cut = chat("A") | {"usage": {"prompt_tokens": count, "completion_tokens": 1}}
    served, _ = model(always(200, cut))
    with pytest.raises(BadInput, match=r"read 4,096 tokens of a prompt of 30,000 wor"):
        texts(served, (Message("user", "word " * 30_000),))
    assert stored(tmp_path) == []


# (name of a parameter, status, error with which the server refuses it)
PARAMETERS = [
    (
        "max_tokens",
        400,
        {"message": "'max_tokens' is not supported. Use 'max_completion_tokens'."},
    ),
    ("max_tokens", 400, {"message": "Unsupported parameter", "param": "max_tokens"}),
    ("max_tokens", 400, {"message": "Unknown field: maxTokens"}),
    ("max_tokens", 400, {"message": 'Unknown name "max_tokens": no such field'}),
    ("temperature", 400, {"message": "only the default (1) temperature is supported"}),
    ("temperature", 400, {"message": "Temperature must be 1 for this model"}),
    ("temperature", 500, {"message": "temperature is not supported"}),
    ("temperature", 501, {"message": "not implemented: temperature"}),
    ("temperature", 404, {"message": "unsupported: temperature"}),
    ("seed", 400, "parameter seed is not allowed"),
    ("seed", 400, [{"message": "seed: unknown"}]),
    ("seed", 422, {"errors": [{"loc": ["body", "seed"], "msg": "Extra inputs"}]}),
    ("seed", 400, {"code": "bad", "innererror": {"message": "seed"}}),
]


@pytest.mark.parametrize(("name", "status", "error"), PARAMETERS)
def test_a_refused_parameter_in_other_words(name, status, error, model, tmp_path):
    server_answers = refusing(lambda asked: name in asked, status, {"error": error})
    served, server = model(server_answers)
    with recorded(tmp_path / "run.json", {}):
        assert texts(served) == ["B"]
    assert name not in server.asked[-1][2]
    key = "deviations" if name == "temperature" else "notes"
    assert len(read_json(tmp_path / "run.json")[key]) == 1


SYSTEM = [
    (400, "role 'system' is not allowed"),
    (422, "Input should be 'user' or 'assistant'"),
    (400, "invalid message role"),
    (500, "System role not supported"),
    (500, "Value is not callable: raise_exception('Only user, assistant roles')"),
    (400, "roles must alternate user/assistant/user/assistant/..."),
]


@pytest.mark.parametrize(("status", "message"), SYSTEM)
def test_a_refused_system_text_in_other_words(status, message, model):
    def has_system(asked):
        return asked["messages"][0]["role"] == "system"

    served, server = model(refusing(has_system, status, {"error": message}))
    assert texts(served) == ["B"]
    assert len(server.asked[-1][2]["messages"]) == 1


# Reasoning of other families

REASONED = [
    "<thought_process>A</thought_process>\nB",
    "<inner_monologue>A</inner_monologue>B",
    "<chain_of_thought>A</chain_of_thought>B",
    "<chain-of-thought>A</chain-of-thought>B",
    "<cot>A</cot>B",
    "<rationale>A</rationale>B",
    "<reflect>A</reflect>B",
    "<planning>A</planning>B",
    "<antThinking>A</antThinking>B",
    "<mm:think>A</mm:think>B",
    '<think time="3">A</think>B',
    "< think >A</ think >B",
    "```\n<think>A</think>\n```\nB",
    "<｜begin▁of▁think｜>A<｜end▁of▁think｜>B",
    "<|inner_prefix|>A<|inner_suffix|>B",
    "<unused94>thought\nA<unused95>B",
    "<|channel>thought\nA<channel|>B",
    "Here is my thought process:\nA\nHere is my response:\nB",
    "<|im_start|>think\nA\n<|im_start|>answer\nB",
    "<think>A</think><|begin_of_box|>B<|end_of_box|>",
    "<|START_THINKING|>A<|END_THINKING|><|START_RESPONSE|>B<|END_RESPONSE|>",
    "<|begin_of_thought|>A<|end_of_thought|><|begin_of_solution|>B<|end_of_solution|>",
    "<think>A</think><answer>B</answer>",
    "B<|im_end|>",
    "B</s>",
]


@pytest.mark.parametrize("content", REASONED)
def test_reasoning_of_other_families_is_no_answer(content, model):
    served, _ = model(always(200, chat(content)))
    (picked,) = pick(served, [(PROMPT, ["Yes", "No"])], samples=1)
    assert picked.winners == [1]


UNCLOSED = [
    '<think time="3">The answer is A',
    "<thought_process>A",
    "<inner_monologue>\nA",
    "<|inner_prefix|>A",
    "<unused94>thought\nA",
    "<|channel>thought\nA",
    "Here is my thought process:\nA",
    "<|im_start|>think\nA",
    '<think>```json\n{"answer": "A"}\n```',
]


@pytest.mark.parametrize("content", UNCLOSED)
@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS"])
def test_an_answer_cut_in_its_reasoning_is_no_answer(content, finish, model):
    assert Written(content).text == ""
    served, server = model(
        in_turn(always(200, chat(content, finish)), always(200, chat("B")))
    )
    assert texts(served) == ["B"]
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "text",
    [
        "<thinker>",
        "<reasonable>",
        "<plan B>",
        "the <Company>",
        "a < b, c > d",
        "<cots>",
    ],
)
def test_a_text_with_brackets_is_unchanged(text):
    assert Written(text).text == text


@pytest.mark.parametrize(
    "text",
    ["\\boxed{B}", "$\\boxed{B}$", '```json\n{"answer": "B"}\n```', "Final answer: B"],
)
def test_an_answer_in_another_form_is_parsed(text):
    assert parsed(text, ["Yes", "No"]) == 1
    assert parsed(text.replace("B", "Because"), ["Yes", "No"]) is None


@pytest.mark.parametrize("token", ["<unused94>", "<|inner_prefix|>", "<|channel>", "<"])
@pytest.mark.parametrize("field", ["", "reasoning_details", "thinking_blocks"])
def test_probabilities_of_other_first_tokens(token, field, model):
    first = {"token": token, "logprob": -0.01}
    if field:
        first["token"] = "A"
    answer = chat("")
    answer["choices"][0]["message"][field] = [{"text": "A"}]
    answer["choices"][0]["logprobs"] = {"content": [{**first, "top_logprobs": []}]}
    served, _ = model(always(200, answer))
    (weighed,) = served.weigh([Choice(PROMPT, ("A", "B"))])
    assert weighed.log_probabilities is None


# Answers of the status 200 without an answer

ERRORS = [
    {"errors": [{"message": "overloaded"}]},
    {"error": [{"message": "overloaded"}]},
    {"detail": "Internal error"},
    {"message": "model is loading"},
    {"fault": {"faultstring": "quota"}, "message": "quota"},
    {"status": "error", "message": "upstream"},
    {"success": False, "msg": "rate limit"},
    {"code": 1302, "msg": "rate limit", "data": None},
    {"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}},
    {"choices": None} | USAGE,
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    chat("par", "network_error"),
    chat("par", "insufficient_system_resource"),
    chat("par", "abort"),
    chat("par", "cancelled"),
    b"",
    b" \n",
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_in_other_words_is_repeated_and_never_stored(error, model, tmp_path):
    served, server = model(in_turn(always(200, error), always(200, chat("B"))))
    assert texts(served) == ["B"]
    assert len(server.asked) == 2 and len(stored(tmp_path)) == 1


TEXTS = [
    (chat([{"type": "output_text", "text": "B"}]), "B"),
    (chat([{"type": "reasoning", "text": "A"}, {"type": "text", "text": "B"}]), "B"),
    (chat([{"text": "B"}]), "B"),
    (chat(["B"]), "B"),
    (chat([{"type": "text", "text": None}]), ""),
    ({"choices": [{"message": None, "finish_reason": "stop"}]}, ""),
    ({"choices": [{"message": {"role": "assistant"}}]}, ""),
    (chat(None, "tool_calls", tool_calls=[{"id": "1"}]), ""),
    (chat("", "stop", reasoning_content="A"), ""),
    (chat("B", prompt_filter_results=[{}]), "B"),
    (b'{"choices": [{"message": {"content": "\\ud800B"}}]}', "?B"),
    (b"\xef\xbb\xbf" + json.dumps(chat("B")).encode(), "B"),
    (b"\n\n   " + json.dumps(chat("B")).encode(), "B"),
    *((chat("B") | {"usage": usage}, "B") for usage in ([1], "x", 5, None, {"a": 1})),
    (chat("B") | {"usage": {"prompt_tokens": 10**400}}, "B"),
    (chat("B") | {"usage": {"prompt_tokens": -5, "completion_tokens": -1}}, "B"),
    (chat("B") | {"usage": {"prompt_tokens": 100, "prompt_tokens_details": [1]}}, "B"),
]


@pytest.mark.parametrize(("answer", "text"), TEXTS)
def test_the_text_of_an_unusual_answer(answer, text, model):
    served, _ = model(always(200, answer))
    assert texts(served) == [text]


def probabilities(token):
    answer = chat("A")
    answer["choices"][0]["logprobs"] = {"content": [token]}
    return json.dumps(answer).encode()


ONE = {"token": "A", "logprob": -0.1, "top_logprobs": []}
BROKEN = [
    {"choices": {"message": {"content": "B"}}},
    {"choices": [None]},
    {"choices": [{"delta": {"content": "B"}, "finish_reason": "stop"}]},
    chat({"text": "B"}),
    chat(5),
    chat(True),
    [chat("B")],
    "B",
    None,
    b"[" * 100_000,
    b'{"choices": NaN}',
    b'data: {"choices": [{"delta": {"content": "B"}}]}\n\ndata: [DONE]\n\n',
    b'{"response": "B", "done": false}\n{"response": "", "done": true}\n',
    json.dumps(chat("B")).encode() * 2,
    json.dumps(chat("B")).encode("utf-16"),
    {"output": [{"content": [{"type": "output_text", "text": "B"}]}]},
    {"candidates": [{"content": {"parts": [{"text": "B"}]}}]},
    probabilities({**ONE, "logprob": float("nan")}),
    probabilities({**ONE, "logprob": float("inf")}),
    probabilities({**ONE, "logprob": "-0.1"}),
    probabilities({**ONE, "logprob": False}),
    probabilities({**ONE, "logprob": 0.5}),
    probabilities({**ONE, "top_logprobs": [ONE, {**ONE, "token": "B"}]}),
    probabilities({**ONE, "bytes": [300]}),
    probabilities({**ONE, "bytes": 10**9}),
    probabilities({**ONE, "top_logprobs": {"A": -0.1}}),
]


@pytest.mark.parametrize("answer", BROKEN)
def test_an_answer_of_another_form_is_one_sentence(answer, model, tmp_path):
    served, server = model(always(200, answer))
    with pytest.raises(BadInput, match=r"form of OpenAI's API") as error:
        served.weigh([Choice(PROMPT, ("A", "B"))])
    assert len(str(error.value)) < 500 and len(server.asked) == 1
    # The address is right where an answer has choices.
    is_address_right = '"choices"' in str(error.value)
    assert ("base address" in str(error.value)) != is_address_right


def test_a_token_that_is_half_a_character_is_read(model):
    surrogate = probabilities({**ONE, "token": "\ud800", "logprob": -0.01})
    served, _ = model(always(200, surrogate))
    (weighed,) = served.weigh([Choice(PROMPT, ("A", "B"))])
    assert weighed.log_probabilities == (float("-inf"), float("-inf"))


# Statuses

PAST = "Wed, 21 Oct 2015 07:28:00 GMT"
WAITS = [
    {"Retry_After": "0"},
    {"Retry_After": PAST},
    {"Retry_After": "soon"},
    {"Retry_After": "-5"},
    {"Retry_After": "nan"},
    {"Retry_After": "inf"},
    {"Retry_After": "Wed, 21 Oct 99999 07:28:00 GMT"},
    {"Retry_After": "Wed, 21 Oct 2015 07:28:00 +999999999999"},
    {"Retry_After": "Thu, 01 Jan 0001 00:00:00 +2359"},
    {},
]


@pytest.mark.parametrize("headers", WAITS)
@pytest.mark.parametrize("status", [429, 529])
def test_a_temporary_status_is_repeated_whatever_its_wait(status, headers, model):
    busy = always(status, {"error": "busy"}, **headers)
    served, server = model(in_turn(busy, always(200, chat("B"))))
    assert texts(served) == ["B"]
    assert len(server.asked) == 2


@pytest.mark.parametrize("wait", ["99999", "Wed, 21 Oct 2099 07:28:00 GMT", "9" * 5000])
def test_a_long_wait_ends_the_row_and_is_named(wait, model):
    served, server = model(always(429, {"error": "busy"}, Retry_After=wait))
    with pytest.raises(BadInput, match=f"Retry-After: {wait:.40}") as error:
        texts(served)
    assert len(server.asked) <= api.ATTEMPTS and len(str(error.value)) < 400


REJECTIONS = [
    (402, {"error": {"message": "Insufficient credits"}}, "asks for money"),
    (413, b"too large", "finds the request too long"),
    (
        400,
        {"error": {"code": "context_length_exceeded", "message": "8192 tokens"}},
        "finds the request too long",
    ),
    (
        400,
        {"error": {"message": "the request exceeds the available context size"}},
        "finds the request too long",
    ),
    (400, {"message": "prompt is too long: 9000 tokens"}, "finds the request too long"),
    (400, {"message": "the name is too long"}, "rejects the request"),
    (302, b"", "redirects the request"),
    (308, b"", "redirects the request"),
    (451, {"error": {"message": "for legal reasons"}}, "for legal reasons"),
    (400, b"[" * 100_000, "rejects the request"),
    (400, {"error": None}, "no reason"),
    (400, {"error": 5}, "status 400: 5"),
    (400, {"error": {"message": "x" * 1_000_000}}, "status 400: x"),
    (400, {"error": {"message": "\x1b[2Ja\nb"}}, "a b"),
    (400, {"error": {"message": "bad key sk-test-key"}}, r"bad key \(the key\)"),
]


@pytest.mark.parametrize(("status", "body", "sentence"), REJECTIONS)
def test_a_rejection_is_one_sentence(status, body, sentence, model, tmp_path):
    # Of the redirects to itself none is followed.
    served, server = model(always(status, body, Location="/v1/chat/completions"))
    with pytest.raises(api.Refused, match=sentence) as error:
        texts(served)
    text = str(error.value)
    assert len(server.asked) == 1 and stored(tmp_path) == []
    assert len(text) < 450 and "\x1b" not in text and "\n" not in text


FILTERS = [
    {"code": "ResponsibleAIPolicyViolation"},
    {"message": "bad", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
    {"message": "Forbidden", "metadata": {"reasons": ["violates usage policies"]}},
    {"errors": [{"message": "rejected as a result of our safety system"}]},
]


@pytest.mark.parametrize("error", FILTERS)
@pytest.mark.parametrize("status", [400, 403])
def test_a_filter_in_other_words_is_one_unanswered_question(status, error, model):
    served, _ = model(always(status, {"error": error}))
    assert texts(served) == [""]


def test_the_words_of_an_error_do_not_repeat_the_request():
    repeated = {"seed": 3, "prompt": "sensitive material and safety"}
    error = {"detail": [{"loc": ["body"], "msg": "Extra inputs", "input": repeated}]}
    reason = reason_of(error)
    assert reason == "Extra inputs body"
    assert not is_filtered(reason) and refused_part(reason, repeated) is None
    assert reason_of({"error": {"error": {"error": {"error": {"error": {}}}}}}) == ""


# What a message says is done, and then the model answers


@pytest.mark.parametrize("key", ["sk-test key", "sk-test\n", '"sk-téèst"'])
def test_advice_about_a_key_works(key, model, monkeypatch):
    monkeypatch.setenv(api.KEY, key)
    with pytest.raises(BadInput, match="set it to the key only"):
        model(always(200, chat("B")))
    monkeypatch.setenv(api.KEY, "sk-test-key")
    served, _ = model(always(200, chat("B")))
    assert texts(served) == ["B"]


ADVICE = [
    (always(401, {"error": "no"}), "set OPENAI_API_KEY to a key of this server"),
    (always(402, {"error": "no"}), "pay for its account"),
    (always(404, {"error": "no"}), "correct the model's name, or llm"),
    (always(308, b""), "set llm to the final address"),
    (always(413, b""), "raise its limit, or set llm to another"),
    (always(200, chat(5)), "update the server, or set llm to another"),
    (always(200, b"<html>"), "set llm to the base address of an OpenAI-compatible API"),
    (always(200, chat("B"), Content_Encoding="br"), "encoding br"),
    (always(500, b""), "try again later; answers so far are cached"),
]


@pytest.mark.parametrize(("faulty", "advice"), ADVICE)
def test_advice_about_a_server_works(faulty, advice, model):
    served, _ = model(faulty)
    with pytest.raises(BadInput, match=advice):
        texts(served)
    # After the correction the server answers, or another one does.
    served, _ = model(always(200, chat("B")))
    assert texts(served) == ["B"]
