"""Tasks with views: planning, input texts, predictions and scores."""

import shutil
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError

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
    """Plan both data sets; return the rows of the second by name, and the specs of
    both.
    """
    for name in HERE:
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").write_text("{}")

    def plan(models=None, *, given=(), absent=None, first=None, second=None, **config):
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
            "first": FIRST | ({"grids": first} if first else {}),
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
    readings = []
    for seed in (0, 1):
        trained = [Run("second", "train", "small", f"{v}-paper", seed) for v in views]
        readings.append(Run("second", "read", "small", "paper", seed))
        assert specs[readings[-1]].sources == tuple(trained)
        assert all(specs[training].sources == () for training in trained)
    assert len(specs) == 2 * (4 + 1) and not first
    assert rows["Small"].runs == {"100": tuple(readings)} and rows["Small"].trained
    assert rows["Small"].about == {"setting": "multi", "heads": "three"}


def test_a_reading_has_a_training_a_view_and_a_maximum_length(planned):
    _, _, specs = planned()
    short, long = ({"text": name, "pair": "hypothesis"} for name in ("short", "long"))
    alone = {"text": "hypothesis", "pair": None}
    readings = specs[Run("second", "read", "small", "paper")].settings["readings"]
    assert [tuple(reading.values()) for reading in readings] == [
        ("none > short", 0, short, 32),
        ("none > long", 0, long, 32),
        ("short > short", 1, short, 32),
        ("short > short_16", 1, short, 16),
        ("long > long", 2, long, 32),
        ("alone > alone", 3, alone, 32),
    ]
    assert list(readings[0]) == ["condition", "source", "view", "max_length"]


SMALL = {"row": "Small", "model": "small"}


def conditions(settings):
    """{condition of a reading: its source and its maximum length}."""
    found = {}
    for reading in settings["readings"]:
        values = reading["source"], reading.get("max_length")
        found[reading["condition"]] = values
    return found


def trainings(specs, model):
    """Training settings of the first seed of a model, by condition."""
    return {
        run.condition: spec.settings
        for run, spec in specs.items()
        if (run.experiment, run.model, run.seed) == ("train", model, 0)
    }


def test_a_training_gets_its_view_and_none_is_a_training_without_updates(planned):
    _, _, specs = planned()
    settings = trainings(specs, "small")
    short, untrained = settings["short-paper"], settings["none-paper"]
    expected = {"passes": 2, "updates": [], "only": ["three"], "where": None}
    expected["optimiser"] = optimisers.LINEAR
    assert expected.items() <= short.items()
    assert settings["alone-paper"]["view"] == {"text": "hypothesis", "pair": None}
    assert (untrained["passes"], untrained["updates"]) == (None, [0])
    # It gets the first view on which it predicts.
    assert untrained["view"] == short["view"]
    assert settings["long-paper"]["max_length"] == 32


def test_a_model_entry_can_set_views_heads_grid_and_examples(planned):
    panel = SMALL | {"trained_on": ["long", "none"], "heads": ["two", "four"]}
    panel |= {"grid": "other", "where": "analysis", "lenient": True}
    rows, _, specs = planned({"small": panel})
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


def test_a_grid_can_limit_the_views_and_a_model_entry_can_limit_the_grids(planned):
    few = {
        "small": {"multi": GRID | {"updates": [3], "seeds": 1, "trained_on": ["short"]}}
    }
    models = {
        "small": SMALL,
        "large": {"row": "Large", "model": "large", "grids": ["paper"]},
        "words": {"row": "Words", "kind": "linear", "additional": True},
    }
    rows, _, specs = planned(
        models, second={"grids": SECOND["grids"] | few}, grid="small"
    )
    budget = "small budget: 3 updates of 8 examples, texts cut at 32 tokens"
    assert list(rows) == ["Small", f"Small, {budget}", "Words"]
    assert rows["Small"].reason == "needs grid=paper, as in the paper"
    assert not rows["Small"].runs
    assert list(trainings(specs, "small")) == ["short-small"]
    # A linear model is cheap and is trained under all views.
    assert len(trainings(specs, "words")) == 4


def test_training_can_continue_from_a_model_trained_on_another_data_set(planned):
    _, first, specs = planned({"small": SMALL | {"after": "first"}})
    trained = [Run("first", "train", "small", "pair-paper", seed) for seed in (0, 1)]
    assert set(first) == set(trained)
    assert first[trained[0]].settings["updates"] == [5]
    for seed, before in enumerate(trained):
        for view in ("none", "short", "long", "alone"):
            spec = specs[Run("second", "train", "small", f"{view}-paper", seed)]
            # All trainings of a seed go on from the training with this seed.
            assert spec.sources == (before,)
            assert spec.settings["weights"].endswith(f"{before.folder}/weights")
            assert spec.settings["found"] == "mirror folder, then first"
            assert spec.settings["tokenizer"]["weights"] == "mirror:small"
    assert Run("second", "read", "small", "paper", 1) in specs


def test_all_seeds_go_on_from_the_only_training_on_another_data_set(planned):
    grids = {"paper": {"multi": GRID | {"updates": [5], "seeds": 1}}}
    _, first, specs = planned({"small": SMALL | {"after": "first"}}, first=grids)
    (before,) = first
    for seed in (0, 1):
        spec = specs[Run("second", "train", "small", "long-paper", seed)]
        assert spec.sources == (before,)


def test_new_heads_are_a_setting_of_a_training(planned):
    panel = SMALL | {"after": "first", "trained_on": ["none"], "new_heads": True}
    _, _, specs = planned({"small": panel})
    (settings,) = trainings(specs, "small").values()
    assert settings["new_heads"] and settings["updates"] == [0]
    _, _, specs = planned({"small": SMALL})
    assert all("new_heads" not in other for other in trainings(specs, "small").values())


def test_an_available_checkpoint_replaces_the_first_training(planned):
    panel = {"row": "Large", "model": "large", "after": "first"}
    rows, first, specs = planned({"large": panel})
    assert not first
    found = trainings(specs, "large")["short-paper"]
    assert (found["model"], found["weights"]) == ("large", "mirror:ready")
    assert not specs[Run("second", "train", "large", "short-paper")].sources
    # Neither the first data set nor the base model of the checkpoint is needed.
    panel = {"away": {"row": "Away", "model": "away", "after": "first"}}
    rows, _, _ = planned(panel, absent={"first": "no mirror has it"})
    assert rows["Away"].runs and not rows["Away"].reason


@pytest.mark.parametrize(
    ("panel", "reason"),
    [
        ({"model": "small", "after": "first"}, "no mirror has it"),
        ({"model": "away"}, "away is not available here"),
    ],
    ids=["data", "weights"],
)
def test_a_row_with_missing_data_or_weights_has_a_reason(planned, panel, reason):
    absent = {"first": "no mirror has it"}
    rows, first, specs = planned({"it": {"row": "It"} | panel}, absent=absent)
    assert (rows["It"].reason, rows["It"].runs, specs, first) == (reason, {}, {}, {})


def test_a_model_that_is_not_trained_on_the_first_data_set_is_rejected(planned):
    says = "first: 'ready' must be trained on this data set first, but is none of its"
    with pytest.raises(BadInput, match=says):
        planned({"ready": {"row": "Ready", "model": "ready", "after": "first"}})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"readings": {"shrot": ["short"]}}, "readings names the view 'shrot', which"),
        ({"readings": {"short": ["lnog"]}}, "readings names the view 'lnog', which"),
        (
            {"models": {"small": SMALL | {"trained_on": ["short_16"]}}},
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
    mine = {"name": "Mine", "kind": "encoder", "model": str(tmp_path / "models/small")}
    theirs = SubmittedFiles("Theirs", "own-theirs", "csv", ("sha256:1", "sha256:2"))
    rows, _, specs = planned(given=[theirs], extra_models=[mine])
    found = [(row.row, row.additional, row.submitted) for row in rows.values()]
    assert found == [
        ("Small", False, False),
        ("Mine", True, False),
        ("Theirs", True, True),
    ]
    assert {row.about["heads"] for row in rows.values()} == {"three"}
    assert list(trainings(specs, "own-mine")) == list(trainings(specs, "small"))
    given = [Run("second", SUBMITTED, "own-theirs", "100", seed) for seed in (0, 1)]
    assert rows["Theirs"].runs == {"100": tuple(given)}
    assert specs[given[1]].settings == {"form": "csv", "content": "sha256:2"}


def test_a_linear_model_does_not_predict_on_truncated_views(planned):
    views = ["short", "long", "alone"]
    panel = {"row": "Words", "kind": "linear", "trained_on": views}
    rows, _, specs = planned({"words": panel})
    (run,) = rows["Words"].runs["100"]
    assert run == Run("second", "read", "words", "linear")
    # The views `long` and `short_16` are truncated, at 64 and 16 tokens.
    found = conditions(specs[run].settings)
    assert found == {"short > short": (0, None), "alone > alone": (2, None)}
    sources = specs[run].sources
    assert [source.condition for source in sources] == [f"linear-{v}" for v in views]
    alone = {"text": "hypothesis", "pair": None}
    assert specs[sources[2]].settings["view"] == alone


# Input texts.

SHORT, LONG = (View(text=name, pair="hypothesis") for name in ("short", "long"))
ALONE = View(text="hypothesis")
BLANK_FIRST = View(text="blank", pair="hypothesis")
HEADS = {"three": ("entail", "neutral", "contradict"), "two": ("entail", "not entail")}
KNOWN = [{"head_id": head, "answers": list(answers)} for head, answers in HEADS.items()]


def said():
    """Short and long premises and hypotheses as {text id: text}, not sorted by id."""
    drawn = np.random.default_rng(0)
    texts = {}
    for kind, *size in (("s", 3, 8), ("l", 20, 40), ("h", 2, 5)):
        for number in reversed(range(4)):
            words = drawn.choice(WORDS, drawn.integers(*size))
            texts[f"{kind}{number}"] = " ".join(words)
    return texts


def examples():
    """All pairs of premises and hypotheses for two heads; the last two premises are in
    the test split.
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


def stored_rows(rows, path):
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.fixture
def stored(tmp_path):
    texts = [{"text_id": text_id, "text": text} for text_id, text in said().items()]
    return (
        stored_rows(examples(), tmp_path / "examples.parquet"),
        stored_rows(texts, tmp_path / "texts.parquet"),
    )


def test_texts_of_all_views_are_returned_once_in_the_order_of_the_texts(stored):
    texts, pairs, single = said(), [], []
    for name, text in texts.items():
        if name.startswith("h"):
            single.append(Text((name, ""), text))
            continue
        for second in sorted(name for name in texts if name.startswith("h")):
            pairs.append(Text((name, second), text, texts[second]))
    assert list(texts_of(*stored, [ALONE, ALONE])) == single
    assert list(texts_of(*stored, [SHORT, ALONE, LONG])) == [*pairs, *single]


def test_a_side_alone_is_a_pair_with_a_space(stored):
    texts = said()
    second = BLANK_FIRST
    first = View(text="short", pair="blank")
    firsts = [
        Text((name, "blank"), texts[name], " ") for name in texts if name[0] == "s"
    ]
    seconds = [
        Text(("blank", name), " ", texts[name]) for name in texts if name[0] == "h"
    ]
    found = list(texts_of(*stored, [second, first]))
    assert found == [*firsts, *sorted(seconds, key=lambda text: text.key)]
    # The id is only used if a view has a blank side.
    assert all("blank" not in text.key for text in texts_of(*stored, [SHORT, ALONE]))
    row = examples()[0]
    assert key_of(row, second) == ("blank", row["hypothesis"])
    assert key_of(row, first) == (row["short"], "blank")
    (shown,) = under_view([row], first)
    assert (shown["text_id"], shown["pair_id"]) == (row["short"], "blank")


@pytest.mark.parametrize("kind", [tokenizer_kinds.roberta, tokenizer_kinds.bert])
def test_the_tokens_of_a_side_alone_are_those_of_a_pair_with_a_space(
    stored, folders, tmp_path, kind
):
    """As in the released code: ``tokenizer(" ", hypothesis)`` and ``tokenizer(premise,
    " ")``.
    """
    tokenizer, folder = kind(), tmp_path / "encoder"
    is_bert = kind is tokenizer_kinds.bert
    shutil.copytree(folders["bert" if is_bert else "roberta"], folder)
    tokenizer.model_max_length = 60
    tokenizer.save_pretrained(folder)
    views = [BLANK_FIRST, View(text="short", pair="blank")]
    tokenise(texts_of(*stored, views), folder, 60, tmp_path / "tokens.parquet")
    tokens = read_tokens(tmp_path / "tokens.parquet")
    texts = said()
    start, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    for name in ("h0", "s0"):
        words = tokenizer(texts[name], add_special_tokens=False)["input_ids"]
        key = ("blank", name) if name == "h0" else (name, "blank")
        pair = (" ", texts[name]) if name == "h0" else (texts[name], " ")
        # BERT drops the space; RoBERTa has a token for it, and two separators.
        sides = [[], words] if name == "h0" else [words, []]
        expected = [start, *sides[0], end, *sides[1], end]
        if not is_bert:
            space = tokenizer.convert_tokens_to_ids("Ġ")
            sides[name == "s0"] = [space]
            expected = [start, *sides[0], end, end, *sides[1], end]
        assert tokens[key].tolist() == expected == tokenizer(*pair)["input_ids"]
        segments = inputs(tokens, [key], 0).get("token_type_ids")
        if is_bert:
            assert segments.tolist()[0] == tokenizer(*pair)["token_type_ids"]
        else:
            assert segments is None


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


@pytest.fixture
def tokens(stored, folders, tmp_path):
    """Two files of tokens, with maximum lengths of 12 and 24."""
    wanted = {12: [SHORT, LONG], 24: [SHORT, LONG, ALONE, BLANK_FIRST]}
    paths = [tmp_path / f"{length}.parquet" for length in wanted]
    for path, (length, views) in zip(paths, wanted.items(), strict=True):
        tokenise(texts_of(*stored, views), folders["bert"], length, path)
    return paths


def test_only_the_requested_tokens_are_read(tokens):
    whole = read_tokens(tokens[1])
    wanted = {("s2", "h1"), ("l0", "h3"), ("h0", ""), ("s9", "h9")}
    found = read_tokens(tokens[1], wanted)
    assert set(found.position) == {("s2", "h1"), ("l0", "h3"), ("h0", "")}
    for key in found.position:
        assert found[key].tolist() == whole[key].tolist()
        assert found.first(key) == whole.first(key)
    assert len(found.ids) == sum(len(whole[key]) for key in found.position)
    none = read_tokens(tokens[1], set())
    assert not none.position and not len(none.ids)


# Predictions.

CONDITIONS = {
    "short > long": (0, LONG, 12),
    "none > short": (1, SHORT, 24),
    "short > alone": (0, ALONE, 24),
    "short > blank": (0, BLANK_FIRST, 24),
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
    readings = []
    for condition, (source, view, length) in CONDITIONS.items():
        fields = {"condition": condition, "source": source, "view": view}
        readings.append(Reading(**fields, max_length=length))
    loaded, load = [], multi_head.load_trained

    def recorded(folder, device):
        loaded.append(folder)
        return load(folder, device)

    monkeypatch.setattr(multi_head, "load_trained", recorded)
    found = list(read_views(readings, weights, stored[0], ["test"], tokens, CPU))
    # Sorted by condition; a model is loaded once for consecutive conditions.
    assert loaded == [weights[1], weights[0]]
    expected = []
    for condition, (source, view, length) in sorted(CONDITIONS.items()):
        model, _ = load(weights[source], CPU)
        asked = by_head(under_view(of_splits(examples(), ["test"]), view), heads)
        text_tokens = read_tokens(tokens[length == 24])
        alone = read_heads(model, list(heads), asked, text_tokens, CPU)
        expected += [{"condition": condition, **row} for row in alone]
    assert found == expected and len(found) == 4 * 2 * 8
    assert write(READINGS, found, tmp_path / "predictions.parquet") == len(found)
    # Predictions differ if the model, the view or the length differs.
    first = [str(row["logits"]) for row in found[::16]]
    assert len(set(first)) == 4


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


def test_linear_predictions_for_views_equal_separate_predictions(stored, tmp_path):
    heads = stored_rows(KNOWN, tmp_path / "heads.parquet")
    files = linear.LinearFiles(stored[0], heads, stored[1])
    views = {"short": SHORT, "alone": ALONE}
    for name, view in views.items():
        settings = LINEAR.model_copy(update={"view": view})
        linear.train(files, ["train"], settings, 1, tmp_path / name)
    conditions = {
        "short > long": (0, LONG),
        "alone > alone": (1, ALONE),
        "short > short": (0, SHORT),
    }
    readings = []
    for condition, (source, view) in conditions.items():
        readings.append(Reading(condition=condition, source=source, view=view))
    weights = [tmp_path / name for name in views]
    settings, left_out = LINEAR.model_copy(update={"readings": readings}), {}
    found = list(linear.read_views(files, ["test"], settings, weights, left_out))
    assert left_out == dict.fromkeys(conditions, 0)
    expected = []
    for condition, (source, view) in sorted(conditions.items()):
        rows = list(under_view(examples(), view))
        shown = replace(files, examples=stored_rows(rows, tmp_path / "shown.parquet"))
        alone = linear.read_views(shown, ["test"], LINEAR, [weights[source]], {})
        expected += [{"condition": condition, **row} for row in alone]
    assert found == expected and len(found) == 3 * 8
    assert {row["head_id"] for row in found} == {"three"}


def test_a_linear_model_of_one_side_does_not_see_the_blank(stored, tmp_path):
    heads = stored_rows(KNOWN, tmp_path / "heads.parquet")
    files = linear.LinearFiles(stored[0], heads, stored[1])
    predictions = []
    for sides, view in (("second", BLANK_FIRST), ("both", ALONE)):
        readings = [Reading(condition="it", source=0, view=view)]
        changes = {"sides": sides, "view": view, "readings": readings}
        settings = LINEAR.model_copy(update=changes)
        linear.train(files, ["train"], settings, 1, tmp_path / sides)
        found = linear.read_views(files, ["test"], settings, [tmp_path / sides], {})
        predictions.append(list(found))
    assert predictions[0] == predictions[1] and len(predictions[0]) == 8


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
    test = [row for row in examples() if row["split"] == "test"]
    rows = []
    for condition, example in product(conditions, test):
        head = example["head_id"]
        logits = drawn.normal(size=len(HEADS[head]))
        shares = np.exp(logits) / np.exp(logits).sum()
        row = {"condition": condition, "head_id": head}
        row |= {"example_id": example["example_id"], "logits": logits.tolist()}
        if head in heads:
            rows.append(row | {"probabilities": shares.tolist()})
    return rows


def scored(predictions, rows=None, settings=GENERAL):
    rows = examples() if rows is None else rows
    return score(predictions, rows, KNOWN, ["test"], settings, "no census")


def keyed(rows):
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_each_condition_is_scored_as_if_it_were_alone(tmp_path):
    given = readings_of("long > long", "none > short")
    rows, found_units = scored(given)
    found = keyed(rows)
    alone = GENERAL.model_copy(update={"views": {}, "groups": ()})
    count = 0
    for condition in ("long > long", "none > short"):
        predictions = [row for row in given if row["condition"] == condition]
        for group in ("", "analysis", "negated"):
            of_group = [row for row in examples() if not group or row[group]]
            scores, of_units = scored(predictions, of_group, alone)
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


def test_answers_and_probabilities_of_each_example_are_in_the_scores():
    given = readings_of("long > long", "none > short")
    rows, _ = scored(given)
    found, expected = keyed(rows), {}
    for row in given:
        name = f"{row['condition']}, example: {row['example_id']}"
        expected[ANSWER, name] = (float(np.argmax(row["logits"])), 1)
        for place, value in enumerate(row["probabilities"]):
            expected[PROBABILITY, f"{name}, answer: {place}"] = (value, 1)
    assert {key: found[key] for key in expected} == expected
    names = (ANSWER, PROBABILITY)
    assert len(expected) == len([metric for metric, _ in found if metric in names])


def test_empty_groups_have_no_scores_and_untrained_heads_are_counted():
    rows = [row | {"negated": row["split"] == "train"} for row in examples()]
    found, _ = scored(readings_of("long > long", heads=["two"]), rows)
    assert not [row for row in found if "negated" in row["group"]]
    left = {
        group: value
        for (name, group), value in keyed(found).items()
        if name == LEFT_OUT
    }
    assert left == {"long > long, all": (1, 2), "long > long, analysis": (1, 2)}


def test_submitted_predictions_are_scored_as_a_separate_condition():
    given = readings_of("x", heads=["three"])
    for row in given:
        del row["condition"]
    found, _ = scored(given)
    assert {row["group"].partition(",")[0] for row in found} == {SUBMITTED}
    assert ("accuracy", "submitted, analysis, head: three") in keyed(found)
    # Without views there are no conditions.
    alone = GENERAL.model_copy(update={"views": {}, "groups": ()})
    plain, _ = scored(given, settings=alone)
    assert {row["group"] for row in plain} == {"all", "head: three"}
