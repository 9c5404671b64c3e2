"""Local language models give the same log-probabilities as a plain forward pass."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    MistralConfig,
    MistralForCausalLM,
)

from lextables.models import local_language_model
from lextables.models.cached_model import open_language_model
from lextables.models.language_model import Choice, Message, Request
from lextables.models.local_language_model import CausalModel, LocalLanguageModel
from lextables.models.spending import Limits
from lextables.models.weights import PLACES
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json, set_variable
from lextables.pipeline.run import recorded

FOLDER = (
    Path(__file__).resolve().parents[2]
    / "resources/sample/models/sample-language-model"
)
CPU = torch.device("cpu")
CLAUSE = "The Supplier shall not assign this Agreement without the prior written consent of the other party. "
CONTINUATIONS = ("A", "B", " the party", " the parties", "No", "Nothing at all", "é")


class Counted(CausalModel):
    """An engine that counts how many tokens it evaluates."""

    evaluated = 0

    def after(self, ids, held):
        self.evaluated += len(ids) - held
        return super().after(ids, held)


@pytest.fixture(scope="module")
def engine():
    return Counted(FOLDER, CPU)


def prompt(*words, system="Read the clause."):
    return (
        Message("system", system),
        *(Message("user", CLAUSE + word) for word in words),
    )


def plainly(text, continuation):
    """Return the log-probability of a continuation of a text, from one forward pass
    over both.
    """
    tokenizer, model = (
        AutoTokenizer.from_pretrained(FOLDER),
        AutoModelForCausalLM.from_pretrained(FOLDER),
    )
    before = tokenizer(text, add_special_tokens=False).input_ids
    ids = tokenizer(text + continuation, add_special_tokens=False).input_ids
    assert ids[: len(before)] == before
    with torch.no_grad():
        rows = torch.log_softmax(
            model.float()(torch.tensor([ids])).logits[0].float(), dim=-1
        )
    return sum(
        rows[place - 1, ids[place]].item() for place in range(len(before), len(ids))
    )


@pytest.mark.parametrize("begin", [[], [3]])
def test_log_probabilities_equal_those_of_a_forward_pass(engine, monkeypatch, begin):
    """A template has the model's initial token itself, so that none is added."""
    monkeypatch.setattr(engine, "_begin", begin)
    model = LocalLanguageModel("sample", engine)
    (weighed,) = model.weigh([Choice(prompt("May it?"), CONTINUATIONS)])
    text = engine.template(prompt("May it?"))
    wanted = [plainly(text, continuation) for continuation in CONTINUATIONS]
    assert np.allclose(weighed.log_probabilities, wanted, atol=1e-4)


def test_shared_prefixes_of_prompts_are_evaluated_once(engine):
    choices = [
        Choice(prompt(CLAUSE * 20, word), CONTINUATIONS)
        for word in ("One?", "Two?", "Three?")
    ]
    alone = [
        LocalLanguageModel("sample", engine).weigh([choice])[0] for choice in choices
    ]
    engine.evaluated = 0
    together = LocalLanguageModel("sample", engine).weigh(choices)
    assert np.allclose(
        [weighed.log_probabilities for weighed in together],
        [weighed.log_probabilities for weighed in alone],
        atol=1e-4,
    )
    model = LocalLanguageModel("sample", engine)
    shared, answers = model.tokens(choices[0].prompt), sum(map(len, CONTINUATIONS))
    assert engine.evaluated < shared + 3 * (60 + answers) < 2 * shared


def test_a_long_prompt_is_evaluated_in_parts(engine, monkeypatch):
    choice = Choice(prompt(CLAUSE * 10), CONTINUATIONS)
    (whole,) = LocalLanguageModel("sample", engine).weigh([choice])
    monkeypatch.setattr(local_language_model, "AT_ONCE", 7)
    (parts,) = LocalLanguageModel("sample", engine).weigh([choice])
    assert np.allclose(whole.log_probabilities, parts.log_probabilities, atol=1e-4)


def test_a_prompt_that_is_too_long_raises_an_error_before_evaluation(engine):
    model = LocalLanguageModel("sample", engine)
    model.window = model.tokens(prompt("May it?")) + 5
    engine.evaluated = 0
    fits, long = Request(prompt("May it?"), 5), Request(prompt("May it?"), 6)
    with pytest.raises(
        BadInput,
        match=r"^sample: a prompt and its answer have [\d,]+ tokens, and the model reads",
    ):
        model.write([fits, long])
    with pytest.raises(BadInput, match="use a model with a larger window"):
        model.weigh([Choice(prompt("x"), ("A",)), Choice(prompt(CLAUSE), ("A",))])
    assert engine.evaluated == 0
    assert model.write([fits])[0].text


def test_greedy_answers_are_most_likely_and_sampled_answers_depend_on_the_seed(engine):
    model = LocalLanguageModel("sample", engine)
    (greedy,) = model.write([Request(prompt("May it?"), 4)])
    ids = engine.ids(engine.template(prompt("May it?")), False)
    for _ in range(4):
        ids.append(int(engine.after(ids, 0).argmax()))
    assert (greedy.text, greedy.cut) == (engine.text(ids[-4:]), True)
    drawn = [
        Request(prompt("May it?"), 8, temperature=1.0, seed=seed) for seed in range(6)
    ]
    texts = [written.text for written in model.write(drawn)]
    assert texts == [written.text for written in model.write(drawn)]
    assert len(set(texts)) > 3


def test_an_answer_stops_at_the_end_of_turn_token(engine, monkeypatch):
    monkeypatch.setattr(engine, "ends", frozenset(range(2000)))
    (written,) = LocalLanguageModel("sample", engine).write(
        [Request(prompt("May it?"), 5)]
    )
    assert (written.text, written.cut) == ("", False)


def test_a_started_answer_is_continued(engine):
    model = LocalLanguageModel("sample", engine)
    begun = (*prompt("May it?"), Message("assistant", "The answer is"))
    text, _ = model._text(begun)
    assert text.endswith("<|im_start|>assistant\nThe answer is")
    (weighed,) = model.weigh([Choice(begun, (" A", " B"))])
    assert np.allclose(
        weighed.log_probabilities, [plainly(text, " A"), plainly(text, " B")], atol=1e-4
    )


def test_a_model_without_a_chat_template_gets_plain_text(engine, monkeypatch):
    asked = (Message("system", "Read."), Message("user", "Answer:"))
    text = "Read.\n\nAnswer:"
    plain = LocalLanguageModel("sample", engine, "completions").weigh(
        [Choice(asked, (" A", " B"))]
    )
    assert np.allclose(
        plain[0].log_probabilities,
        [plainly(text, " A"), plainly(text, " B")],
        atol=1e-4,
    )
    monkeypatch.setattr(engine._tokenizer, "chat_template", None)
    assert (
        LocalLanguageModel("sample", engine).weigh([Choice(asked, (" A", " B"))])
        == plain
    )


def test_models_with_sliding_windows_do_not_reuse_the_cache(tmp_path):
    """The cache of a sliding window cannot be truncated to the common prefix of two
    prompts.
    """
    size = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
    }
    config = MistralConfig(
        vocab_size=2000, **size, intermediate_size=16, sliding_window=4
    )
    MistralForCausalLM(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(FOLDER).save_pretrained(tmp_path)
    engine = CausalModel(tmp_path, CPU)
    choices = [
        Choice((Message("user", f"{CLAUSE} {word}"),), ("A", "B"))
        for word in ("one", "two", "one")
    ]
    first, _, last = LocalLanguageModel("x", engine).weigh(choices)
    (alone,) = LocalLanguageModel("x", CausalModel(tmp_path, CPU)).weigh(choices[:1])
    assert first == last
    assert np.allclose(first.log_probabilities, alone.log_probabilities, atol=1e-5)


SIZE = {
    "vocab_size": 2000,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "initializer_range": 0.5,
    "pad_token_id": 0,
}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0] * 4,
    "long_factor": [1.0, 4.0, 6.0, 8.0],
    "original_max_position_embeddings": 8,
}
DYNAMIC = {"rope_type": "dynamic", "factor": 8.0, "rope_theta": 10000.0}
# {kind of model: fields of its configuration}
WHOLE = {
    "Jamba": {
        "mamba_d_state": 4,
        "use_mamba_kernels": False,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "expert_layer_period": 2,
        "num_experts": 2,
        "num_experts_per_tok": 1,
    },
    "Lfm2": {"layer_types": ["conv", "full_attention"]},
    "Mamba": {"state_size": 4},
    "Phi3": {"rope_parameters": LONGROPE, "original_max_position_embeddings": 8},
    "Llama": {"rope_parameters": DYNAMIC, "max_position_embeddings": 8},
}


@pytest.mark.parametrize("kind", WHOLE)
def test_models_with_other_states_or_positions_evaluate_whole_prompts(
    kind, tmp_path, monkeypatch
):
    """Each prompt has the values of one forward pass of a new model, whatever was
    evaluated before.
    """
    config_class = getattr(transformers, f"{kind}Config", None)
    if config_class is None:
        pytest.skip(f"transformers has no {kind}")
    model_class = getattr(transformers, f"{kind}ForCausalLM")
    torch.manual_seed(0)
    model_class(config_class(**{**SIZE, **WHOLE[kind]})).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(FOLDER).save_pretrained(tmp_path)
    monkeypatch.setattr(local_language_model, "AT_ONCE", 5)
    model = LocalLanguageModel("x", CausalModel(tmp_path, CPU))
    tokens = list(range(100, 120))
    for ids in (tokens, [*tokens[:9], 7, 8], [*tokens, 9], tokens[:6]):
        log_probabilities = model._after(ids)
        new = AutoModelForCausalLM.from_pretrained(tmp_path)
        with torch.no_grad():
            logits = new(torch.tensor([ids])).logits[0, -1]
        expected = torch.log_softmax(logits, dim=-1).numpy()
        assert np.allclose(log_probabilities, expected, atol=1e-4)


def settings(**more):
    return {
        "model": "sample",
        "weights": str(FOLDER),
        "revision": None,
        "found": "mirror folder",
        "content": "sha256:sample",
    } | more


def test_answers_are_cached_immediately(tmp_path, monkeypatch):
    monkeypatch.delenv("LEXTABLES_PLACES", raising=False)
    choices = [Choice(prompt(f"{number}?"), ("A", "B")) for number in range(3)]
    model = open_language_model(settings(), tmp_path, Limits(), "cpu")
    first = model.weigh(choices[:2])
    assert len(list(tmp_path.glob("*/*.json.gz"))) == 2
    written = model.write([Request(prompt("x"), 3)])
    assert first != model.weigh([choices[2], choices[0]])
    monkeypatch.setattr(CausalModel, "after", None)
    again = open_language_model(settings(), tmp_path, Limits(), "cpu")
    assert again.weigh(choices)[:2] == first
    assert again.write([Request(prompt("x"), 3)]) == written
    other = open_language_model(
        settings(content="sha256:other"), tmp_path, Limits(), "cpu"
    )
    with pytest.raises(TypeError):
        other.weigh(choices)


def test_answers_of_another_commit_of_the_hub_are_not_used(tmp_path, monkeypatch):
    """Settings of a user's hub model have no content, and often no revision."""
    choices = [Choice(prompt("May it?"), ("A", "B"))]
    unidentified = settings(weights="own-lm", found="hub, org/lm", content=None)

    def opened(commit):
        folder = tmp_path / "models--org--lm/snapshots" / commit
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        set_variable(PLACES, {"own-lm": {"folder": str(folder)}})
        return open_language_model(unidentified, tmp_path / "calls", Limits(), "cpu")

    monkeypatch.setenv(PLACES, "")
    first = opened("a" * 40).weigh(choices)
    monkeypatch.setattr(CausalModel, "after", None)
    assert opened("a" * 40).weigh(choices) == first
    with pytest.raises(TypeError):
        opened("b" * 40).weigh(choices)


def test_answers_of_unidentified_weights_are_not_cached(tmp_path, monkeypatch):
    monkeypatch.delenv(PLACES, raising=False)
    choices = [Choice(prompt("May it?"), ("A", "B"))]
    unidentified = settings(content=None, revision="main")
    model = open_language_model(unidentified, tmp_path, Limits(), "cpu")
    (weighed,) = model.weigh(choices)
    assert np.isfinite(weighed.log_probabilities).all()
    assert not list(tmp_path.iterdir())


# {key of a GGUF file: field of the configuration}
GGUF_KEYS = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "vocab_size": "vocab_size",
}


def gguf_of(folder, file, ending=""):
    """Write the model of a folder as a GGUF file, each tensor's name with an
    ``ending``.
    """
    gguf = pytest.importorskip("gguf")
    config = LlamaConfig.from_pretrained(folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    ids = tokenizer["model"]["vocab"]
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name("sample")
    for key, name in GGUF_KEYS.items():
        writer.add_uint32(f"llama.{key}", getattr(config, name))
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(ids, key=ids.get))
    writer.add_token_types([3, 3, 3] + [1] * (config.vocab_size - 3))
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(config.eos_token_id)
    writer.add_chat_template(AutoTokenizer.from_pretrained(folder).chat_template)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in load_file(folder / "model.safetensors").items():
        if "q_proj" in name or "k_proj" in name:
            # GGUF has the halves of each rotated pair next to each other.
            halves = tensor.reshape(config.num_attention_heads, 2, -1, tensor.shape[1])
            tensor = halves.swapaxes(1, 2).reshape(tensor.shape)
        writer.add_tensor(names.get_name(name, (".weight",)) + ending, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_file_without_the_tensors_of_its_model_is_rejected(tmp_path):
    gguf_of(FOLDER, tmp_path / "sample.gguf", ending=".other")
    with pytest.raises(BadInput, match="the weights lack .* use the folder"):
        CausalModel(tmp_path, CPU)


def test_a_gguf_file_is_the_same_model_as_its_folder(tmp_path, engine):
    gguf_of(FOLDER, tmp_path / "sample.gguf")
    places = settings(weights=str(tmp_path))
    model = open_language_model(places, tmp_path / "cache", Limits(), "cpu")
    assert model.window == engine.window
    choices = [Choice(prompt("May it?"), CONTINUATIONS)]
    assert np.allclose(
        model.weigh(choices)[0].log_probabilities,
        LocalLanguageModel("sample", engine).weigh(choices)[0].log_probabilities,
        atol=1e-5,
    )


# Chat templates

TURNS = (
    "{% for m in messages %}<turn>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<turn>model:{% endif %}"
)
REFUSES = "{{ raise_exception('System role not supported') }}"
FIRST_IS_SYSTEM = "messages[0]['role'] == 'system'"
SYSTEM = "Read the clause."
NO_SYSTEM_ROLE = {
    "refused": f"{{% if {FIRST_IS_SYSTEM} %}}{REFUSES}{{% endif %}}{TURNS}",
    "must alternate": "{% for m in messages %}"
    "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}{% endfor %}"
    + TURNS,
    "only users": "{% for m in messages %}{% if m['role'] not in ('user', 'assistant') %}"
    + f"{REFUSES}{{% endif %}}{{% endfor %}}{TURNS}",
    "left out": "{% for m in messages %}{% if m['role'] != 'system' %}"
    "<turn>{{ m['role'] }}: {{ m['content'] }}\n{% endif %}{% endfor %}<turn>model:",
    "no such name": "{{ {'user': 1}[messages[0]['role']].upper }}" + TURNS,
    "no number": "{{ 1 if messages[0]['role'] == 'user' else 1 + 'a' }}" + TURNS,
}


def with_template(template, monkeypatch, **more):
    """An engine whose model has this chat template."""
    load = local_language_model.load_tokenizer

    def load_with_template(folder):
        tokenizer = load(folder)
        tokenizer.chat_template = template
        tokenizer.add_special_tokens(
            {"additional_special_tokens": list(more.get("special", ()))}
        )
        return tokenizer

    monkeypatch.setattr(local_language_model, "load_tokenizer", load_with_template)
    return CausalModel(FOLDER, CPU, more.get("endpoint", "chat"))


@pytest.mark.parametrize(
    ("endpoint", "notes"),
    [("chat", [local_language_model.NO_TEMPLATE]), ("completions", [])],
)
def test_a_chat_without_a_chat_template_is_noted(
    endpoint, notes, monkeypatch, tmp_path
):
    with recorded(tmp_path / "run.json", {}):
        engine = with_template(None, monkeypatch, endpoint=endpoint)
    assert read_json(tmp_path / "run.json").get("notes", []) == notes
    assert engine.adapted == notes  # part of the key of cached answers


@pytest.mark.parametrize("template", NO_SYSTEM_ROLE)
def test_a_template_without_the_systems_role_gets_its_text_in_the_users_turn(
    template, monkeypatch, tmp_path
):
    with recorded(tmp_path / "run.json", {}):
        engine = with_template(NO_SYSTEM_ROLE[template], monkeypatch)
    text = engine.template(prompt("Who?"))
    assert text.endswith(f"<turn>user: {SYSTEM}\n\n{CLAUSE}Who?\n<turn>model:")
    assert "system:" not in text
    assert read_json(tmp_path / "run.json")["notes"] == [local_language_model.NO_SYSTEM]
    only_user = engine.template((Message("user", "Who?"),))
    assert only_user.endswith("<turn>user: Who?\n<turn>model:")
    model = LocalLanguageModel("m", engine)
    assert np.isfinite(
        model.weigh([Choice(prompt("Who?"), ("A", "B"))])[0].log_probabilities
    ).all()


def test_a_template_with_the_systems_role_is_not_adapted(engine, monkeypatch):
    assert engine.adapted == []
    own = with_template(TURNS, monkeypatch)
    assert own.adapted == []
    assert own.template(prompt("Who?")).startswith(
        f"<turn>system: {SYSTEM}\n<turn>user: "
    )


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("{{ strftime_now('%d %b %Y') }}", "26 Jul 2024"),
        ("{{ strftime_now('%Y-%m-%d').split('-')[2] | int - 1 }}", "25"),
        (
            "{% if strftime_now is defined %}{% set now = strftime_now('%B %-d') %}{% endif %}{{ now }}",
            "July 26",
        ),
    ],
)
def test_a_template_that_states_the_date_states_the_same_every_day(
    stated, expected, monkeypatch
):
    engine = with_template(f"\n{stated}\n{TURNS}", monkeypatch)
    text = engine.template(prompt("Who?"))
    assert text.startswith(f"\n{expected}\n<turn>system: {SYSTEM}\n<turn>user: ")
    assert engine.adapted == [local_language_model.FIXED_DATE]


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no') }}",
        "{{ messages[9]['role'] }}",
        "{{ 1 + 'a' }}",
        "{{ nothing.at.all }}",
        "{% for m in messages %}",
        "{{ messages | no_such_filter }}",
    ],
)
def test_a_template_that_refuses_every_prompt_is_an_error_of_one_sentence(
    template, monkeypatch
):
    engine = with_template(template, monkeypatch)
    with pytest.raises(
        BadInput, match=r": the chat template refuses the prompt \(.+\); use"
    ):
        engine.template(prompt("Who?"))


@pytest.mark.parametrize(
    ("opening", "end"),
    [
        ("<think>\n", "</think>\n\n"),
        ("<think>", "</think>\n\n"),
        ("[THINK]", "[/THINK]\n\n"),
        ("◁think▷", "◁/think▷\n\n"),
        ("<|begin_of_thought|>\n", "<|end_of_thought|>\n\n"),
        ("<seed:think>\n", "</seed:think>\n\n"),
    ],
)
def test_reasoning_that_a_template_opens_is_ended(opening, end, monkeypatch, tmp_path):
    with recorded(tmp_path / "run.json", {}):
        engine = with_template(
            TURNS + opening.replace("\n", "{{ '\\n' }}"), monkeypatch
        )
    assert engine.template(prompt("Who?")).endswith(f"<turn>model:{opening}{end}")
    notes = read_json(tmp_path / "run.json")["notes"]
    assert notes == [local_language_model.NO_REASONING]


@pytest.mark.parametrize(
    ("written", "special", "answer"),
    [
        ("[THINK]A[/THINK]the party", ("[THINK]", "[/THINK]"), "the party"),
        ("<think>A</think>the party", (), "the party"),
        ("<think>the party", ("<think>",), ""),
        ("the party<|im_end|>", ("<|im_end|>",), "the party"),
        (
            "<|channel|>analysis<|message|>A<|end|><|channel|>final<|message|>the party<|return|>",
            ("<|channel|>", "<|message|>", "<|end|>", "<|return|>"),
            "the party",
        ),
        (
            "[THINK]A[/THINK]the party<|end|>",
            ("[THINK]", "[/THINK]", "<|end|>"),
            "the party",
        ),
    ],
)
def test_reasoning_between_special_tokens_is_no_answer(
    written, special, answer, monkeypatch
):
    engine = with_template(TURNS, monkeypatch, special=special)
    assert engine.text(engine.ids(written, False)).strip() == answer
