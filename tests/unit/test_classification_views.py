"""Classification tasks with views: planning, input texts, predictions and scores.

A view names the column of an example that is the text, and the column that is the other
text of a pair.  A model is trained under some views; a reading is a prediction by such
a training under a view, and its condition is `<view of the training> > <view>`.
"""

import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from helpers import optimisers, tiny_encoders, tokenizer_kinds
from helpers.tiny_encoders import WORDS
from lextables.models import multi_head
from lextables.models.resolve import Model
from lextables.pipeline.config import load as load_config
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import SCORES, Run
from lextables.tasks.classification import linear
from lextables.tasks.classification.examples import (
    Text,
    by_head,
    key_of,
    of_splits,
    texts_of,
    under_view,
)
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.inference import inputs, read_heads, read_views
from lextables.tasks.classification.planner import (
    ClassificationPlanner,
    ClassificationTask,
)
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
from lextables.tasks.planner import Context, SubmittedFiles

CPU = torch.device("cpu")

# Planning.

ENCODER = {"kind": "encoder", "licence": "none", "use": "none", "max_length": 64}
# The weights of `missing` are not available.  `first-checkpoint` was trained on the
# data set `first`: it is what a training of `large` or `missing` would give.
AVAILABLE = ("small", "first-checkpoint", "large")
MODELS = {name: Model(**ENCODER) for name in (*AVAILABLE, "missing")}
# Settings of a training.
GRID = {
    "learning_rates": [1e-4],
    "batch_size": 8,
    "max_length": 32,
    "optimiser": optimisers.LINEAR,
}
# Two data sets; trainings on the second may go on from those on the first.
FIRST_TASK = {
    "task": "classification",
    "metrics": ["accuracy"],
    "choose_by": "accuracy",
    "views": {"pair": {"text": "text_id", "pair": "pair_id"}},
    "readings": {"pair": []},
    "models": {
        "small": {"row": "Small, first", "model": "small"},
        "large": {
            "row": "Large, first",
            "model": "large",
            "checkpoint": "first-checkpoint",
        },
        "missing": {
            "row": "Missing, first",
            "model": "missing",
            "checkpoint": "first-checkpoint",
        },
    },
    "grids": {"paper": {"multi": GRID | {"updates": [5]}}},
}
SECOND_TASK = FIRST_TASK | {
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
def plan_both(tmp_path):
    """Return a function that plans both data sets; it returns {name: row} of the
    second, and {run: its spec} of the first and of the second.

    ``models`` replaces the models of the second task, ``second`` other keys of it, and
    ``first`` the grids of the first.  ``submitted`` are predictions of users,
    ``absent`` is {data set that is not available: the reason}, and ``config`` are keys
    of the configuration.
    """
    for name in AVAILABLE:
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").write_text("{}")

    def plan(
        models=None, *, submitted=(), absent=None, first=None, second=None, **config
    ):
        values = {
            "papers": "acord",
            "grid": "paper",
            "seeds": [0, 1],
            "data": "release",
            "models": "available",
            "mirror": str(tmp_path),
        }
        context = Context(
            load_config(values | config, ["acord"], tmp_path),
            MODELS,
            tmp_path,
            gpu=False,
            submitted={"second": submitted},
            absent=absent or {},
        )
        tasks = {"first": dict(FIRST_TASK), "second": dict(SECOND_TASK)}
        if first:
            tasks["first"]["grids"] = first
        if models:
            tasks["second"]["models"] = models
        tasks["second"].update(second or {})
        planners = {
            name: ClassificationPlanner(name, ClassificationTask(**task), context)
            for name, task in tasks.items()
        }
        for planner in planners.values():
            planner.others = planners
        rows = [*planners["second"].rows(), *planners["second"].submitted_rows()]
        return (
            {row.row: row for row in rows},
            planners["first"].specs,
            planners["second"].specs,
        )

    return plan


def test_each_seed_has_one_training_per_view_and_one_prediction_run(plan_both):
    rows, first, specs = plan_both()
    views = ("none", "short", "long", "alone")
    prediction_runs = []
    for seed in (0, 1):
        trainings_of_seed = []
        for view in views:
            run = Run("second", "train", "small", f"{view}-paper", seed)
            assert specs[run].sources == ()
            trainings_of_seed.append(run)
        prediction_run = Run("second", "read", "small", "paper", seed)
        assert specs[prediction_run].sources == tuple(trainings_of_seed)
        prediction_runs.append(prediction_run)
    # Two seeds with four trainings and one prediction run each.
    assert len(specs) == 2 * (4 + 1)
    assert not first
    assert rows["Small"].runs == {"100": tuple(prediction_runs)}
    assert rows["Small"].trained
    assert rows["Small"].about == {"setting": "multi", "heads": "three"}


def test_a_reading_has_a_training_a_view_and_a_maximum_length(plan_both):
    _, _, specs = plan_both()
    short = {"text": "short", "pair": "hypothesis"}
    long = {"text": "long", "pair": "hypothesis"}
    alone = {"text": "hypothesis", "pair": None}
    readings = specs[Run("second", "read", "small", "paper")].settings["readings"]
    assert list(readings[0]) == ["condition", "source", "view", "max_length"]
    # A source is the place of the training in the order of the first views.
    assert [tuple(reading.values()) for reading in readings] == [
        ("none > short", 0, short, 32),
        ("none > long", 0, long, 32),
        ("short > short", 1, short, 32),
        ("short > short_16", 1, short, 16),
        ("long > long", 2, long, 32),
        ("alone > alone", 3, alone, 32),
    ]


SMALL = {"row": "Small", "model": "small"}


def conditions(settings):
    """Return {condition of a reading: (its source, its maximum length)}."""
    by_condition = {}
    for reading in settings["readings"]:
        source_and_length = (reading["source"], reading.get("max_length"))
        by_condition[reading["condition"]] = source_and_length
    return by_condition


def trainings(specs, model):
    """Return {condition of a training: its settings}, of the first seed of a model."""
    by_condition = {}
    for run, spec in specs.items():
        if (run.experiment, run.model, run.seed) == ("train", model, 0):
            by_condition[run.condition] = spec.settings
    return by_condition


def test_a_training_gets_its_view_and_none_is_a_training_without_updates(plan_both):
    _, _, specs = plan_both()
    settings = trainings(specs, "small")
    short = settings["short-paper"]
    untrained = settings["none-paper"]
    expected = {"passes": 2, "updates": [], "only": ["three"], "where": None}
    expected["optimiser"] = optimisers.LINEAR
    assert expected.items() <= short.items()
    assert settings["alone-paper"]["view"] == {"text": "hypothesis", "pair": None}
    assert (untrained["passes"], untrained["updates"]) == (None, [0])
    # It gets the first view on which it predicts.
    assert untrained["view"] == short["view"]
    assert settings["long-paper"]["max_length"] == 32


def test_a_model_entry_can_set_views_heads_grid_and_examples(plan_both):
    entry = SMALL | {"trained_on": ["long", "none"], "heads": ["two", "four"]}
    entry |= {"grid": "other", "where": "analysis", "lenient": True}
    rows, _, specs = plan_both({"small": entry})
    settings = trainings(specs, "small")
    assert list(settings) == ["none-paper", "long-paper"]
    expected = {"only": ["two", "four"], "where": "analysis"}
    expected |= {"passes": 1, "max_length": 48}
    assert expected.items() <= settings["long-paper"].items()
    read_by = specs[Run("second", "read", "small", "paper")].settings
    assert conditions(read_by) == {
        "none > short": (0, 48),
        "none > long": (0, 48),
        "long > long": (1, 48),
    }
    assert read_by["only"] == ["two", "four"]
    assert rows["Small"].about["heads"] == "two, four" and rows["Small"].lenient


def test_a_grid_can_limit_the_views_and_a_model_entry_can_limit_the_grids(plan_both):
    grid = GRID | {"updates": [3], "seeds": 1, "trained_on": ["short"]}
    models = {
        "small": SMALL,
        "large": {"row": "Large", "model": "large", "grids": ["paper"]},
        "words": {"row": "Words", "kind": "linear", "additional": True},
    }
    rows, _, specs = plan_both(
        models,
        second={"grids": SECOND_TASK["grids"] | {"small": {"multi": grid}}},
        grid="small",
    )
    budget = "small budget: 3 updates of 8 examples, texts cut at 32 tokens"
    assert list(rows) == ["Small", f"Small, {budget}", "Words"]
    assert rows["Small"].reason == "needs grid=paper, as in the paper"
    assert not rows["Small"].runs
    assert list(trainings(specs, "small")) == ["short-small"]
    # A linear model is cheap and is trained under all views.
    assert len(trainings(specs, "words")) == 4


def test_training_can_continue_from_a_model_trained_on_another_data_set(plan_both):
    _, first, specs = plan_both({"small": SMALL | {"after": "first"}})
    first_trainings = [
        Run("first", "train", "small", "pair-paper", seed) for seed in (0, 1)
    ]
    assert set(first) == set(first_trainings)
    assert first[first_trainings[0]].settings["updates"] == [5]
    for seed, first_training in enumerate(first_trainings):
        for view in ("none", "short", "long", "alone"):
            spec = specs[Run("second", "train", "small", f"{view}-paper", seed)]
            # All trainings of a seed go on from the training with this seed.
            assert spec.sources == (first_training,)
            weights = f"{first_training.folder}/weights"
            assert spec.settings["weights"].endswith(weights)
            assert spec.settings["found"] == "mirror folder, then first"
            assert spec.settings["tokenizer"]["weights"] == "mirror:small"
    assert Run("second", "read", "small", "paper", 1) in specs


def test_all_seeds_go_on_from_the_only_training_on_another_data_set(plan_both):
    grids = {"paper": {"multi": GRID | {"updates": [5], "seeds": 1}}}
    _, first, specs = plan_both({"small": SMALL | {"after": "first"}}, first=grids)
    (first_training,) = first
    for seed in (0, 1):
        spec = specs[Run("second", "train", "small", "long-paper", seed)]
        assert spec.sources == (first_training,)


def test_new_heads_are_a_setting_of_a_training(plan_both):
    entry = SMALL | {"after": "first", "trained_on": ["none"], "new_heads": True}
    _, _, specs = plan_both({"small": entry})
    (settings,) = trainings(specs, "small").values()
    assert settings["new_heads"]
    assert settings["updates"] == [0]
    _, _, specs = plan_both({"small": SMALL})
    for settings in trainings(specs, "small").values():
        assert "new_heads" not in settings


def test_an_available_checkpoint_replaces_the_first_training(plan_both):
    entry = {"row": "Large", "model": "large", "after": "first"}
    _, first, specs = plan_both({"large": entry})
    assert not first
    settings = trainings(specs, "large")["short-paper"]
    assert settings["model"] == "large"
    assert settings["weights"] == "mirror:first-checkpoint"
    assert not specs[Run("second", "train", "large", "short-paper")].sources


def test_a_checkpoint_needs_neither_its_data_set_nor_its_base_model(plan_both):
    entry = {"row": "Missing", "model": "missing", "after": "first"}
    absent = {"first": "no mirror has it"}
    rows, _, _ = plan_both({"missing": entry}, absent=absent)
    assert rows["Missing"].runs
    assert not rows["Missing"].reason


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"model": "small", "after": "first"}, "no mirror has it"),
        ({"model": "missing"}, "missing is not available here"),
    ],
    ids=["data", "weights"],
)
def test_a_row_with_missing_data_or_weights_has_a_reason(plan_both, entry, reason):
    absent = {"first": "no mirror has it"}
    rows, first, specs = plan_both({"x": {"row": "X"} | entry}, absent=absent)
    assert rows["X"].reason == reason
    assert rows["X"].runs == {}
    assert specs == {}
    assert first == {}


def test_a_model_that_is_not_trained_on_the_first_data_set_is_rejected(plan_both):
    # The first task has no model `first-checkpoint`.
    entry = {"row": "X", "model": "first-checkpoint", "after": "first"}
    message = "first: 'first-checkpoint' must be trained on this data set first, but is none of its"
    with pytest.raises(BadInput, match=message):
        plan_both({"x": entry})


def test_user_encoders_and_predictions_are_rows_with_the_heads_of_the_task(
    plan_both, tmp_path
):
    mine = {"name": "Mine", "kind": "encoder", "model": str(tmp_path / "models/small")}
    theirs = SubmittedFiles("Theirs", "own-theirs", "csv", ("sha256:1", "sha256:2"))
    rows, _, specs = plan_both(submitted=[theirs], extra_models=[mine])
    marks = [(row.row, row.additional, row.submitted) for row in rows.values()]
    assert marks == [
        ("Small", False, False),
        ("Mine", True, False),
        ("Theirs", True, True),
    ]
    assert {row.about["heads"] for row in rows.values()} == {"three"}
    assert list(trainings(specs, "own-mine")) == list(trainings(specs, "small"))
    # A run for each submitted file.
    runs = [Run("second", SUBMITTED, "own-theirs", "100", seed) for seed in (0, 1)]
    assert rows["Theirs"].runs == {"100": tuple(runs)}
    assert specs[runs[1]].settings == {"form": "csv", "content": "sha256:2"}


def test_a_linear_model_does_not_predict_on_truncated_views(plan_both):
    views = ["short", "long", "alone"]
    entry = {"row": "Words", "kind": "linear", "trained_on": views}
    rows, _, specs = plan_both({"words": entry})
    (run,) = rows["Words"].runs["100"]
    assert run == Run("second", "read", "words", "linear")
    # The views `long` and `short_16` are truncated, at 64 and 16 tokens.
    assert conditions(specs[run].settings) == {
        "short > short": (0, None),
        "alone > alone": (2, None),
    }
    sources = specs[run].sources
    assert [source.condition for source in sources] == [
        "linear-short",
        "linear-long",
        "linear-alone",
    ]
    alone = {"text": "hypothesis", "pair": None}
    assert specs[sources[2]].settings["view"] == alone


# Input texts.

SHORT = View(text="short", pair="hypothesis")
LONG = View(text="long", pair="hypothesis")
ALONE = View(text="hypothesis")
# One side of a pair is a space.
BLANK_FIRST = View(text="blank", pair="hypothesis")
BLANK_SECOND = View(text="short", pair="blank")
# {head: its answers}
HEADS = {"three": ("entail", "neutral", "contradict"), "two": ("entail", "not entail")}
HEAD_ROWS = [
    {"head_id": head, "answers": list(answers)} for head, answers in HEADS.items()
]


def texts_by_id():
    """Return {text id: text}, not sorted by id: four short premises (s0 to s3), four
    long ones (l0 to l3) and four hypotheses (h0 to h3).
    """
    random = np.random.default_rng(0)
    texts = {}
    # The least number of words of a text, and the number that it does not reach.
    for kind, low, high in (("s", 3, 8), ("l", 20, 40), ("h", 2, 5)):
        for number in reversed(range(4)):
            words = random.choice(WORDS, random.integers(low, high))
            texts[f"{kind}{number}"] = " ".join(words)
    return texts


def examples():
    """Return rows of all pairs of premises and hypotheses for two heads; the last two
    premises are in the test split, so each head has eight test examples.
    """
    rows = []
    for premise, hypothesis, head in product(range(4), range(4), HEADS):
        row = {"example_id": f"{premise}{hypothesis}:{head}", "head_id": head}
        row["split"] = "test" if premise > 1 else "train"
        row["label"] = (premise + hypothesis) % len(HEADS[head])
        row |= {"short": f"s{premise}", "long": f"l{premise}"}
        row |= {"hypothesis": f"h{hypothesis}", "premise": f"p{premise}"}
        row |= {"analysis": hypothesis < 3, "negated": hypothesis == 1}
        rows.append(row)
    return rows


def write_rows(rows, path):
    """Write the rows, and return ``path``."""
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


class Files(NamedTuple):
    """The paths of a data set's examples and texts."""

    examples: Path
    texts: Path


@pytest.fixture
def files(tmp_path):
    texts = []
    for text_id, text in texts_by_id().items():
        texts.append({"text_id": text_id, "text": text})
    return Files(
        write_rows(examples(), tmp_path / "examples.parquet"),
        write_rows(texts, tmp_path / "texts.parquet"),
    )


def test_texts_of_all_views_are_returned_once_in_the_order_of_the_texts(files):
    texts = texts_by_id()
    hypotheses = []  # alone
    pairs = []  # of a premise and a hypothesis
    for name, text in texts.items():
        if name.startswith("h"):
            hypotheses.append(Text((name, ""), text))
            continue
        for hypothesis in ("h0", "h1", "h2", "h3"):
            pairs.append(Text((name, hypothesis), text, texts[hypothesis]))
    assert list(texts_of(*files, [ALONE, ALONE])) == hypotheses
    assert list(texts_of(*files, [SHORT, ALONE, LONG])) == [*pairs, *hypotheses]


def test_a_view_with_a_blank_side_pairs_each_text_with_a_space(files):
    texts = texts_by_id()
    pairs = []
    for name in ("s3", "s2", "s1", "s0"):  # in the order of the texts
        pairs.append(Text((name, "blank"), texts[name], " "))
    for name in ("h0", "h1", "h2", "h3"):
        pairs.append(Text(("blank", name), " ", texts[name]))
    assert list(texts_of(*files, [BLANK_FIRST, BLANK_SECOND])) == pairs


def test_no_text_is_paired_with_a_space_if_no_view_has_a_blank_side(files):
    for text in texts_of(*files, [SHORT, ALONE]):
        assert "blank" not in text.key


def test_the_key_of_an_example_has_the_id_blank_for_a_blank_side():
    row = examples()[0]
    assert key_of(row, BLANK_FIRST) == ("blank", row["hypothesis"])
    assert key_of(row, BLANK_SECOND) == (row["short"], "blank")
    (row_under_view,) = under_view([row], BLANK_SECOND)
    assert row_under_view["text_id"] == row["short"]
    assert row_under_view["pair_id"] == "blank"


@pytest.mark.parametrize("make", [tokenizer_kinds.roberta, tokenizer_kinds.bert])
def test_the_tokens_of_a_side_alone_are_those_of_a_pair_with_a_space(
    files, folders, tmp_path, make
):
    """As in the released code: ``tokenizer(" ", hypothesis)`` and ``tokenizer(premise,
    " ")``.
    """
    tokenizer = make()
    folder = tmp_path / "encoder"
    is_bert = make is tokenizer_kinds.bert
    shutil.copytree(folders["bert" if is_bert else "roberta"], folder)
    tokenizer.model_max_length = 60
    tokenizer.save_pretrained(folder)
    views = [BLANK_FIRST, BLANK_SECOND]
    tokenise(texts_of(*files, views), folder, 60, tmp_path / "tokens.parquet")
    tokens = read_tokens(tmp_path / "tokens.parquet")
    texts = texts_by_id()
    start, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    # BERT drops the space; RoBERTa has a token for it, and two separators.
    space = [] if is_bert else [tokenizer.convert_tokens_to_ids("Ġ")]
    separator = [end] if is_bert else [end, end]
    for key in (("blank", "h0"), ("s0", "blank")):
        pair = [" " if name == "blank" else texts[name] for name in key]
        first, second = (
            space
            if text == " "
            else tokenizer(text, add_special_tokens=False)["input_ids"]
            for text in pair
        )
        expected = [start, *first, *separator, *second, end]
        of_pair = tokenizer(*pair)
        assert tokens[key].tolist() == expected == of_pair["input_ids"]
        segments = inputs(tokens, [key], 0).get("token_type_ids")
        if is_bert:
            assert segments.tolist()[0] == of_pair["token_type_ids"]
        else:
            assert segments is None


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """{architecture: the folder of a tiny encoder}."""
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


@pytest.fixture
def tokens(files, folders, tmp_path):
    """Write tokens with maximum lengths of 12 and 24; return the paths of the files."""
    paths = []
    for length, views in ((12, [SHORT, LONG]), (24, [SHORT, LONG, ALONE, BLANK_FIRST])):
        path = tmp_path / f"{length}.parquet"
        tokenise(texts_of(*files, views), folders["bert"], length, path)
        paths.append(path)
    return paths


def test_only_the_requested_tokens_are_read(tokens):
    all_tokens = read_tokens(tokens[1])
    existing = {("s2", "h1"), ("l0", "h3"), ("h0", "")}
    requested = read_tokens(tokens[1], existing | {("s9", "h9")})
    assert set(requested.position) == existing
    for key in existing:
        assert requested[key].tolist() == all_tokens[key].tolist()
        assert requested.first(key) == all_tokens.first(key)
    assert len(requested.ids) == sum(len(all_tokens[key]) for key in existing)
    none = read_tokens(tokens[1], set())
    assert not none.position
    assert not len(none.ids)


# Predictions.

# {condition: (source, view, maximum length)}
CONDITIONS = {
    "short > long": (0, LONG, 12),
    "none > short": (1, SHORT, 24),
    "short > alone": (0, ALONE, 24),
    "short > blank": (0, BLANK_FIRST, 24),
}


def test_joint_predictions_for_several_views_equal_separate_predictions(
    files, folders, tokens, tmp_path, monkeypatch
):
    heads = dict(sorted(HEADS.items()))
    for number in range(2):
        model = multi_head.load(
            folders["bert"], [3, 2], "own", number, loss="cross_entropy"
        )
        multi_head.save(model, tmp_path / str(number), heads)
    weights = [tmp_path / "0", tmp_path / "1"]
    readings = []
    for condition, (source, view, length) in CONDITIONS.items():
        fields = {"condition": condition, "source": source, "view": view}
        readings.append(Reading(**fields, max_length=length))
    loaded = []  # folders of weights
    load = multi_head.load_trained

    def load_and_record(folder, device):
        loaded.append(folder)
        return load(folder, device)

    monkeypatch.setattr(multi_head, "load_trained", load_and_record)
    joint = list(read_views(readings, weights, files.examples, ["test"], tokens, CPU))
    # Sorted by condition; a model is loaded once for consecutive conditions.
    assert loaded == [weights[1], weights[0]]
    tokens_of_length = dict(zip((12, 24), tokens, strict=True))
    separate = []
    for condition, (source, view, length) in sorted(CONDITIONS.items()):
        model, _ = load(weights[source], CPU)
        rows = by_head(under_view(of_splits(examples(), ["test"]), view), heads)
        text_tokens = read_tokens(tokens_of_length[length])
        for row in read_heads(model, list(heads), rows, text_tokens, CPU):
            separate.append({"condition": condition, **row})
    assert joint == separate
    # Four conditions, two heads, eight test examples of each.
    assert len(joint) == 4 * 2 * 8
    assert write(READINGS, joint, tmp_path / "predictions.parquet") == len(joint)
    # Predictions differ if the model, the view or the length differs.
    first_of_condition = {str(row["logits"]) for row in joint[:: 2 * 8]}
    assert len(first_of_condition) == 4


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


def test_linear_predictions_for_views_equal_separate_predictions(files, tmp_path):
    heads = write_rows(HEAD_ROWS, tmp_path / "heads.parquet")
    linear_files = linear.LinearFiles(files.examples, heads, files.texts)
    views = {"short": SHORT, "alone": ALONE}
    for name, view in views.items():
        settings = LINEAR.model_copy(update={"view": view})
        linear.train(linear_files, ["train"], settings, 1, tmp_path / name)
    conditions = {
        "short > long": (0, LONG),
        "alone > alone": (1, ALONE),
        "short > short": (0, SHORT),
    }
    readings = []
    for condition, (source, view) in conditions.items():
        readings.append(Reading(condition=condition, source=source, view=view))
    weights = [tmp_path / name for name in views]
    settings = LINEAR.model_copy(update={"readings": readings})
    left_out = {}
    joint = list(linear.read_views(linear_files, ["test"], settings, weights, left_out))
    assert left_out == dict.fromkeys(conditions, 0)
    separate = []
    for condition, (source, view) in sorted(conditions.items()):
        rows = list(under_view(examples(), view))
        path = write_rows(rows, tmp_path / "under_view.parquet")
        under_one_view = replace(linear_files, examples=path)
        model = [weights[source]]
        for row in linear.read_views(under_one_view, ["test"], LINEAR, model, {}):
            separate.append({"condition": condition, **row})
    assert joint == separate
    # Three conditions, eight test examples of one head.
    assert len(joint) == 3 * 8
    assert {row["head_id"] for row in joint} == {"three"}


def test_a_linear_model_of_one_side_does_not_see_the_blank(files, tmp_path):
    heads = write_rows(HEAD_ROWS, tmp_path / "heads.parquet")
    linear_files = linear.LinearFiles(files.examples, heads, files.texts)
    predictions = []
    for sides, view in (("second", BLANK_FIRST), ("both", ALONE)):
        readings = [Reading(condition="x", source=0, view=view)]
        changes = {"sides": sides, "view": view, "readings": readings}
        settings = LINEAR.model_copy(update=changes)
        weights = tmp_path / sides
        linear.train(linear_files, ["train"], settings, 1, weights)
        rows = linear.read_views(linear_files, ["test"], settings, [weights], {})
        predictions.append(list(rows))
    assert predictions[0] == predictions[1]
    assert len(predictions[0]) == 8


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
    """Return random predictions for the test examples of ``heads`` under each
    condition.
    """
    random = np.random.default_rng(1)
    test = [row for row in examples() if row["split"] == "test"]
    rows = []
    for condition, example in product(conditions, test):
        head = example["head_id"]
        logits = random.normal(size=len(HEADS[head]))
        shares = np.exp(logits) / np.exp(logits).sum()
        row = {"condition": condition, "head_id": head}
        row |= {"example_id": example["example_id"], "logits": logits.tolist()}
        if head in heads:
            rows.append(row | {"probabilities": shares.tolist()})
    return rows


def score_readings(predictions, rows=None, settings=GENERAL):
    """Return rows of scores, and the contributions of units; ``rows`` replaces the
    examples.
    """
    rows = examples() if rows is None else rows
    return score(predictions, rows, HEAD_ROWS, ["test"], settings, "no census")


def values_and_counts(rows):
    """Return {(metric, group): (value, number of examples)}."""
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_each_condition_is_scored_as_if_it_were_alone(tmp_path):
    all_readings = readings_of("long > long", "none > short")
    rows, units = score_readings(all_readings)
    scores = values_and_counts(rows)
    without_views = GENERAL.model_copy(update={"views": {}, "groups": ()})
    count = 0
    for condition in ("long > long", "none > short"):
        readings = [row for row in all_readings if row["condition"] == condition]
        # All examples, and those of each group.
        for group in ("", "analysis", "negated"):
            group_examples = [row for row in examples() if not group or row[group]]
            group_scores, group_units = score_readings(
                readings, group_examples, without_views
            )
            # In the scores of all conditions a name begins with condition and group.
            for row in (*group_scores, *group_units):
                inner = row["group"] if row["group"] != "all" or not group else ""
                row["group"] = ", ".join(filter(None, (condition, group, inner)))
            assert values_and_counts(group_scores).items() <= scores.items()
            assert all(row in units for row in group_units)
            count += len(group_scores)
    # There are no others, apart from the answers of single examples.
    of_examples = (ANSWER, PROBABILITY)
    assert count == len([metric for metric, _ in scores if metric not in of_examples])
    _, n = scores["accuracy", "long > long, head: three"]
    assert n == 8
    _, n = scores["accuracy", "long > long, negated, head: two"]
    assert n == 2
    assert write(SCORES, rows, tmp_path / "scores.parquet") == len(rows)


def test_answers_and_probabilities_of_each_example_are_in_the_scores():
    readings = readings_of("long > long", "none > short")
    rows, _ = score_readings(readings)
    scores = values_and_counts(rows)
    expected = {}
    for row in readings:
        name = f"{row['condition']}, example: {row['example_id']}"
        expected[ANSWER, name] = (float(np.argmax(row["logits"])), 1)
        for place, value in enumerate(row["probabilities"]):
            expected[PROBABILITY, f"{name}, answer: {place}"] = (value, 1)
    of_examples = {}
    for (metric, group), value_and_count in scores.items():
        if metric in (ANSWER, PROBABILITY):
            of_examples[metric, group] = value_and_count
    assert of_examples == expected


def test_a_group_without_test_examples_has_no_scores():
    # Only training examples are negated.
    rows = [row | {"negated": row["split"] == "train"} for row in examples()]
    scores, _ = score_readings(readings_of("long > long"), rows)
    assert not [row for row in scores if "negated" in row["group"]]


def test_heads_without_predictions_are_counted():
    readings = readings_of("long > long", heads=["two"])
    rows = [row | {"negated": False} for row in examples()]
    scores, _ = score_readings(readings, rows)
    left_out = {}
    for (metric, group), value_and_count in values_and_counts(scores).items():
        if metric == LEFT_OUT:
            left_out[group] = value_and_count
    # One of two heads.
    assert left_out == {"long > long, all": (1, 2), "long > long, analysis": (1, 2)}


def test_submitted_predictions_are_scored_as_a_separate_condition():
    predictions = readings_of("x", heads=["three"])
    for row in predictions:
        del row["condition"]
    scores, _ = score_readings(predictions)
    assert {row["group"].partition(",")[0] for row in scores} == {SUBMITTED}
    assert ("accuracy", "submitted, analysis, head: three") in values_and_counts(scores)
    # Without views there are no conditions.
    without_views = GENERAL.model_copy(update={"views": {}, "groups": ()})
    scores, _ = score_readings(predictions, settings=without_views)
    assert {row["group"] for row in scores} == {"all", "head: three"}
