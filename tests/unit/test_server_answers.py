"""Language-model servers as they are: refused parameters, filters, errors, and cut
prompts.
"""

import json
import math

import pytest

from helpers.asked_server import PROMPT, USAGE, chat, models, repeat_quickly
from helpers.language_model_server import always, in_turn, reply
from lextables.models import api, language_model_server
from lextables.models.accepted_requests import error_status, is_filtered
from lextables.models.api import embed
from lextables.models.language_model import Choice, Message, Request
from lextables.models.multiple_choice import pick
from lextables.models.spending import Limits
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded

REQUEST = Request(PROMPT, 16, 0.0, 3)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    repeat_quickly(monkeypatch)


@pytest.fixture
def model(serve, tmp_path):
    """Return a function that starts a server and returns its model and the server."""
    return models(serve, tmp_path / "calls")


def bodies(server):
    return [asked for _, _, asked in server.asked]


def texts(served, *requests):
    return [written.text for written in served.write(requests or [REQUEST])]


def stored(tmp_path):
    return list((tmp_path / "calls").rglob("*.json.gz"))


# Models


@pytest.mark.parametrize(
    ("answered", "note"),
    [
        ("other-7b", ["the server says that the model other-7b answered"]),
        ("Served2", ["the server says that the model Served2 answered"]),
        ("served-2024-08-06", []),
        ("models/Served.gguf", []),
        ("", []),
        (None, []),
    ],
)
def test_another_model_that_answers_is_recorded(answered, note, model, tmp_path):
    served, server = model(always(200, chat("B") | {"model": answered}))
    for _ in range(2):  # the second time with the cached answer
        with recorded(tmp_path / "run.json", {}):
            assert texts(served) == ["B"]
        assert read_json(tmp_path / "run.json").get("deviations", []) == note
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4", "gpt-4-0613", True),
        ("gpt-4", "gpt-4-1106-preview", True),
        ("claude-sonnet-4", "claude-sonnet-4@20250514", True),
        ("gemini-1.5-flash", "models/gemini-1.5-flash-001", True),
        ("gemini-2.5-flash", "gemini-2.5-flash-preview-09-2025", True),
        ("org/Mistral-Small-latest", "mistral-small", True),
        ("qwen3", "qwen3:latest", True),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("o3", "o3-mini", False),
        ("gpt-4", "gpt-4.1", False),
        ("gemini-2.5-flash", "gemini-2.5-flash-lite", False),
        ("qwen3", "qwen3:0.6b", False),
        ("llama-2", "llama-2-70b", False),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False),
    ],
)
def test_a_date_or_the_ending_of_a_file_makes_no_other_model(asked, answered, same):
    assert api._is_same_model(answered, asked) == same


# Parameters


def picky(refused, message, status=400):
    """A server that refuses requests with a parameter."""

    def answer(handler, path, asked):
        if refused in asked:
            reply(handler, status, {"error": {"message": message}})
        else:
            reply(handler, 200, chat("B"))

    return answer


REFUSALS = [
    (
        "max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        "accepts max_completion_tokens and not max_tokens",
    ),
    (
        "max_tokens",
        "Unrecognized request argument supplied: max_tokens",
        "and not max_t",
    ),
    (
        "temperature",
        "Unsupported value: 'temperature' does not support 0 with this model.",
        "accepts no temperature: it uses its own",
    ),
    ("temperature", "`temperature` is deprecated for this model.", "no temperature"),
    (
        "seed",
        "Additional properties are not allowed ('seed' was unexpected)",
        "no seed",
    ),
    (
        "seed",
        f"{'a long explanation ' * 20} seed: extra inputs are not permitted",
        "no seed",
    ),
]


@pytest.mark.parametrize(("refused", "message", "note"), REFUSALS)
@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_parameter_is_left_out_or_renamed_and_recorded(
    refused, message, note, status, model, tmp_path
):
    served, server = model(picky(refused, message, status))
    other = Request(PROMPT, 16, 0.0, 4)
    with recorded(tmp_path / "run.json", {}):
        assert texts(served, REQUEST) == ["B"]
        assert texts(served, REQUEST, other) == ["B", "B"]
    # The second question is asked without it at once.
    assert [refused in body for body in bodies(server)] == [True, False, False]
    if refused == "max_tokens":
        assert [body.get("max_completion_tokens") for body in bodies(server)[1:]] == [
            16,
            16,
        ]
    # Sampling in another way is no note, but a deviation from the settings.
    key = "deviations" if refused == "temperature" else "notes"
    (found,) = read_json(tmp_path / "run.json")[key]
    assert note in found
    # A rerun with cached answers has the same record.
    again, server = model(always(500, {}))
    again._api._base = served._api._base
    with recorded(tmp_path / "again.json", {}):
        assert texts(again, REQUEST) == ["B"]
    assert server.asked == []
    assert read_json(tmp_path / "again.json")[key] == [found]


def test_several_parameters_are_refused_one_after_the_other(model, tmp_path):
    allowed = {"model", "messages", "max_completion_tokens"}

    def answer(handler, path, asked):
        wrong = sorted(asked.keys() - allowed)
        if wrong:
            reply(
                handler, 400, {"error": {"message": f"no such parameter: {wrong[0]}"}}
            )
        else:
            reply(handler, 200, chat("B"))

    served, server = model(answer)
    with recorded(tmp_path / "run.json", {}):
        assert texts(served) == ["B"]
    assert len(server.asked) == 4 and bodies(server)[-1].keys() == allowed
    record = read_json(tmp_path / "run.json")
    assert (len(record["notes"]), len(record["deviations"])) == (2, 1)


@pytest.mark.parametrize(
    "message",
    [
        "the maximum context length is 8192",
        "max_tokens is too large: 16",  # whatever its name
        "model: no such model",
        "messages: the text is too long",
        "",
    ],
)
def test_other_refusals_and_needed_parameters_end_the_row(message, model, tmp_path):
    served, server = model(always(400, {"error": {"message": message}}))
    with recorded(tmp_path / "run.json", {}), pytest.raises(api.Refused):
        texts(served)
    assert len(server.asked) <= 2
    assert "notes" not in read_json(tmp_path / "run.json")


SYSTEM_REFUSALS = [
    "System role not supported",
    "Only user and assistant roles are supported!",
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "Developer instruction is not enabled for models/gemma-3-27b-it",
    "'messages[0].role' does not support 'system' with this model.",
    "This model does not support system messages",
    "Invalid role: system",
]


@pytest.mark.parametrize("message", SYSTEM_REFUSALS)
def test_a_refused_system_text_is_in_the_users_turn(message, model, tmp_path):
    def answer(handler, path, asked):
        if asked["messages"][0]["role"] == "system":
            reply(handler, 400, {"error": {"message": message}})
        else:
            reply(handler, 200, chat("B"))

    served, server = model(answer)
    with recorded(tmp_path / "run.json", {}):
        assert texts(served) == ["B"]
    (turn,) = bodies(server)[-1]["messages"]
    content = "Answer with a letter.\n\nWhich one?"
    assert turn == {"role": "user", "content": content}
    assert len(read_json(tmp_path / "run.json")["notes"]) == 1


def test_a_prompt_of_a_system_text_only_is_not_repeated_for_ever(model):
    served, server = model(always(400, {"error": {"message": SYSTEM_REFUSALS[0]}}))
    with pytest.raises(api.Refused):
        texts(served, Request(PROMPT[:1], 16))
    assert len(server.asked) == 1


# Filters and empty answers

FILTERS = [
    (400, {"code": "content_filter", "message": "The response was filtered"}),
    (400, {"message": "triggering Azure OpenAI's content management policy."}),
    (400, {"code": "content_policy_violation", "message": "rejected"}),
    (
        400,
        {"code": "invalid_prompt", "message": "flagged as violating our usage policy"},
    ),
    (400, {"code": "data_inspection_failed", "message": "inappropriate content"}),
    (400, {"message": "Content Exists Risk"}),
    (403, {"message": "Your input was flagged by moderation"}),
    (403, {"message": "Content violates usage guidelines."}),
    (422, {"message": "blocked by the safety system"}),
]


@pytest.mark.parametrize(("status", "error"), FILTERS)
def test_a_filtered_prompt_is_one_unanswered_question(status, error, model):
    def answer(handler, path, asked):
        if "harmful" in asked["messages"][0]["content"]:
            reply(handler, status, {"error": error})
        else:
            reply(handler, 200, chat("B"))

    served, _ = model(answer)
    requests = [Request((Message("user", word),), 16) for word in ("a", "harmful", "c")]
    assert texts(served, *requests) == ["B", "", "B"]
    picked = pick(served, [(request.prompt, "xy") for request in requests], samples=1)
    assert [each.winners for each in picked] == [[1], [], [1]]


EMPTY = [
    {"choices": []},
    chat(None),
    chat(""),
    chat(None, "content_filter"),
    chat("The answer is A beca", "content_filter"),
    chat("A", "SAFETY"),
    chat("A", "content_filter: PROHIBITED_CONTENT"),
    chat("A", "RECITATION"),
    chat(None, refusal="I cannot help with that."),
    chat([]),
    chat([{"type": "thinking", "thinking": [{"type": "text", "text": "A"}]}]),
    {"choices": [{"text": "A", "finish_reason": "content_filter"}]},
]


@pytest.mark.parametrize("answer", EMPTY)
def test_an_empty_answer_is_one_unanswered_question(answer, model):
    served, _ = model(always(200, answer | USAGE))
    assert texts(served) == [""]
    (picked,) = pick(served, [(PROMPT, ["Yes", "No"])], samples=1)
    assert picked.winners == []


def test_a_filter_ends_an_answer_with_probabilities_too(model):
    answer = first_token(("A", 0.9))
    answer["choices"][0]["finish_reason"] = "content_filter"
    served, _ = model(always(200, answer))
    (weighed,) = served.weigh([Choice(PROMPT, ("A", "B"))])
    assert weighed.log_probabilities == (-math.inf, -math.inf)


@pytest.mark.parametrize(
    "reason", ["the maximum context length is 8192", "no such model", "stop", "length"]
)
def test_other_reasons_are_no_filter(reason):
    assert not is_filtered(reason)


# Errors inside an answer with the status 200

ERRORS = [
    {"error": {"message": "upstream", "code": 502}},
    {"error": {"message": "overloaded", "code": "503"}},
    {"error": {"message": "x"}},
    {"error": "model is loading"},
    {"error": {"code": "overloaded_error"}, "choices": None},
    {"object": "error", "message": "NETWORK ERROR", "code": 50001, "error": None},
    {"choices": [{"error": {"code": 502, "message": "upstream"}}]},
    {
        "choices": [{"message": {"content": "par"}, "finish_reason": "error"}],
        "error": None,
    },
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_inside_an_answer_is_repeated_and_never_cached(error, model, tmp_path):
    failing = always(200, error)
    served, server = model(in_turn(failing, failing, always(200, chat("B"))))
    assert texts(served) == ["B"]
    assert len(server.asked) == 3 and len(stored(tmp_path)) == 1
    served, server = model(failing)
    with pytest.raises(
        BadInput, match=r"mine|served did not answer in up to 8 attempts"
    ):
        texts(served, Request(PROMPT, 17))
    assert len(server.asked) == api.ATTEMPTS
    assert len(stored(tmp_path)) == 1


def test_a_permanent_error_inside_an_answer_ends_the_row_at_once(model, tmp_path):
    error = {"error": {"message": "no such key", "code": 401}}
    served, server = model(always(200, error))
    with pytest.raises(api.Refused, match="rejects the key"):
        texts(served)
    assert len(server.asked) == 1 and stored(tmp_path) == []


@pytest.mark.parametrize(
    "answer",
    [
        chat("B") | {"error": None},
        chat('{"error": 1}'),
        chat("B") | {"error": {}},
        {"choices": []},
        [],
        "error",
    ],
)
def test_an_answer_without_an_error_has_none(answer):
    assert error_status(json.dumps(answer).encode()) is None
    assert error_status(b'{"error": ') is None


# Prompts that a server cut

LONG = Request((Message("user", "word " * 3000),), 16)


@pytest.mark.parametrize("tokens", [64, 2048, 2999])
def test_a_cut_prompt_is_refused_by_the_servers_own_count(tokens, model, tmp_path):
    cut = chat("A") | {"usage": {"prompt_tokens": tokens}}
    served, _ = model(
        in_turn(
            always(200, cut),
            always(200, chat("B") | {"usage": {"prompt_tokens": 3100}}),
        )
    )
    sentence = (
        rf"mine at .*: the server read {tokens:,} tokens of a prompt of 3,000 words"
    )
    with pytest.raises(BadInput, match=sentence):
        texts(served, LONG)
    assert stored(tmp_path) == []
    # After the server's context length was raised.
    assert texts(served, LONG) == ["B"]


def reading(most):
    """Answer as a server that reads ``most`` tokens of a prompt, about one a word, and
    drops the others.
    """

    def answer(handler, path, asked):
        words = sum(len(turn["content"].split()) for turn in asked["messages"])
        usage = {"prompt_tokens": min(round(1.3 * words), most)}
        reply(handler, 200, chat("A") | {"usage": usage})

    return answer


def prompts(*lengths):
    """Requests whose prompts have so many words."""
    return [
        Request((Message("user", f"{number} " + "word " * (length - 1)),), 16)
        for number, length in enumerate(lengths)
    ]


# Each has more tokens than 4,096, and fewer words.
LONG_PROMPTS = prompts(3300, 3500, 3700, 1000)


def test_a_server_that_reads_as_many_tokens_of_several_long_prompts_cuts_them(
    model, tmp_path
):
    served, _ = model(in_turn(*[reading(4096)] * 4, reading(10_000)))
    sentence = "read 4,096 tokens of 3 prompts of different lengths, so it cuts prompts"
    with pytest.raises(BadInput, match=sentence):
        served.write(LONG_PROMPTS)
    # Only the answer to the complete prompt is kept.
    assert len(stored(tmp_path)) == 1
    # After the server's context length was raised.
    raised, server = model(reading(10_000))
    assert texts(raised, *LONG_PROMPTS) == ["A"] * 4
    assert len(server.asked) == 4


def test_questions_with_options_about_cut_prompts_are_no_answers(model):
    served, _ = model(reading(4096))
    choices = [Choice(request.prompt, ("A", "B")) for request in LONG_PROMPTS]
    with pytest.raises(BadInput, match="so it cuts prompts"):
        served.weigh(choices)


@pytest.mark.parametrize(
    ("lengths", "most"),
    [
        ((3300, 3700, 1000), 4096),  # two may have equal numbers by chance
        ((3300, 3310, 3320, 1000), 4290),  # as long as each other
        ((1000, 1100, 1300), 4096),
    ],
)
def test_long_prompts_that_are_read_completely_are_answered(lengths, most, model):
    served, _ = model(reading(most))
    requests = prompts(*lengths)
    assert texts(served, *requests) == ["A"] * len(requests)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 3000},
        {"prompt_tokens": 0},
        {"prompt_tokens": 9},  # a constant
        {"prompt_tokens": 63},
        {"prompt_tokens": None},
        {},
        None,
        {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 2950}},
        {"prompt_tokens": 3100, "prompt_tokens_details": None},
    ],
)
def test_a_prompt_that_was_read_whole_or_not_counted_is_accepted(usage, model):
    served, _ = model(always(200, chat("A") | {"usage": usage}))
    assert texts(served, LONG) == ["A"]


def test_a_cached_answer_to_a_cut_prompt_is_asked_again(model, monkeypatch):
    cut = chat("A") | {"usage": {"prompt_tokens": 2048}}
    served, _ = model(in_turn(always(200, cut), always(200, chat("B"))))
    with monkeypatch.context() as patch:
        patch.setattr(served, "fewest_tokens", lambda prompt: 0)
        assert texts(served, LONG) == ["A"]
    assert texts(served, LONG) == ["B"]


# Reasoning


def first_token(*likeliest, content=None, **message):
    tokens = []
    for token, share in likeliest:
        tokens.append({"token": token, "logprob": math.log(share)})
    choice = {
        "message": {
            "role": "assistant",
            "content": content or likeliest[0][0],
            **message,
        },
        "finish_reason": "length",
        "logprobs": {"content": [{**tokens[0], "top_logprobs": tokens}]},
    }
    return {"choices": [choice]} | USAGE


FIRST = [
    first_token(("<think>", 0.99), ("A", 0.005)),
    first_token(("<", 0.9), ("B", 0.1)),
    first_token(("<|channel|>", 0.9)),
    first_token(("[THINK]", 0.9)),
    first_token(("◁think▷", 0.9)),
    first_token(("A", 0.9), content="", reasoning_content="A"),
    first_token(("Okay", 0.9), content="", reasoning="Okay"),
]


@pytest.mark.parametrize("first", FIRST)
def test_probabilities_of_reasoning_are_no_answer(first, model):
    def answer(handler, path, asked):
        body = first if "logprobs" in asked else chat("<think>A?</think>B")
        reply(handler, 200, body)

    served, _ = model(answer)
    (picked,) = pick(served, [(PROMPT, ["Yes", "No"])], samples=2)
    assert (picked.shares, picked.drawn) == ((0.0, 1.0), 2)


CUT = [
    chat("<think>\nOkay, A", "length"),
    chat("", "length", reasoning_content="Okay, A"),
    chat(None, "length", reasoning="Okay, A"),
    chat("<|channel|>analysis<|message|>A", "length"),
    chat([{"type": "thinking", "thinking": []}], "length"),
]


@pytest.mark.parametrize("cut", CUT)
@pytest.mark.parametrize("window", [None, 100_000, 500])
def test_an_answer_cut_in_its_reasoning_is_asked_for_with_more_tokens(
    cut, window, model
):
    def answer(handler, path, asked):
        reply(handler, 200, cut if asked["max_tokens"] < 400 else chat("B"))

    served, server = model(answer, window=window)
    others = [Request(PROMPT, 16, 1.0, seed) for seed in range(3)]
    assert texts(served, REQUEST) == ["B"]
    assert texts(served, REQUEST, *others) == ["B"] * 4
    longest = 16 + language_model_server.REASONING_TOKENS
    if window == 500:
        longest = 500 - served.tokens(PROMPT)
    # Later requests have the tokens at once, and a rerun finds all answers.
    assert [body["max_tokens"] for body in bodies(server)] == [16] + [longest] * 4
    again, server_of_rerun = model(always(500, {}), window=window)
    again._api._base = served._api._base
    assert texts(again, *others, REQUEST) == ["B"] * 4
    assert server_of_rerun.asked == []


def test_an_answer_that_is_still_cut_or_has_no_room_is_unanswered(model):
    served, server = model(always(200, CUT[0]))
    assert texts(served) == [""]
    assert len(server.asked) == 2
    served, server = model(always(200, CUT[0]), window=served.tokens(PROMPT) + 16)
    assert texts(served) == [""]
    assert len(server.asked) == 1


# Vectors


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1.0, 1e30, 3e38])
def test_vectors_of_any_length_are_divided_by_it(size, serve, tmp_path):
    vector = [3 * size / 4, size]
    data = [{"index": 0, "embedding": vector}]
    server = serve(always(200, {"data": data} | USAGE))
    found = embed(server.base, "served", ["a"], cache=tmp_path, limits=Limits())
    assert found[0].tolist() == pytest.approx([0.6, 0.8])
