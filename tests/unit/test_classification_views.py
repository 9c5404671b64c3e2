"""Tasks with views: planning, input texts, predictions and scores."""

import gc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from pydantic import ValidationError

import optimisers
import tiny_encoders
from lextables.models import multi_head
from lextables.models.resolve import Model
from lextables.pipeline.config import load as load_config
from lextables.pipeline.dataset import Column, Table, write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import SCORES, Run
from lextables.tasks.classification import linear
from lextables.tasks.classification.examples import (
    Text,
    by_head,
    of_splits,
    texts_of,
    under_view,
)
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.plan import (
    ClassificationPlanner,
    ClassificationTask,
)
from lextables.tasks.classification.reading import read_heads, read_views
from lextables.tasks.classification.schema import HEADS as HEADS_TABLE
from lextables.tasks.classification.schema import READINGS
from lextables.tasks.classification.scoring import (
    ANSWER,
    LEFT_OUT,
    PROBABILITY,
    SUBMITTED,
    score,
)
from lextables.tasks.classification.settings import (
    LinearSettings,
    Reading,
    ScoreSettings,
    View,
)
from lextables.tasks.plan import Context, SubmittedFiles
from tiny_encoders import WORDS

# Later garbage collections skip the objects loaded so far.
gc.freeze()
CPU = torch.device("cpu")

# Planning.

ENCODER = {"kind": "encoder", "licence": "none", "use": "none", "max_length": 64}
MODELS = {name: Model(**ENCODER) for name in ("small", "ready", "large", "away")}
HERE = ("small", "ready", "large")
GRID = {
    "learning_rates": [1e-4],
    "batch_size": 8,
    "max_length": 32,
    "optimiser": optimisers.LINEAR,
}
FIRST = {
    "task": "classification",
    "metrics": ["accuracy"],
    "choose_by": "accuracy",
    "views": {"pair": {"text": "text_id", "pair": "pair_id"}},
    "readings": {"pair": []},
    "models": {
        "small": {"row": "Small, first", "model": "small"},
        "large": {"row": "Large, first", "model": "large", "checkpoint": "ready"},
        "away": {"row": "Away, first", "model": "away", "checkpoint": "ready"},
    },
    "grids": {"paper": {"multi": GRID | {"updates": [5]}}},
}
SECOND = FIRST | {
    "heads": ["three"],
    "views": {
        "short": {"text": "short", "pair": "hypothesis"},
        "short_16": {"text": "short", "pair": "hypothesis", "max_length": 16},
        "long": {"text": "long", "pair": "hypothesis", "max_length": 64},
        "alone": {"text": "hypothesis"},
    },
    "readings": {
        "none": ["short", "long"],
        "short": ["short", "short_16"],
        "long": ["long"],
        "alone": ["alone"],
    },
    "models": {"small": {"row": "Small", "model": "small"}},
    "grids": {
        "paper": {
            "multi": GRID | {"passes": 2},
            "other": GRID | {"passes": 1, "max_length": 48},
        }
    },
    "linear": {"longest": 2, "least": 3, "smoothing": 1.0, "penalty": {"words": 1.0}},
}


@pytest.fixture
def planned(tmp_path):
    """Plan both data sets; return the rows of the second by name, and the specs of both."""
    for name in HERE:
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").write_text("{}")

    def plan(models=None, *, given=(), absent=None, second=None, **config):
        found = {"papers": "acord", "grid": "paper", "seeds": [0, 1], "data": "release"}
        found |= {"models": "available", "mirror": str(tmp_path)} | config
        context = Context(
            load_config(found, ["acord"], tmp_path),
            MODELS,
            tmp_path,
            gpu=False,
            submitted={"second": given},
            absent=absent or {},
        )
        tasks = {
            "first": FIRST,
            "second": SECOND | ({"models": models} if models else {}) | (second or {}),
        }
        planners = {
            name: ClassificationPlanner(name, ClassificationTask(**task), context)
            for name, task in tasks.items()
        }
        for planner in planners.values():
            planner.others = planners
        rows = [*planners["second"].rows(), *planners["second"].submitted()]
        return (
            {row.row: row for row in rows},
            planners["first"].specs,
            planners["second"].specs,
        )

    return plan


def test_each_seed_has_one_training_per_view_and_one_prediction_run(planned):
    rows, first, specs = planned()
    views = ("none", "short", "long", "alone")
    trained = {
        seed: [Run("second", "train", "small", f"{v}-paper", seed) for v in views]
        for seed in (0, 1)
    }
    read_by = {seed: Run("second", "read", "small", "paper", seed) for seed in (0, 1)}
    assert (
        set(specs)
        == {run for seed in (0, 1) for run in (*trained[seed], read_by[seed])}
        and not first
    )
    assert rows["Small"].runs == {"100": tuple(read_by.values())}
    assert (
        rows["Small"].about == {"setting": "multi", "heads": "three"}
        and rows["Small"].trained
    )
    for seed, run in read_by.items():
        assert specs[run].sources == tuple(trained[seed])
        assert all(specs[training].sources == () for training in trained[seed])


def test_a_reading_has_a_training_a_view_and_a_maximum_length(planned):
    _, _, specs = planned()
    short, long = ({"text": name, "pair": "hypothesis"} for name in ("short", "long"))
    readings = specs[Run("second", "read", "small", "paper")].settings["readings"]
    assert readings == [
        {"condition": "none > short", "source": 0, "view": short, "max_length": 32},
        {"condition": "none > long", "source": 0, "view": long, "max_length": 32},
        {"condition": "short > short", "source": 1, "view": short, "max_length": 32},
        {"condition": "short > short_16", "source": 1, "view": short, "max_length": 16},
        {"condition": "long > long", "source": 2, "view": long, "max_length": 32},
        {
            "condition": "alone > alone",
            "source": 3,
            "view": {"text": "hypothesis", "pair": None},
            "max_length": 32,
        },
    ]


def trainings(specs, model):
    """Training settings of the first seed of a model, by condition."""
    return {
        run.condition: spec.settings
        for run, spec in specs.items()
        if (run.experiment, run.model, run.seed) == ("train", model, 0)
    }


def test_a_training_gets_its_view_and_none_is_a_training_without_updates(planned):
    _, _, specs = planned()
    found = trainings(specs, "small")
    expected = {
        "passes": 2,
        "updates": [],
        "optimiser": optimisers.LINEAR,
        "only": ["three"],
        "where": None,
    }
    assert found["short-paper"] == found["short-paper"] | expected
    assert found["alone-paper"]["view"] == {"text": "hypothesis", "pair": None}
    assert (found["none-paper"]["passes"], found["none-paper"]["updates"]) == (
        None,
        [0],
    )
    # It gets the first view on which it predicts.
    assert found["none-paper"]["view"] == found["short-paper"]["view"]
    assert found["long-paper"]["max_length"] == 32


def test_a_model_entry_can_set_views_heads_grid_and_examples(planned):
    panel = {
        "row": "Small",
        "model": "small",
        "trained_on": ["long", "none"],
        "heads": ["two", "four"],
    }
    rows, _, specs = planned(
        {"small": panel | {"grid": "other", "where": "analysis", "lenient": True}}
    )
    found = trainings(specs, "small")
    assert list(found) == ["none-paper", "long-paper"]
    expected = {
        "only": ["two", "four"],
        "where": "analysis",
        "passes": 1,
        "max_length": 48,
    }
    assert expected.items() <= found["long-paper"].items()
    read_by = specs[Run("second", "read", "small", "paper")].settings
    assert [
        (each["condition"], each["source"], each["max_length"])
        for each in read_by["readings"]
    ] == [
        ("none > short", 0, 48),
        ("none > long", 0, 48),
        ("long > long", 1, 48),
    ]
    assert (
        read_by["only"] == ["two", "four"]
        and rows["Small"].about["heads"] == "two, four"
    )
    assert rows["Small"].lenient


def test_a_grid_can_limit_the_views_and_a_model_entry_can_limit_the_grids(planned):
    few = {
        "small": {"multi": GRID | {"updates": [3], "seeds": 1, "trained_on": ["short"]}}
    }
    models = {
        "small": {"row": "Small", "model": "small"},
        "large": {"row": "Large", "model": "large", "grids": ["paper"]},
        "words": {"row": "Words", "kind": "linear", "additional": True},
    }
    rows, _, specs = planned(
        models, second={"grids": SECOND["grids"] | few}, grid="small"
    )
    budget = "small budget: 3 updates of 8 examples, texts cut at 32 tokens"
    assert list(rows) == ["Small", f"Small, {budget}", "Words"]
    assert (
        rows["Small"].reason == "needs grid=paper, as in the paper"
        and not rows["Small"].runs
    )
    assert list(trainings(specs, "small")) == ["short-small"]
    # A linear model is cheap and is trained under all views.
    assert len(trainings(specs, "words")) == 4


def test_training_can_continue_from_a_model_trained_on_another_data_set(planned):
    _, first, specs = planned(
        {"small": {"row": "Small", "model": "small", "after": "first"}}
    )
    before = Run("first", "train", "small", "pair-paper")
    assert set(first) == {before} and first[before].settings["updates"] == [5]
    for seed in (0, 1):
        for view in ("none", "short", "long", "alone"):
            spec = specs[Run("second", "train", "small", f"{view}-paper", seed)]
            # All these trainings share one training on the first data set.
            assert spec.sources == (before,)
            assert spec.settings["weights"].endswith(f"{before.folder}/weights")
            assert spec.settings["found"] == "mirror folder, then first"
            assert spec.settings["tokenizer"]["weights"] == "mirror:small"
    assert Run("second", "read", "small", "paper", 1) in specs


def test_an_available_checkpoint_replaces_the_first_training(planned):
    rows, first, specs = planned(
        {"large": {"row": "Large", "model": "large", "after": "first"}}
    )
    assert not first
    found = trainings(specs, "large")["short-paper"]
    assert (found["model"], found["weights"]) == ("large", "mirror:ready")
    assert all(
        not spec.sources for run, spec in specs.items() if run.experiment == "train"
    )
    # Neither the first data set nor the base model of the checkpoint is needed.
    panel = {"away": {"row": "Away", "model": "away", "after": "first"}}
    rows, _, _ = planned(panel, absent={"first": "no mirror has it"})
    assert rows["Away"].runs and not rows["Away"].reason


@pytest.mark.parametrize(
    ("panel", "absent", "reason"),
    [
        (
            {"model": "small", "after": "first"},
            {"first": "no mirror has it"},
            "no mirror has it",
        ),
        ({"model": "away"}, {}, "away is not available here"),
    ],
    ids=["data", "weights"],
)
def test_a_row_with_missing_data_or_weights_has_a_reason(
    planned, panel, absent, reason
):
    rows, first, specs = planned({"it": {"row": "It"} | panel}, absent=absent)
    assert (rows["It"].reason, rows["It"].runs, specs, first) == (reason, {}, {}, {})


def test_a_model_that_is_not_trained_on_the_first_data_set_is_rejected(planned):
    with pytest.raises(
        BadInput,
        match="first: 'ready' must be trained on this data set first, but is none of its models",
    ):
        planned({"ready": {"row": "Ready", "model": "ready", "after": "first"}})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"readings": {"shrot": ["short"]}},
            "readings names the view 'shrot', which is not among the views",
        ),
        (
            {"readings": {"short": ["lnog"]}},
            "readings names the view 'lnog', which is not among the views",
        ),
        (
            {
                "models": {
                    "small": {
                        "row": "Small",
                        "model": "small",
                        "trained_on": ["short_16"],
                    }
                }
            },
            "the row 'Small' is trained on 'short_16', which readings lacks",
        ),
    ],
)
def test_unknown_views_are_rejected(changes, sentence):
    with pytest.raises(ValidationError, match=sentence):
        ClassificationTask(**SECOND | changes)


def test_user_encoders_and_predictions_are_rows_with_the_heads_of_the_task(
    planned, tmp_path
):
    mine = [
        {"name": "Mine", "kind": "encoder", "model": str(tmp_path / "models/small")}
    ]
    theirs = SubmittedFiles("Theirs", "own-theirs", "csv", ("sha256:1", "sha256:2"))
    rows, _, specs = planned(given=[theirs], extra_models=mine)
    assert {name: row.about["heads"] for name, row in rows.items()} == dict.fromkeys(
        ("Small", "Mine", "Theirs"), "three"
    )
    assert (
        rows["Mine"].additional
        and not rows["Mine"].submitted
        and rows["Theirs"].additional
        and rows["Theirs"].submitted
    )
    assert list(trainings(specs, "own-mine")) == list(trainings(specs, "small"))
    given = tuple(
        Run("second", SUBMITTED, "own-theirs", "100", seed) for seed in (0, 1)
    )
    assert rows["Theirs"].runs == {"100": given}
    assert specs[given[1]].settings == {"form": "csv", "content": "sha256:2"}


def test_a_linear_model_does_not_predict_on_truncated_views(planned):
    views = {"trained_on": ["short", "long", "alone"]}
    rows, _, specs = planned(
        {"words": {"row": "Words", "kind": "linear", "additional": True} | views}
    )
    assert rows["Words"].runs == {"100": (Run("second", "read", "words", "linear"),)}
    spec = specs[Run("second", "read", "words", "linear")]
    # The views `long` and `short_16` are truncated, at 64 and 16 tokens.
    assert [
        (each["condition"], each["source"]) for each in spec.settings["readings"]
    ] == [
        ("short > short", 0),
        ("alone > alone", 2),
    ]
    assert all("max_length" not in each for each in spec.settings["readings"])
    assert [source.condition for source in spec.sources] == [
        "linear-short",
        "linear-long",
        "linear-alone",
    ]
    assert specs[spec.sources[2]].settings["view"] == {
        "text": "hypothesis",
        "pair": None,
    }


# Input texts.

SHORT, LONG = (View(text=name, pair="hypothesis") for name in ("short", "long"))
ALONE = View(text="hypothesis")
HEADS = {"three": ("entail", "neutral", "contradict"), "two": ("entail", "not entail")}
EXAMPLES = Table(
    "examples",
    "",
    (
        *(Column(name, pa.string(), "") for name in ("example_id", "split", "head_id")),
        Column("label", pa.int32(), ""),
        *(
            Column(name, pa.string(), "")
            for name in ("short", "long", "hypothesis", "premise")
        ),
        *(Column(name, pa.bool_(), "") for name in ("analysis", "negated")),
    ),
    ("example_id",),
)
TEXTS = Table(
    "texts",
    "",
    (Column("text_id", pa.string(), ""), Column("text", pa.string(), "")),
    ("text_id",),
    ordered=False,
)
TEXT_ID, PAIR_ID = (Column(name, pa.string(), "") for name in ("text_id", "pair_id"))
KNOWN = [{"head_id": head, "answers": list(answers)} for head, answers in HEADS.items()]


def said():
    """Short and long premises and hypotheses as {text id: text}, not sorted by id."""
    drawn = np.random.default_rng(0)
    sizes = {"s": (3, 8), "l": (20, 40), "h": (2, 5)}
    return {
        f"{kind}{number}": " ".join(drawn.choice(WORDS, drawn.integers(*sizes[kind])))
        for kind in "slh"
        for number in reversed(range(4))
    }


def examples():
    """All pairs of premises and hypotheses for two heads; the last two premises are in the test split."""
    return [
        {
            "example_id": f"{premise}{hypothesis}:{head}",
            "split": "test" if premise > 1 else "train",
            "head_id": head,
            "label": (premise + hypothesis) % len(answers),
            "short": f"s{premise}",
            "long": f"l{premise}",
            "hypothesis": f"h{hypothesis}",
            "premise": f"p{premise}",
            "analysis": hypothesis < 3,
            "negated": hypothesis == 1,
        }
        for premise in range(4)
        for hypothesis in range(4)
        for head, answers in HEADS.items()
    ]


@pytest.fixture
def stored(tmp_path):
    write(EXAMPLES, examples(), tmp_path / "examples.parquet")
    texts = ({"text_id": text_id, "text": text} for text_id, text in said().items())
    write(TEXTS, texts, tmp_path / "texts.parquet")
    return tmp_path / "examples.parquet", tmp_path / "texts.parquet"


def test_texts_of_all_views_are_returned_once_in_the_order_of_the_texts(stored):
    texts = said()
    expected = [
        Text((name, ""), text) for name, text in texts.items() if name[0] == "h"
    ]
    assert (
        list(texts_of(*stored, [ALONE]))
        == list(texts_of(*stored, [ALONE, ALONE]))
        == expected
    )
    found = list(texts_of(*stored, [SHORT, ALONE, LONG]))
    paired = [name for name in texts if name[0] in "sl"]
    keys = [(premise, f"h{number}") for premise in paired for number in range(4)]
    assert [text.key for text in found] == [*keys, *(text.key for text in expected)]
    assert all(
        (text.text, text.second) == (texts[text.key[0]], texts[text.key[1]])
        for text in found[:32]
    )
    assert found[32:] == expected


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


@pytest.fixture
def tokens(stored, folders, tmp_path):
    """Two files of tokens, with maximum lengths of 12 and 24."""
    wanted = {12: [SHORT, LONG], 24: [SHORT, LONG, ALONE]}
    for length, views in wanted.items():
        tokenise(
            texts_of(*stored, views),
            folders["bert"],
            length,
            tmp_path / f"{length}.parquet",
        )
    return [tmp_path / f"{length}.parquet" for length in wanted]


def test_only_the_requested_tokens_are_read(tokens):
    whole = read_tokens(tokens[1])
    wanted = {("s2", "h1"), ("l0", "h3"), ("h0", ""), ("s9", "h9")}
    found = read_tokens(tokens[1], wanted)
    assert set(found.position) == {("s2", "h1"), ("l0", "h3"), ("h0", "")}
    for key in found.position:
        assert found[key].tolist() == whole[key].tolist() and found.first(
            key
        ) == whole.first(key)
    assert len(found.ids) == sum(len(whole[key]) for key in found.position)
    none = read_tokens(tokens[1], set())
    assert not none.position and not len(none.ids)


# Predictions.

CONDITIONS = {
    "short > long": (0, LONG, 12),
    "none > short": (1, SHORT, 24),
    "short > alone": (0, ALONE, 24),
}


def test_joint_predictions_for_several_views_equal_separate_predictions(
    stored, folders, tokens, tmp_path, monkeypatch
):
    heads = dict(sorted(HEADS.items()))
    for number in range(2):
        model = multi_head.load(
            folders["bert"], [3, 2], "own", number, loss="cross_entropy"
        )
        multi_head.save(model, tmp_path / str(number), heads)
    weights = [tmp_path / "0", tmp_path / "1"]
    readings = [
        Reading(condition=condition, source=source, view=view, max_length=length)
        for condition, (source, view, length) in CONDITIONS.items()
    ]
    loaded, load = [], multi_head.load_trained
    monkeypatch.setattr(
        multi_head,
        "load_trained",
        lambda folder, device: loaded.append(folder) or load(folder, device),
    )
    found = list(read_views(readings, weights, stored[0], ["test"], tokens, CPU))
    # Sorted by condition; a model is loaded once for consecutive conditions.
    assert loaded == [weights[1], weights[0]]
    expected = []
    for condition, (source, view, length) in sorted(CONDITIONS.items()):
        model, _ = load(weights[source], CPU)
        asked = by_head(under_view(of_splits(examples(), ["test"]), view), heads)
        alone = read_heads(
            model, list(heads), asked, read_tokens(tokens[length == 24]), CPU
        )
        expected += [{"condition": condition, **row} for row in alone]
    assert found == expected and len(found) == 3 * 2 * 8
    assert write(READINGS, found, tmp_path / "predictions.parquet") == len(found)
    # Predictions differ if the model, the view or the length differs.
    of = {
        name: [row["logits"] for row in found if row["condition"] == name]
        for name in CONDITIONS
    }
    assert (
        of["short > long"]
        != of["none > short"]
        != of["short > alone"]
        != of["short > long"]
    )


LINEAR = LinearSettings(
    features="words",
    sides="both",
    longest=2,
    least=1,
    smoothing=1.0,
    penalty={"words": 1.0},
    multi_label=False,
    only=["three"],
)
PAIRED = replace(EXAMPLES, columns=(*EXAMPLES.columns[:4], *(TEXT_ID, PAIR_ID)))


def test_linear_predictions_for_views_equal_separate_predictions(stored, tmp_path):
    write(
        HEADS_TABLE,
        sorted(KNOWN, key=lambda head: head["head_id"]),
        tmp_path / "heads.parquet",
    )
    files = linear.LinearFiles(stored[0], tmp_path / "heads.parquet", stored[1])
    views = {"short": SHORT, "alone": ALONE}
    for name, view in views.items():
        settings = LINEAR.model_copy(update={"view": view})
        linear.train(files, ["train"], settings, 1, tmp_path / name)
    conditions = {
        "short > long": (0, LONG),
        "alone > alone": (1, ALONE),
        "short > short": (0, SHORT),
    }
    readings = [
        Reading(condition=condition, source=source, view=view)
        for condition, (source, view) in conditions.items()
    ]
    weights = [tmp_path / name for name in views]
    settings, left_out = LINEAR.model_copy(update={"readings": readings}), {}
    found = list(linear.read_views(files, ["test"], settings, weights, left_out))
    assert left_out == dict.fromkeys(conditions, 0)
    names = {column.name for column in PAIRED.columns}
    expected = []
    for condition, (source, view) in sorted(conditions.items()):
        rows = []
        for row in under_view(examples(), view):
            rows.append({name: row[name] for name in names})
        write(PAIRED, rows, tmp_path / "shown.parquet")
        shown = replace(files, examples=tmp_path / "shown.parquet")
        alone = linear.read_views(shown, ["test"], LINEAR, [weights[source]], {})
        expected += [{"condition": condition, **row} for row in alone]
    assert found == expected and len(found) == 3 * 8
    assert {row["head_id"] for row in found} == {"three"}


# Scores.

GENERAL = ScoreSettings(
    evaluator="general",
    metrics=["accuracy", "balanced accuracy"],
    unit="premise",
    multi_label=False,
    views={"short": {}},
    groups=["analysis", "negated"],
)


def readings_of(*conditions, heads=HEADS):
    drawn = np.random.default_rng(1)
    rows = [
        row for row in examples() if row["split"] == "test" and row["head_id"] in heads
    ]
    return [
        {
            "condition": condition,
            "head_id": row["head_id"],
            "example_id": row["example_id"],
        }
        | {
            "logits": logits.tolist(),
            "probabilities": (np.exp(logits) / np.exp(logits).sum()).tolist(),
        }
        for condition in conditions
        for row in sorted(rows, key=lambda row: (row["head_id"], row["example_id"]))
        for logits in [drawn.normal(size=len(HEADS[row["head_id"]]))]
    ]


def keyed(rows):
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_each_condition_is_scored_as_if_it_were_alone(tmp_path):
    given = readings_of("long > long", "none > short")
    rows, units = score(given, examples(), KNOWN, ["test"], GENERAL, tmp_path)
    found, found_units = keyed(rows), units
    alone = GENERAL.model_copy(update={"views": {}, "groups": ()})
    count = 0
    for condition in ("long > long", "none > short"):
        predictions = [row for row in given if row["condition"] == condition]
        for group in ("", "analysis", "negated"):
            of_group = [row for row in examples() if not group or row[group]]
            scores, of_units = score(
                predictions, of_group, KNOWN, ["test"], alone, tmp_path
            )
            for row in (*scores, *of_units):
                inner = row["group"] if row["group"] != "all" or not group else ""
                row["group"] = ", ".join(filter(None, (condition, group, inner)))
            assert keyed(scores).items() <= found.items()
            assert all(row in found_units for row in of_units)
            count += len(scores)
    names = (ANSWER, PROBABILITY)
    assert count == len([metric for metric, _ in found if metric not in names])
    assert found["accuracy", "long > long, head: three"][1] == 8
    assert found["accuracy", "long > long, negated, head: two"][1] == 2
    assert write(SCORES, rows, tmp_path / "scores.parquet") == len(rows)


def test_answers_and_probabilities_of_each_example_are_in_the_scores(tmp_path):
    given = readings_of("long > long", "none > short")
    rows, _ = score(given, examples(), KNOWN, ["test"], GENERAL, tmp_path)
    found, expected = keyed(rows), {}
    for row in given:
        name = f"{row['condition']}, example: {row['example_id']}"
        expected[ANSWER, name] = (float(np.argmax(row["logits"])), 1)
        for place, value in enumerate(row["probabilities"]):
            expected[PROBABILITY, f"{name}, answer: {place}"] = (value, 1)
    assert {key: found[key] for key in expected} == expected
    names = (ANSWER, PROBABILITY)
    assert len(expected) == len([metric for metric, _ in found if metric in names])


def test_empty_groups_have_no_scores_and_untrained_heads_are_counted(tmp_path):
    rows = [row | {"negated": row["split"] == "train"} for row in examples()]
    given = readings_of("long > long", heads=["two"])
    found, _ = score(given, rows, KNOWN, ["test"], GENERAL, tmp_path)
    assert not [row for row in found if "negated" in row["group"]]
    left = {
        row["group"]: (row["value"], row["n"])
        for row in found
        if row["metric"] == LEFT_OUT
    }
    assert left == {"long > long, all": (1, 2), "long > long, analysis": (1, 2)}


def test_submitted_predictions_are_scored_as_a_separate_condition(tmp_path):
    given = [
        {k: v for k, v in row.items() if k != "condition"}
        for row in readings_of("x", heads=["three"])
    ]
    found, _ = score(given, examples(), KNOWN, ["test"], GENERAL, tmp_path)
    assert {row["group"].partition(",")[0] for row in found} == {SUBMITTED}
    assert ("accuracy", "given, analysis, head: three") in {
        (row["metric"], row["group"]) for row in found
    }
    # Without views there are no conditions.
    plain, _ = score(
        given,
        examples(),
        KNOWN,
        ["test"],
        GENERAL.model_copy(update={"views": {}, "groups": ()}),
        tmp_path,
    )
    assert {row["group"] for row in plain} == {"all", "head: three"}
