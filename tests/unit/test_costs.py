"""The model of cost: what is fitted, what is counted from settings, and how jobs are summed."""

import csv
import logging
import math
import re
from pathlib import Path

import pytest
import yaml
from snakemake_interface_logger_plugins.common import LogEvent

from lextables.costs import fitting, flops, model, planned, screen
from lextables.costs.estimate import Estimator
from lextables.costs.fitting import Record
from lextables.costs.flops import Load, Step
from lextables.costs.model import BYTES, LEARNING, READING, SECONDS, Amount
from lextables.costs.planned import Job
from lextables.costs.texts import Part, Texts
from lextables.models.limits import Limits
from lextables.models.spending import load_prices
from lextables.tasks.retrieval import asking

ROOT = Path(__file__).parents[2]
COSTS = ROOT / "resources/costs"


def records(*points, kind="read", what=SECONDS):
    """Records of (data set, work, amount)."""
    return [Record(kind, what, ("release", group), work, amount) for group, work, amount in points]


# What is fitted.


def test_a_base_and_a_rate_are_found_again():
    exact = records(*((str(work), work, 3 + 0.5 * work) for work in (1, 10, 100, 1000)))
    found = fitting.fit(exact)["read", SECONDS]
    assert found.base == pytest.approx(3, rel=1e-3)
    assert found.rate == pytest.approx(0.5, rel=1e-3)
    assert found.factor == pytest.approx(1, abs=1e-2)
    assert (found.smallest, found.largest, found.records, found.groups) == (1, 1000, 4, 4)


def test_many_jobs_of_one_data_set_outvote_no_other():
    crowd = records(*[("sample", 1, 2.0)] * 300, ("a", 100, 100.0), ("b", 1000, 1000.0))
    few = records(("sample", 1, 2.0), ("a", 100, 100.0), ("b", 1000, 1000.0))
    assert fitting.line(crowd) == fitting.line(few)


def test_the_error_is_that_on_a_data_set_left_out():
    # The odd one is ten times what the others say of it, which a fit to all would hide in part.
    off = records(("a", 1, 1.0), ("b", 1, 1.0), ("c", 1, 1.0), ("odd", 1, 10.0))
    found = fitting.fit(off)["read", SECONDS]
    assert max(found.errors) == pytest.approx(10)
    assert found.factor > 2


def test_of_a_kind_with_too_few_data_sets_the_error_is_that_of_the_others():
    known = records(("a", 1, 1.0), ("b", 1, 3.0), ("c", 1, 1.0))
    alone = records(("a", 5, 7.0), kind="alone")
    found = fitting.fit(known + alone)
    assert found["alone", SECONDS].errors == ()
    assert found["alone", SECONDS].factor == found["read", SECONDS].factor > 1


def test_a_job_that_was_quicker_than_a_core_can_be_found_its_work_done():
    row = {"data": "release", "dataset": "a", "rule": "read", "kind": READING, "published": "1", "bytes": ""}
    rows = [row | {"work": "1e12", "seconds": seconds} for seconds in ("10", "1")]
    assert [found.amount for found in fitting.of_rows(rows)] == [10]


def test_the_committed_model_is_what_the_committed_records_give():
    fits = fitting.fit(fitting.of_rows(csv.DictReader((COSTS / "records.csv").open(encoding="utf-8"))))
    held = {(row["kind"], row["what"]): row for row in csv.DictReader((COSTS / "fitted.csv").open())}
    assert held.keys() == fits.keys()
    for key, found in fits.items():
        for name in ("base", "rate", "smallest", "largest", "factor"):
            assert float(held[key][name]) == pytest.approx(getattr(found, name), rel=0.02, abs=1e-6), key
        assert found.factor >= 1


# What is known, and what is not.


def test_a_kind_is_known_as_far_as_it_was_seen():
    line = model.Line(base=1, rate=2, smallest=10, largest=100, factor=3)
    assert line.at(50) == Amount(101, 101 / 3, 303)
    assert line.at(100 * model.REACH) and line.at(10 / model.REACH)
    assert line.at(101 * model.REACH) is None
    assert line.at(0.9 / model.REACH) is None


def test_a_card_is_reckoned_by_its_share():
    card = model.Card("card", flops=100, share=0.5, least=0.25, most=1.0)
    assert card.at(2, 1000) == Amount(22, 12, 42)


def test_every_model_that_runs_here_has_a_shape_that_fits_its_parameters():
    registry = yaml.safe_load((ROOT / "resources/models.yaml").read_text(encoding="utf-8"))
    shapes = model.load(COSTS).shapes
    runs = {name for name, entry in registry.items() if not re.search("api|parser", entry["kind"])}
    assert runs == shapes.keys()
    for name in runs:
        layers, width = shapes[name]
        shared = 12 if "albert-x" in name or name.startswith("albert") else 1
        # Embeddings are on top, a small vocabulary's least of all; BART decodes as well.
        assert 12 * layers * width**2 / shared <= 1.1 * registry[name]["parameters"] * (
            4 if shared > 1 else 1
        )


# What is counted from settings.

TEXTS = Texts(
    {
        ("c", "train"): Part(400, 10_000),
        ("c", "test"): Part(100, 10_000),
        ("c", "questions"): Part(40, 47),
        ("c", "answered"): Part(1000, 0),
        ("r", "documents"): Part(1000, 300),
        ("r", "train"): Part(50, 20),
        ("r", "valid"): Part(5, 20),
        ("r", "test"): Part(50, 20),
        ("r", "judged"): Part(5000, 0),
        ("m", "train"): Part(640, 0),
        ("m", "train analysis"): Part(64, 0),
        ("m", "dev"): Part(100, 0),
        ("m", "test"): Part(200, 0),
        ("m", "heads"): Part(144, 0),
        ("m", "text_id"): Part(500, 600),
        ("a", "documents"): Part(20, 1000),
        ("a", "questions"): Part(64, 20),
        ("a", "paragraphs"): Part(400, 50),
    }
)
SPANS = {"max_length": 512, "step": 256, "windows_per_question": None, "held_out": 0.1}


def test_the_operations_of_a_transformer():
    # A layer of width 2: 48 weights a token, two operations each, and 4 x 2 with each of the 10 beside it.
    assert flops.flops((1, 2), [Load(3, 10)]) == 3 * 10 * (2 * 48 + 4 * 10 * 2)
    assert flops.flops((1, 2), [Load(3, 10, flops.TRAINING)]) == 3 * flops.flops((1, 2), [Load(3, 10)])


def test_the_windows_of_contracts():
    # 462 tokens of a contract fit beside a question; the rest of 10,000 takes 38 steps of 256.
    step = Step("c", SPANS, "m")
    assert flops.windows(step, TEXTS, "test") == 100 * 40 * 39
    capped = Step("c", SPANS | {"windows_per_question": 6}, "m")
    assert flops.windows(capped, TEXTS, "train", "test") == 500 * 40 * 6


def test_a_training_is_as_long_as_its_settings_say():
    passes = Step("m", {"passes": 4, "batch_size": 16, "percent": 50}, "m")
    assert flops.updates(passes, TEXTS) == 4 * 320 / 16
    some = Step("m", {"passes": 4, "batch_size": 16, "where": "analysis"}, "m")
    assert flops.updates(some, TEXTS) == 4 * 64 / 16
    assert flops.updates(Step("m", {"updates": [100, 400]}, "m"), TEXTS) == 400
    trials = ({"updates": [100, 200]}, {"updates": [300, 400]})
    assert flops.updates(Step("m", {}, "m", trials), TEXTS) == 250
    with pytest.raises(LookupError):
        flops.updates(Step("m", {}, "m"), TEXTS)


def test_a_model_a_head_is_trained_so_often():
    given = {"updates": [10], "batch_size": 16, "max_length": 128, "setting": "single", "heads": None}
    trained, read = flops.LOADS["classification_singly"]([Step("m", given, "m")], TEXTS)
    assert trained == Load(144 * 160, 128, flops.TRAINING)
    assert read == Load(200, 128)
    assert (
        flops.LOADS["classification_singly"]([Step("m", given | {"heads": 8}, "m")], TEXTS)[0].sequences
        == 1280
    )


def test_spans_are_trained_by_the_sample_of_windows_or_by_all():
    given = SPANS | {"balance": "sample", "percent": 100, "epochs": 4, "max_updates": None, "batch_size": 40}
    [load] = flops.LOADS["spans_train"]([Step("c", given, "m")], TEXTS)
    assert load.sequences == pytest.approx(2 * 1000 * 462 / 256 * 4)
    [load] = flops.LOADS["spans_train"]([Step("c", given | {"balance": "weight"}, "m")], TEXTS)
    assert load.sequences == 400 * 40 * 39 * 4
    [load] = flops.LOADS["spans_train"]([Step("c", given | {"max_updates": 3}, "m")], TEXTS)
    assert load == Load(120, 512, flops.TRAINING)


@pytest.mark.parametrize("way", ["pointwise", "pairwise"])
def test_a_language_model_is_asked_as_often_as_it_says_itself(way):
    settings = {"way": way, "passes": 3, "hits": 20, "prompt": [["user", "x" * 400]]}
    hits = {str(query): [str(hit) for hit in range(20)] for query in range(50)}
    texts = {(query, hit): "" for query, those in hits.items() for hit in those}
    requests, _ = asking.expected(asking.Asking({}, hits, texts), settings)
    found = flops.calls("ask", [Step("r", settings, "m")], TEXTS)
    assert found.requests == requests
    assert found.sent > requests * 400 / flops.CHARACTERS_A_TOKEN


def test_every_rule_that_takes_a_gpu_says_what_its_models_read():
    # These are reckoned by their data, as what runs on a processor is.
    by_data = {"lawngnli_examples", "lawngnli_retrieval", "cuad_review"}
    named = set()
    for file in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for text in re.split(r"\n *rule\b", file.read_text(encoding="utf-8"))[1:]:
            if re.search(r"\*\*(ASKING_)?ON_GPU", text) and text.startswith(" "):
                named.add(re.match(r" (\w+)", text)[1])
    assert named - by_data <= {*flops.LOADS, *flops.CALLS}
    assert len(named) > 15


# One job.


def estimator(**lines):
    """An estimator with lines of base 1 and rate 1 for these kinds."""
    found = {(kind, what): model.Line(1, 1e-12 if kind in (LEARNING, READING) else 1, 1e-9, 1e15, 2)
             for kind in lines for what in (SECONDS, BYTES)}  # fmt: skip
    cost = model.Model(found, {"m": (1, 2)}, model.Card("card", 1e6, 0.5, 0.25, 1), 1e6)
    return Estimator(cost, TEXTS, load_prices(), Limits(), {"m": 1000})


READ = SPANS | {"model": "m"}


def test_a_reading_is_measured_on_a_processor_and_reckoned_on_a_card():
    known = estimator(reading=1, spans_read=1)
    work = flops.flops((1, 2), flops.LOADS["spans_read"]([Step("c", READ, "m")], TEXTS))
    here = known.job("spans_read", [Step("c", READ, "m")], 5e6, False, ["x/predictions.parquet"])
    assert here["core"].value == pytest.approx(1 + work * 1e-12)
    assert here["gpu"] is None and here["kind"] == READING and here["left"].value == 6
    there = known.job("spans_read", [Step("c", READ, "m")], 5e6, True, [])
    assert there["gpu"].value == pytest.approx(1 + work / 1e6 / 0.5) and there["core"] == there["gpu"]


def test_weights_are_known_by_their_parameters():
    given = SPANS | {"balance": "weight", "percent": 100, "epochs": 1, "max_updates": 3, "batch_size": 40}
    trained = estimator(learning=1).job("spans_train", [Step("c", given, "m")], 1e6, False, ["run/weights"])
    assert trained["left"].value == 4000 and trained["held"] == 24_000


def test_weights_are_fetched_from_the_hub_where_they_are_not_here():
    places = {
        "org/m": "hub",
        "org/here": "hub",
        "results/runs/x/weights": "hub",
        "package:m/model": "package",
    }
    steps = [Step("c", {"weights": place, "found": found}, "m") for place, found in places.items()]
    known = estimator(reading=1)
    assert known.fetched(steps, {"org/here"}) == {"org/m": 4000}
    assert known.fetched([Step("c", {"weights": "org/own", "found": "hub, org/own"}, "own")], ()) == {
        "org/own": None
    }


def test_what_nobody_measured_is_not_nothing():
    known = estimator(reading=1)
    assert known.job("spans_score", [], 1e6, False, [])["core"] is None
    for step in (Step("c", READ, "own-model"), Step("unknown", READ, "m")):
        found = known.job("spans_read", [step], 1e6, True, [])
        assert found["core"] is None and found["gpu"] is None


def test_a_server_is_paid_by_the_token_and_takes_no_gpu():
    settings = {
        "way": "pointwise",
        "hits": 20,
        "prompt": [["user", "x" * 400]],
        "api": "https://api.example/v1",
    }
    step = Step("r", settings | {"weights": "gpt-4o-mini-2024-07-18"}, "gpt-4o-mini-2024-07-18")
    found = estimator(ask=1).job("ask", [step], 1e6, False, [])
    sent = 1000 * (100 + 20 + 300)
    assert found["tokens"] == sent + 1000
    assert found["dollars"] == pytest.approx((sent * 0.15 + 1000 * 0.6) / 1e6)
    dear = Step("r", settings | {"weights": "no-such-model"}, "no-such-model")
    assert estimator(ask=1).job("ask", [dear], 1e6, False, [])["dollars"] is None


# Sums.


def job(number, *before, table=None, runs=True, **given):
    core = given.pop("core", Amount(3600.0, 1800.0, 7200.0))
    return Job(number, f"rule{number}", runs, before=before, table=table, core=core, **given)


JOBS = [
    job(0, fetched=100.0, weights={"hub/m": 50.0}),
    job(1, 0, runs=False),
    job(2, 1, on_gpu=True, gpu=Amount(3600.0, 1800.0, 7200.0), weights={"hub/m": 50.0}, held=7.0),
    job(3, 1, core=None, dollars=None),
    job(4, 2, table=("p", "one")),
    job(5, 2, 3, table=("p", "two")),
    job(6, table=("q", "one")),
    job(7, 4, 5, 6),
]


def test_the_total_has_every_job_once_and_each_line_says_what_it_shares():
    lines = {(line.paper, line.table): line for line in planned.parts(JOBS)}
    assert [*lines] == [
        ("p", ""),
        ("p", "one"),
        ("p", "two"),
        ("q", ""),
        ("q", "one"),
        ("no table", ""),
        ("all", ""),
    ]
    assert [lines["p", name].jobs for name in ("", "one", "two")] == [5, 3, 4]
    assert [lines["p", name].shared for name in ("", "one", "two")] == [0, 2, 2]
    assert lines["p", ""].standing == 1
    whole = lines["all", ""]
    assert whole.jobs == 7 and whole.standing == 1
    assert whole.core_hours.value == 6 and whole.core_hours.unknown == 1
    assert (whole.core_hours.low, whole.core_hours.high) == (3, 12)
    parts = [lines[key].core_hours.value for key in (("p", ""), ("q", ""), ("no table", ""))]
    assert math.fsum(parts) == whole.core_hours.value
    assert whole.gpu_hours.value == 1


def test_weights_are_fetched_once_and_unknown_sums_say_so():
    whole = planned.parts(JOBS)[-1]
    assert whole.download.value == 150 and whole.download.unknown == 0
    assert whole.disk.value == 50 + 7 and whole.disk.unknown == 7
    assert whole.dollars.unknown == 1
    assert whole.unknown == {"rule3": 1}


def test_nothing_to_do_is_no_fault():
    [line] = planned.parts([])
    assert (line.jobs, line.core_hours.value) == (0, 0)
    assert "all" in screen.text([line], "")


# The screen.


def test_the_screen_shows_the_plan_once(tmp_path, capsys):
    shown = screen.PlanScreen(lambda: JOBS, tmp_path / "plan", "Notes.")
    info = logging.makeLogRecord({"levelno": logging.INFO, "msg": "chatter"})
    ready = logging.makeLogRecord({"levelno": logging.INFO, "msg": "", "event": LogEvent.RUN_INFO})
    fault = logging.makeLogRecord({"levelno": logging.ERROR, "msg": "broken", "event": LogEvent.ERROR})
    for record in (info, ready, ready, fault):
        shown.emit(record)
    text = capsys.readouterr().out
    assert "chatter" not in text and "broken" not in text
    assert text.count("GPU hours") == 1 and "1 rule3" in text and "Notes." in text
    assert re.search(r"^all +7 +1 +1 \(0.5 to 2\) +>6 \(3 to 12\)", text, re.M)
    lines = list(csv.DictReader((tmp_path / "plan/plan.csv").open()))
    assert [line["jobs"] for line in lines] == ["5", "3", "4", "1", "1", "1", "7"]
    rows = list(csv.DictReader((tmp_path / "plan/jobs.csv").open()))
    assert len(rows) == 7 and [row["core"] for row in rows if row["rule"] == "rule3"] == [""]


def test_a_folder_that_cannot_be_written_to_is_no_fault(tmp_path, capsys):
    (tmp_path / "plan").write_text("a file")
    screen.PlanScreen(lambda: JOBS, tmp_path / "plan", "").show()
    text = capsys.readouterr().out
    assert "Nothing is written down" in text and "\nall" in text
