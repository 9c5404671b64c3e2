"""Verdicts, and tables with published and reproduced values."""

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from lextables.pipeline.errors import BadInput
from lextables.tables.cells import (
    Cell,
    Score,
    build,
    count,
    from_csv,
    prediction_interval,
    to_csv,
    written,
)
from lextables.tables.published import PublishedCell

ROW, COLUMN = "BM25 / None", "NDCG@5"
NAN = math.nan
NEEDED = "a verdict needs three"
UNDEFINED = "not defined: its denominator is 0 in these examples"
WIDE = "more than half of the published value to either side"


def printed(value, decimals=3, row=ROW, column=COLUMN):
    return PublishedCell("table_d3", row, column, value, decimals, "Table D-3")


def computed(value=None, row=ROW, column=COLUMN, **more):
    """A cell; with ``seeds`` its value is their mean."""
    if "seeds" in more:
        value = float(np.mean(more["seeds"]))
    return Cell(row, column, value, **more)


def first_line(published, cell, *others, comparable=True):
    """The line of a cell; ``others`` are pairs of a published and a computed cell, or
    computed cells.
    """
    pairs = [pair for pair in others if isinstance(pair, tuple)]
    cells = [cell, *(other for other in others if isinstance(other, Cell))]
    cells += [other for _, other in pairs]
    return build([published, *(one for one, _ in pairs)], cells, comparable)[0]


@pytest.mark.parametrize(
    ("published", "decimals", "value", "verdict", "difference"),
    [
        ("0.525", 3, 0.5253, "match", ""),
        ("0.525", 3, 0.5256, "off", "+0.001"),
        ("0.525", 3, 0.5119, "off", "-0.013"),
        ("0.525", 3, 0.700, "off", "+0.175"),  # better than published is off too
        ("+2.0", 1, 2.04, "match", ""),
        ("-0.6", 1, -0.58, "match", ""),
        ("54.0%", 1, 55.26, "off", "+1.3"),
        ("1,898", 0, 1898.0, "match", ""),
        ("1,898", 0, 1900.0, "off", "+2"),
        ("NaN", None, NAN, "match", ""),
        ("NaN", None, 0.5, "off", ""),
        ("66M", None, "23M", "off", ""),
        ("0.5", 1, "undefined", "off", ""),
        ("‘as-is’ clause", None, '"as-is" Clause', "match", ""),
    ],
)
def test_deterministic_values_match_or_are_off(
    published, decimals, value, verdict, difference
):
    # The sampling interval decides nothing.
    cell = computed(value, low=0.0, high=1e4)
    line = first_line(printed(published, decimals), cell)
    assert (line.verdict, line.difference) == (verdict, difference)
    assert (line.published, line.prediction_low, line.reason) == (published, "", "")
    assert (
        first_line(printed(published, decimals), cell, comparable=False).verdict == ""
    )


@pytest.mark.parametrize(
    ("published", "cell", "facts"),
    # Facts: verdict, difference, both ends of the prediction interval, and the reason's
    # end.
    [
        # t(0.975, 2) is 4.3027; the standard deviation of the first three seeds is 1.
        ("57.9", {"seeds": (52, 53, 54)}, ("near", "", "48.03", "57.97", "")),
        (
            "57.9",
            {"seeds": (52, 53, 54), "averages": 3},
            ("off", "-4.9", "49.49", "56.51", ""),
        ),
        ("53.0%", {"seeds": (52, 53, 54)}, ("match", "", "48.03", "57.97", "")),
        ("0.7+/-0.1", {"seeds": (0.5, 0.6, 0.7)}, ("near", "", "0.10", "1.10", WIDE)),
        ("0.8 ± 0.01", {"seeds": (0.5,) * 3}, ("off", "-0.3", "0.50", "0.50", "")),
        ("52.5", {"seeds": (52.5,) * 3}, ("match", "", "52.50", "52.50", "")),
        ("52.5", {"seeds": (52.5,)}, ("", "", "", "", f"with one seed; {NEEDED}")),
        ("60.0", {"seeds": (52.5, 52.6)}, ("", "", "", "", f"two seeds; {NEEDED}")),
        (
            "52.5",
            {"seeds": (52.5, 52.5, NAN)},
            ("not run", "", "", "", "2 of 3 seeds have a value"),
        ),
        (
            "52.5",
            {"seeds": (52.4, 52.5, 52.6, NAN)},
            ("not run", "", "", "", "3 of 4 seeds have a value"),
        ),
        # The half-width is 4.968: more than 9.9 / 2 and less than 10 / 2.
        ("9.9", {"seeds": (9, 10, 11)}, ("near", "", "5.03", "14.97", WIDE)),
        ("10.0", {"seeds": (9, 10, 11)}, ("match", "", "5.03", "14.97", "")),
        # Without a verdict.
        *(
            ("0.2", {"value": value}, ("not run", "", "", "", UNDEFINED))
            for value in (NAN, math.inf, -math.inf, np.float64("nan"))
        ),
        ("0.2", {"reason": "sample data"}, ("not run", "", "", "", "sample data")),
        (
            "66.0",
            {"value": 23.0, "judged": False, "reason": "a size"},
            ("", "", "", "", "a size"),
        ),
        ("66.0", {"judged": False, "reason": "a size"}, ("", "", "", "", "a size")),
        (
            "0.5",
            {"value": 0.6, "reason": "on a Tuesday"},
            ("off", "+0.1", "", "", "on a Tuesday"),
        ),
    ],
)
def test_verdicts_intervals_and_reasons(published, cell, facts):
    line = first_line(printed(published, 1), computed(**cell))
    found = (line.verdict, line.difference, line.prediction_low, line.prediction_high)
    assert found == facts[:-1]
    assert line.reason.endswith(facts[-1]) and bool(line.reason) == bool(facts[-1])


def test_the_comparability_of_a_cell_overrides_that_of_its_table():
    published = [printed("0.525", row=row) for row in "abcd"]
    own = {"a": None, "b": True, "c": False, "d": None}
    cells = [Cell(row, COLUMN, 0.525, comparable=said) for row, said in own.items()]
    for table, verdicts in (
        (False, ["", "match", "", ""]),
        (True, ["match", "match", "", "match"]),
    ):
        assert [line.verdict for line in build(published, cells, table)] == verdicts


def test_only_a_cell_that_is_off_is_explained():
    published = [printed("0.5", 1, row) for row in "ab"]
    published.append(printed("text", None, "c"))
    values = {"a": 0.6, "b": 0.5, "c": "other"}
    cells = [Cell(row, COLUMN, value) for row, value in values.items()]
    why = lambda row, column: f"{row} of {column} was counted again"  # noqa: E731
    reasons = [line.reason for line in build(published, cells, True, why)]
    assert [reason[:10] for reason in reasons] == ["a of NDCG@", "", "c of NDCG@"]
    assert {line.reason for line in build(published, cells, False, why)} == {""}


def test_a_reason_has_the_interval_then_the_cells_own_reason_then_why_it_is_off():
    cell = computed(seeds=(9, 10, 11), reason="cut")
    (line,) = build([printed("1.0", 1)], [cell], True, lambda row, column: "counted")
    clauses = line.reason.split("; ")
    assert WIDE in line.reason and clauses[-2:] == ["cut", "counted"]


@pytest.mark.parametrize("averages", [1, 3])
def test_a_prediction_interval_has_95_percent_coverage(averages):
    draws = np.random.default_rng(0).normal(50, 2, size=(8_000, 3))
    means = np.random.default_rng(1).normal(50, 2, size=(8_000, averages)).mean(axis=1)
    low, high = np.array([prediction_interval(values, averages) for values in draws]).T
    assert 0.94 < np.mean((low <= means) & (means <= high)) < 0.96


@pytest.mark.parametrize(
    ("seeds", "measure", "note"),
    [
        ((52, 53, 54), COLUMN, "distinguish 2 of the 3 other published values"),
        ((52.5, 52.5, 52.5), COLUMN, "distinguish 1 of the 3 other published values"),
        ((52.88, 52.9, 52.92), COLUMN, ""),
        ((52, 53, 54), "of terms", ""),  # published values of another measure
    ],
)
def test_an_interval_that_contains_other_published_values_is_noted(
    seeds, measure, note
):
    rows = {"BERT": "52.5", "ALBERT": "56.0", "RoBERTa": "66.0", "Twin": "52.4"}
    others = [
        (printed(value, 1, row), computed(row=row, reason="x", measure=COLUMN))
        for row, value in rows.items()
    ]
    text = printed("N/A", None, "DeBERTa")  # no number to tell apart
    others.append((text, computed(row="DeBERTa", reason="x", measure=COLUMN)))
    cell = computed(seeds=seeds, measure=measure)
    reason = first_line(printed("52.4", 1), cell, *others).reason
    assert note in reason and bool(reason) == bool(note)


def test_an_additional_cell_has_the_decimals_of_the_first_published_cell_of_its_column():
    published = [printed("0.5", 1, row="a"), printed("0.525", 3, row="b")]
    cells = [Cell(row, COLUMN, 0.5678) for row in ("a", "b", "Mine")]
    lines = build(published, [*cells, Cell("Mine", "MRR", 0.12345)], True)
    assert [line.decimals for line in lines] == [1, 3, 1, 3]
    assert [line.ours for line in lines[2:]] == ["0.6", "0.123"]


# Baselines

LOSS = Score("loss", "Model", "loss", "all", "documents", lower=True)


def baseline(value, row="Random", measure="Overall"):
    return Cell(row, "AUPR", value, measure=measure, baseline=row)


@pytest.mark.parametrize(
    ("published", "cell", "baselines", "reached"),
    [
        ("16.8%", {"value": 16.84}, [baseline(16.75)], "Random"),  # at that precision
        ("16.8%", {"value": 16.84}, [baseline(16.74)], ""),
        ("16.8%", {"value": 16.84}, [baseline(90.0, measure="Term")], ""),
        ("16.8%", {"value": 16.84}, [baseline(NAN), baseline(None, "BM25")], ""),
        (
            "16.8%",
            {"value": 16.84},
            [baseline(17.0), baseline(18.0, "BM25")],
            "Random; BM25",
        ),
        # Rows that were not run are marked too; counts are not.
        ("16.8%", {"reason": "gated"}, [baseline(17.0)], "Random"),
        ("16.8%", {"value": 16.84, "measure": ""}, [baseline(17.0, measure="")], ""),
        # The published row of a baseline is not compared with itself.
        ("16.8%", {"value": 16.84, "baseline": "Random"}, [baseline(17.0)], ""),
        ("0.0", {"seeds": (0.0,) * 3}, [], "a model that answers nothing"),
        ("0.0", {"value": 0.0, "measure": ""}, [], ""),
        # For a loss, an equal or lower one reaches; nothing reaches a loss of zero.
        ("0.2", {"value": 0.2, "score": LOSS}, [baseline(0.24)], "Random"),
        ("0.2", {"value": 0.2, "score": LOSS}, [baseline(0.3)], ""),
        ("0.0", {"value": 0.2, "score": LOSS}, [baseline(0.1)], ""),
    ],
)
def test_a_published_value_lists_the_baselines_that_reach_it(
    published, cell, baselines, reached
):
    cell = computed(**{"measure": "Overall", **cell})
    at = printed(published, 1)
    line = first_line(at, cell, *baselines)
    assert line.baselines == reached
    # Neither the verdict nor its reason changes, and other data have no mark.
    alone = first_line(at, cell)
    assert replace(line, baselines=alone.baselines) == alone
    assert first_line(at, cell, *baselines, comparable=False).baselines == ""


@pytest.mark.parametrize("of_table", [True, False])
def test_a_baseline_on_other_data_marks_no_published_value(of_table):
    cell = computed(value=16.84, measure="Overall", comparable=True)
    other = replace(baseline(90.0), comparable=False if of_table else None)
    line = first_line(printed("16.8%", 1), cell, other, comparable=of_table)
    assert (line.verdict, line.baselines) == ("match", "")


# Lines


def test_additional_rows_have_an_interval_and_no_verdict():
    more = {"seeds": (0.52, 0.53, 0.54), "measure": COLUMN}
    cells = [computed(**more), computed(row="Mine", **more)]
    for comparable in (True, False):
        lines = build([printed("0.530")], cells, comparable)
        intervals = [(line.prediction_low, line.prediction_high) for line in lines]
        assert intervals == [("0.4803", "0.5797")] * 2
        assert [line.verdict for line in lines] == ["match" if comparable else "", ""]


def test_a_strict_column_follows_the_published_column():
    places = [(ROW, COLUMN), (ROW, f"{COLUMN}, strict"), ("Mine", COLUMN), (ROW, "MRR")]
    published = [printed("0.525"), printed("0.540", column="MRR")]
    lines = build(published, [Cell(*place, 0.5) for place in places], True)
    order = [(line.row, line.column) for line in lines]
    assert order == [places[0], places[1], places[3], places[2]]


@pytest.mark.parametrize("comparable", [True, False])
def test_a_line_has_the_system_and_the_ends_of_the_scale_of_its_score(comparable):
    scores = [Score("x", "a", "m", scale=100), Score("y", "a", "m", lower=True), None]
    places = [("a", "x"), ("a", "y"), ("b", "x")]
    cells = [
        Cell(*place, 0.5, score=score)
        for place, score in zip(places, scores, strict=True)
    ]
    lines = build([printed("0.5", 1, "a", "x")], cells, comparable)
    ends = [(line.system, line.worst, line.best) for line in lines]
    assert ends == [("a", "0", "100"), ("a", "1", "0"), ("", "", "")]


def test_missing_values_without_a_reason_and_duplicate_cells_raise():
    with pytest.raises(ValueError, match="no value and no reason"):
        build([printed("0.525")], [computed()], comparable=True)
    with pytest.raises(ValueError, match="two computed cells"):
        build([], [computed(1.0), computed(1.0)], comparable=True)


NAMES = (ROW, *(f"Model {n} / None" for n in range(9)))


@pytest.mark.parametrize(
    ("row", "names", "message"),
    [
        ("BM25", NAMES, f"no row 'BM25'; write one of its rows, such as {ROW!r}, "),
        ("BM25", (), "no row 'BM25'; check the `rows` of its entry."),
        (ROW, NAMES, f"no column 'MRR' of row {ROW!r}; write one of its columns, such"),
    ],
)
def test_an_unknown_published_row_or_column_raises_with_similar_ones(
    row, names, message
):
    cells = [Cell(name, COLUMN, 0.5) for name in names]
    with pytest.raises(BadInput) as error:
        build([printed("0.525", row=row, column="MRR")], cells, comparable=True)
    assert f"published values: table_d3 computes {message}" in str(error.value)
    assert str(error.value).count("Model") <= 4


@pytest.mark.parametrize("note", ["", "stand_in data: not comparable"])
def test_a_table_is_read_back_from_csv_and_values_on_other_data_have_the_note(note):
    cells = [
        computed(0.5253, low=0.44, high=0.61, reason="cut"),
        computed(0.4, row="b"),
        computed(row="c", reason="gated"),
    ]
    lines = build([printed("0.525")], cells, comparable=not note)
    text = to_csv(lines, note)
    assert from_csv(text, note) == lines
    reasons = [line["reason"] for line in csv.DictReader(io.StringIO(text))]
    end = f"; {note}" if note else ""
    assert reasons == [f"cut{end}", note, "gated"]
    assert count(lines) == {
        "match": 0 if note else 1,
        "near": 0,
        "off": 0,
        "not run": 0,
        "": 1 if note else 0,
    }


def test_numbers_are_written_without_a_sign_on_zero():
    assert written(-0.0001, 2) == "0.00"


@pytest.mark.parametrize("value", [NAN, math.inf, -math.inf])
@pytest.mark.parametrize("comparable", [True, False])
def test_a_value_that_is_no_finite_number_is_shown_only_where_the_paper_prints_it(
    value, comparable
):
    cell = computed(value, low=value, high=value)
    line = first_line(printed("0.525"), cell, comparable=comparable)
    assert (line.verdict, line.reason) == ("not run", UNDEFINED)
    assert not any((line.reproduced, line.ours, line.low, line.high))
    lines = build([printed("0.5", row="other")], [cell, computed(0.5, "other")], True)
    assert (lines[1].verdict, lines[1].ours, lines[1].low) == ("not run", "", "")
    of_paper = first_line(printed("NaN", None), computed(NAN), comparable=comparable)
    assert "NaN" in (of_paper.reproduced, of_paper.ours)
