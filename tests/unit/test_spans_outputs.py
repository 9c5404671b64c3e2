"""Outputs: quoted spans, the choice of the threshold, and language models that read
whole contracts.
"""

import itertools

import numpy as np
import pytest
from pydantic import ValidationError

from helpers.fake_language_model import FakeModel, text_of
from helpers.registered import context
from lextables import ROOT
from lextables.metrics.containment import COUNTS, NO_CLAUSE, counts, values
from lextables.models.prompts import load, plain_template
from lextables.pipeline.errors import BadInput
from lextables.planning import paper_plan
from lextables.registry import packages
from lextables.tables import published
from lextables.tasks.planner import ASK
from lextables.tasks.spans import outputs, writing
from lextables.tasks.spans.planner import SpanTask

PROMPT = load(ROOT / "resources/prompts/contract_passages.txt").plain()
PAPER = packages.load(ROOT / "resources/papers/contracteval.yaml")
TEXT = "One fee.\nTwo  fees.  Three laws. Four."
SPANS = [(0, 8, 0.9), (9, 19, 0.4), (21, 32, 0.6), (26, 37, 0.2), (-1, -1, 0.1)]


# Quoted spans


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (0.95, []),
        (0.5, ["One fee.", "Three laws."]),
        (
            0.4,
            ["One fee.\nTwo  fees.  Three laws."],
        ),  # only white space is between them
        (0.2, ["One fee.\nTwo  fees.  Three laws. Four"]),  # the last two overlap
    ],
)
def test_passages_are_in_the_order_of_the_contract(least, expected):
    assert outputs.passages(TEXT, SPANS, least) == expected
    assert outputs.quoted(TEXT, SPANS[::-1], least) == (" ".join(expected) or NO_CLAUSE)


def test_the_best_of_all_thresholds_is_chosen():
    rng = np.random.default_rng(0)
    texts = {"c": "".join(rng.choice(list("abc "), 400).tolist())}
    contracts, golds, rows = {}, {}, []
    for number in range(60):
        name = f"q{number:02}"
        contracts[name] = "c"
        spans = [(at, at + 9, float(rng.random())) for at in range(0, 400, 40)]
        for start, end, share in spans:
            if number % 3 and share > 0.8:
                golds.setdefault(name, []).append(texts["c"][start:end])
        for start, end, share in (*spans, (-1, -1, 0.5)):
            place = {"start": start, "end": end, "probability": share}
            rows.append({"question_id": name, **place})
    found = outputs.curve(rows, contracts, texts, golds)
    for place, least in enumerate(outputs.THRESHOLDS):  # one threshold at a time
        shown = outputs.outputs(rows, contracts, texts, least)
        counted = np.zeros(COUNTS)
        for row in shown:
            counted += counts(row["output"], golds.get(row["question_id"], ()))
        for name, value in values(counted).items():
            assert found[name][place] == pytest.approx(float(value))
    for metric in ("F1", "F2"):
        threshold, best = outputs.best_threshold(found, metric)
        assert (
            best[metric]
            == found[metric].max()
            == found[metric][outputs.THRESHOLDS.index(threshold)]
        )


def test_frequent_categories_are_answered_with_the_whole_contract():
    """Of ten contracts all answer a, two answer b, and none answers c."""
    questions = []
    golds = {}
    for number in range(10):
        for category in "cba":
            question = f"{number}-{category}"
            row = {"question_id": question, "contract_id": f"{number}"}
            questions.append({**row, "category": category})
            if category == "a" or (category == "b" and number < 2):
                golds[question] = ["alpha"]
    texts = {str(number): "alpha beta" for number in range(10)}
    # a alone: 10 right of 12 answers, none wrong; with b: 12 right and 8 wrong.
    categories, best = outputs.frequent_categories(questions, texts, golds, "F1")
    assert categories == ["a"]
    assert best["F1"] == pytest.approx(2 * 10 / (2 * 10 + 2))
    # F2 of a alone is 5 * 10 / (5 * 10 + 4 * 2); with b it is 5 * 12 / (5 * 12 + 8).
    categories, best = outputs.frequent_categories(questions, texts, golds, "F2")
    assert categories == ["a", "b"]
    assert best["F2"] == pytest.approx(60 / 68)
    rows = list(outputs.for_categories(questions[:3], texts, ["a"]))
    assert rows == [
        {"question_id": "0-a", "output": "alpha beta"},
        {"question_id": "0-b", "output": "No related clause."},
        {"question_id": "0-c", "output": "No related clause."},
    ]


def test_a_fixed_output_is_the_same_for_every_question():
    rows = list(
        outputs.fixed({"q2": "c", "q1": "c"}, {"c": "a $contract"}, "No. ${contract}")
    )
    assert rows == [
        {"question_id": name, "output": "No. a $contract"} for name in ("q1", "q2")
    ]


def test_the_relaxed_category_gets_the_whole_contract_and_others_nothing():
    questions = [
        {"question_id": "c__Fee", "contract_id": "c", "category": "Fee"},
        {"question_id": "c__Parties", "contract_id": "c", "category": "Parties"},
    ]
    rows = list(outputs.relaxed_spans(questions, {"c": "A and B."}, "Parties"))
    shown = [
        (row["question_id"], row["text"], row["start"], row["end"]) for row in rows
    ]
    assert shown == [("c__Fee", "", -1, -1), ("c__Parties", "A and B.", 0, 8)]


@pytest.mark.parametrize(
    ("paper", "key", "kind"),
    [("contracteval", "none", "relaxed"), ("cuad", "whole", "frequent")],
)
def test_a_model_that_reads_no_contract_needs_its_evaluator(paper, key, kind):
    task = packages.load(ROOT / f"resources/papers/{paper}.yaml").tasks[paper]
    values = task.model_dump(mode="json")
    values["models"][key]["kind"] = kind
    with pytest.raises(ValidationError, match=f"{kind}.* need.* the evaluator"):
        SpanTask(**values)


# Language models


def question(name, contract="c"):
    names = {"question_id": f"{contract}__{name}", "contract_id": contract}
    return names | {"question": f"Which {name}?", "split": "test"}


ASKED = [
    question("Fee"),
    question("Law"),
    question("Fee", "d"),
    question("Fee", "t") | {"split": "train"},
]
TEXTS = {"c": TEXT, "d": "Nothing."}


def wrote(model, candidates=None, **settings):
    settings = writing.WritingSettings(
        model="fake",
        weights="fake",
        revision=None,
        found="here",
        kind="language-model",
        prompt=PROMPT,
        tokens=7,
        **settings,
    )
    rows, counted = writing.write(model, settings, ASKED, TEXTS, candidates)
    return {row["question_id"]: row["output"] for row in rows}, counted


def test_each_prompt_contains_the_contract_before_one_question():
    model = FakeModel(
        writes=lambda text, seed: text.split("Question:")[1].strip("` \n")
    )
    found, counted = wrote(model)
    assert found == {
        "c__Fee": "Which Fee?",
        "c__Law": "Which Law?",
        "d__Fee": "Which Fee?",
    }
    user = [prompt[-1].content for prompt in model.written]
    assert user == [
        f"Context: \n```\n{TEXTS[row['contract_id']]}\n```\nQuestion:\n```\n{row['question']}\n```"
        for row in ASKED[:3]
    ]
    turns = itertools.chain.from_iterable(model.written)
    assert model.expected == [(3, sum(len(turn.content) for turn in turns))]
    assert counted == {
        "requests": 3,
        "answered": 3,
        "cut_answers": 0,
        "unanswered": 0,
        "in_parts": 0,
        "not_asked": 0,
    }


def test_contracts_longer_than_the_window_are_read_in_parts_and_joined():
    writes = lambda text, seed: NO_CLAUSE if "Three" not in text else "Three laws."  # noqa: E731
    prompt = plain_template(PROMPT).filled(
        context="One fee. Two fees.", question="Which Fee?"
    )
    model = FakeModel(writes=writes, window=FakeModel().tokens(prompt) + 7)
    found, counted = wrote(model)
    assert found == {
        "c__Fee": "Three laws.",
        "c__Law": "Three laws.",
        "d__Fee": NO_CLAUSE,
    }
    assert counted["in_parts"] == 2 and counted["requests"] > 4
    assert all(model.tokens(prompt) + 7 <= model.window for prompt in model.written)
    with pytest.raises(BadInput, match="a question and one word do not fit"):
        wrote(FakeModel(writes=writes, window=20))


def test_only_questions_with_candidates_are_asked():
    model = FakeModel(writes=lambda text, seed: "Four.")
    found, counted = wrote(model, {"c__Fee": ["One fee.", "Four."], "c__Law": []})
    assert found == {"c__Fee": "Four.", "c__Law": NO_CLAUSE, "d__Fee": NO_CLAUSE}
    (asked,) = model.written
    assert "```\nOne fee.\n\nFour.\n```" in text_of(asked) and "Three" not in text_of(
        asked
    )
    assert counted["not_asked"] == 2


@pytest.mark.parametrize("candidates", [None, {"c__Law": ["One fee."]}])
def test_questions_beyond_the_limit_have_no_output_and_are_never_correct(candidates):
    found, counted = wrote(FakeModel(writes=lambda *_: "One"), candidates, questions=1)
    assert (counted["requests"], counted["not_asked"]) == (
        (0, 3) if candidates else (2, 1)
    )
    assert found["c__Law"] == ""
    assert found["c__Fee"] == found["d__Fee"] == (NO_CLAUSE if candidates else "One")
    correct, false, missed, denied, _ = counts(found["c__Law"], [])
    assert (correct, false, missed, denied) == (0, 1, 0, 0)
    correct, false, missed, denied, _ = counts(found["c__Law"], ["One fee."])
    assert (correct, false, missed, denied) == (0, 0, 1, 0)


# The plan


LLM = {"name": "Mine", "kind": "language-model-api", "model": "my-llm"}


def laid_out(**values_):
    chosen = {"data": "release", "models": "available"} | values_
    plan = paper_plan.plan(PAPER, context("contracteval", **chosen))
    return {row["row"]: row for row in plan.rows["table3"]}, plan.specs


def test_a_linear_model_has_one_threshold_per_metric():
    rows, specs = laid_out()
    for row, metric in (
        (rows[f"TF-IDF, linear models and trees, threshold for {name}"], name)
        for name in ("F1", "F2")
    ):
        (spec,) = (
            spec for run, spec in specs.items() if [run.folder] == row["runs"]["100"]
        )
        assert spec.settings == {"kind": "linear", "metric": metric}
        assert [run.experiment for run in (*spec.needs, *spec.sources)] == [
            "read",
            "train",
        ]
        assert (
            specs[spec.weights_of].settings["out_of_fold"]
            and row["trained"]
            and row["baseline"]
        )
    assert rows["The whole contract for every question"]["lenient"]


def shared(excluded=None, **changes):
    """The plans of CUAD and ContractEval before and after; ``changes`` are to
    ContractEval's task.
    """
    papers = {
        name: packages.load(ROOT / f"resources/papers/{name}.yaml")
        for name in ("cuad", "contracteval")
    }
    task = papers["contracteval"].tasks["contracteval"].model_copy(update=changes)
    papers["contracteval"] = papers["contracteval"].model_copy(
        update={"tasks": {"contracteval": task}}
    )
    plans = {
        name: paper_plan.plan(paper, context(name), excluded or {})
        for name, paper in papers.items()
    }
    return papers, plans, paper_plan.share_trainings(plans, papers)


def trainings(plan):
    return {run.folder for run in plan.specs if run.experiment == "train"}


def sources(plan):
    folders = set()
    for spec in plan.specs.values():
        folders.update(source.folder for source in spec.sources)
    return folders


def test_one_training_of_a_linear_model_serves_cuad_and_contracteval():
    _, before, after = shared()
    assert after["cuad"] == before["cuad"]
    own = {
        run.replace("/cuad/", "/contracteval/")
        for run in sources(after["contracteval"])
    }
    assert own == trainings(before["contracteval"])
    assert trainings(after["contracteval"]) == set()
    assert sources(after["contracteval"]) < trainings(after["cuad"])
    assert after["contracteval"].rows == before["contracteval"].rows


def test_contracteval_trains_its_model_if_cuad_has_no_equal_training():
    papers, before, _ = shared()
    alone = {"contracteval": before["contracteval"]}
    assert paper_plan.share_trainings(alone, papers) == alone
    linear = (
        papers["contracteval"]
        .tasks["contracteval"]
        .linear.model_copy(update={"folds": 5})
    )
    row = "TF-IDF, linear models and trees"
    for name, (_, before, after) in {
        "other settings": shared(linear=linear),
        "another data set": shared(trainings_of="maud_extraction"),
        "no data set": shared(trainings_of=""),
    }.items():
        assert after == before, name
    _, before, after = shared(excluded={row: "excluded"})
    assert trainings(after["contracteval"]) == {
        "runs/contracteval/train/linear/linear/seed0"
    }


@pytest.mark.parametrize("variant", ["sample", "rebuilt"])
def test_cuad_and_contracteval_have_the_same_training_data(variant):
    first, second = (
        packages.load(ROOT / f"resources/papers/{name}.yaml").data[name].census[variant]
        for name in ("cuad", "contracteval")
    )
    for table in ("questions", "answers", "training_examples"):
        assert first[table]["rows_sha256"] == second[table]["rows_sha256"]


def test_published_models_get_the_released_prompt_or_a_reason():
    rows, _ = laid_out()
    cells = published.load(ROOT / "resources/published/contracteval.csv")
    assert {name for name, row in rows.items() if not row["additional"]} == {
        cell.row for cell in cells
    }
    assert all(row["reason"] for row in rows.values() if not row["additional"])
    rows, specs = laid_out(llm="https://api.openai.com/v1", extra_models=[LLM])
    ran = {name for name, row in rows.items() if row["asked"] and row["runs"]}
    asked = {"GPT 4.1", "GPT 4.1 mini", "Mine"}
    assert ran == asked | {f"{name}, candidates only" for name in asked}
    assert (
        not rows["GPT 4.1"]["additional"]
        and rows["GPT 4.1, candidates only"]["additional"]
        and rows["Mine"]["additional"]
    )
    for run, spec in specs.items():
        if run.experiment == ASK:
            assert (spec.settings["prompt"], spec.settings["tokens"]) == (PROMPT, 5000)
            assert [need.experiment for need in spec.needs] == ["read"] * (
                run.condition == "candidates"
            )


def test_published_models_with_the_limits_of_another_grid_are_additional_rows():
    rows, specs = laid_out(llm="https://api.openai.com/v1", grid="sample")
    limits = "sample budget: outputs of 8 tokens, 2 questions a contract"
    published_row = rows["GPT 4.1"]
    assert published_row["runs"] == {}
    assert published_row["reason"] == "needs grid=paper, as in the paper"
    for name in (f"GPT 4.1, {limits}", f"GPT 4.1, candidates only, {limits}"):
        assert rows[name]["additional"] and rows[name]["runs"]
    asked = [spec.settings for run, spec in specs.items() if run.experiment == ASK]
    assert {settings["questions"] for settings in asked} == {2}
    # These limits are the paper's.
    rows, _ = laid_out(llm="https://api.openai.com/v1", grid="small")
    assert rows["GPT 4.1"]["runs"] and rows["GPT 4.1, candidates only"]["runs"]


@pytest.mark.parametrize("file", ["gemma-3-4b-it-Q2_K.gguf", "config.json"])
def test_a_published_row_needs_its_weights_and_no_gguf_file(tmp_path, file):
    folder = tmp_path / "models/gemma-3-4b-it"
    folder.mkdir(parents=True)
    (folder / file).write_bytes(b"GGUF")
    settings = {"data": "release", "models": "available", "mirror": str(tmp_path)}
    plan = paper_plan.plan(PAPER, context("contracteval", gpu=True, **settings))
    rows = {row["row"]: row for row in plan.rows["table3"]}
    name = "Gemma 3 4B"
    if file == "config.json":
        assert rows[name]["runs"]
        return
    assert rows[name]["runs"] == {}
    assert rows[name]["reason"] == (
        f"needs its published weights, and not the file {file}, as in the paper"
    )
    for ending in ("", ", candidates only"):
        row = rows[f"{name}{ending}, weights of {file}"]
        assert row["additional"] and row["runs"]


@pytest.mark.parametrize(
    "changed",
    [
        {"thresholds": []},
        {"evaluator": "spans"},
        {"asking": {"prompt": "contract_passages", "candidates": "gpt-4.1"}},
        {
            "models": {
                "linear": {"row": "A", "kind": "linear"},
                "bert": {"row": "B", "model": "bert"},
            }
        },
    ],
)
def test_an_invalid_task_raises(changed):
    task = PAPER.tasks["contracteval"].model_dump(exclude_defaults=True) | {
        "task": "spans"
    }
    SpanTask.model_validate(task)
    with pytest.raises(ValidationError):
        SpanTask.model_validate(task | changed)


TERM_QUOTE = "The term is five years."


@pytest.mark.parametrize(
    ("parts", "output"),
    [
        ([NO_CLAUSE, NO_CLAUSE], NO_CLAUSE),
        ([NO_CLAUSE, "There is no related clause here."], NO_CLAUSE),
        (["", NO_CLAUSE], ""),
        (["", " "], ""),
        (["", TERM_QUOTE, NO_CLAUSE], TERM_QUOTE),
        ([TERM_QUOTE, TERM_QUOTE], f"{TERM_QUOTE}{outputs.BETWEEN}{TERM_QUOTE}"),
        (
            [f"{TERM_QUOTE}\nNo related clause on renewal.", NO_CLAUSE],
            f"{TERM_QUOTE}\nNo related clause on renewal.",
        ),
        ([], NO_CLAUSE),  # a question without a candidate
    ],
)
def test_a_clause_is_denied_only_if_every_part_denies_it(parts, output):
    assert writing.joined(parts) == output
