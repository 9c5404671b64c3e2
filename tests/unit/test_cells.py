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


def printed(value, decimals=3, row="BM25 / None", column="NDCG@5"):
    return PublishedCell("table_d3", row, column, value, decimals, "Table D-3")


@pytest.mark.parametrize(
    ("published", "cell", "verdict"),
    [
        (printed("0.525"), Cell("", "", 0.5253), "match"),
        (printed("0.525"), Cell("", "", 0.5256), "off"),
        (
            printed("0.525"),
            Cell("", "", 0.5256, 0.4, 0.6),
            "off",
        ),  # the sampling interval is not used
        (
            printed("0.525"),
            Cell("", "", 0.700, 0.6, 0.8),
            "off",
        ),  # better than published is off too
        (printed("+2.0", 1), Cell("", "", 2.04), "match"),
        (printed("-0.6", 1), Cell("", "", -0.58), "match"),
        (printed("1,898", 0), Cell("", "", 1898.0), "match"),
        (printed("NaN", None), Cell("", "", float("nan")), "match"),
        (printed("0.2", 1), Cell("", "", float("nan")), "off"),
        (printed("NaN", None), Cell("", "", 0.5), "off"),
        (printed("66M", None), Cell("", "", "23M"), "off"),
        (printed("‘as-is’ clause", None), Cell("", "", '"as-is" Clause'), "match"),
        (printed("0.525"), Cell("", "", None, reason="sample data"), "not run"),
    ],
)
def test_verdicts(published, cell, verdict):
    place = {"row": published.row, "column": published.column}
    cell = Cell(**{**cell.__dict__, **place})
    (line,) = build([published], [cell], comparable=True)
    assert line.verdict == verdict
    assert line.published == published.value


def test_the_comparability_of_a_cell_overrides_that_of_its_table():
    published = [printed("0.525", row=row) for row in "abcd"]
    own = {"a": None, "b": True, "c": False, "d": None}
    cells = [Cell(row, "NDCG@5", 0.525, comparable=said) for row, said in own.items()]
    for table, verdicts in (
        (False, ["", "match", "", ""]),
        (True, ["match", "match", "", "match"]),
    ):
        assert [line.verdict for line in build(published, cells, table)] == verdicts


NO_NUMBER = "the reproduced value is not a number"
NEEDED = "a verdict needs three"
NO = ("",) * 3  # no difference and no prediction interval


def judged(published, value, *others, **more):
    """The table line of a cell for ``published``, with cells of other rows in the same table."""
    cell = Cell(published.row, published.column, value, **more)
    return build(
        [published, *(one for one, _ in others)],
        [cell, *(two for _, two in others)],
        True,
    )[0]


def trained(published, seeds, *others, **more):
    return judged(published, float(np.mean(seeds)), *others, seeds=tuple(seeds), **more)


def test_a_difference_is_the_reproduced_minus_the_published_value():
    assert judged(printed("0.525"), 0.5119).difference == "-0.013"
    assert judged(printed("54.0%", 1), 55.26).difference == "+1.3"
    assert judged(printed("1,898", 0), 1900.0).difference == "+2"
    assert judged(printed("0.525"), float("nan")).reason == NO_NUMBER
    line = judged(printed("0.525"), 0.5119, reason="on a Tuesday")
    assert (line.difference, line.reason) == ("-0.013", "on a Tuesday")


def test_only_a_cell_that_is_off_has_a_reason():
    published = [
        printed("0.525", row="a"),
        printed("0.6", 1, row="b"),
        printed("text", None, row="c"),
    ]
    cells = [
        Cell("a", "NDCG@5", 0.5119),
        Cell("b", "NDCG@5", 0.6),
        Cell("c", "NDCG@5", "other"),
    ]
    lines = build(
        published,
        cells,
        True,
        lambda row, column: f"{row} of {column} was counted again",
    )
    assert [(line.verdict, line.difference, line.reason) for line in lines] == [
        ("off", "-0.013", "a of NDCG@5 was counted again"),
        ("match", "", ""),
        ("off", "", "c of NDCG@5 was counted again"),
    ]
    # With other data, no cell is off.
    apart = build(published, cells, False, lambda row, column: "why")
    assert {line.reason for line in apart} == {""}


@pytest.mark.parametrize("value", ["66M", "23M", None])
def test_a_cell_with_judged_false_has_no_verdict(value):
    cell = Cell(
        "BM25 / None", "NDCG@5", value, reason="a size is not a score", judged=False
    )
    (line,) = build([printed("66M", None)], [cell], True)
    assert (line.reproduced, line.verdict, line.reason) == (
        value or "",
        "",
        "a size is not a score",
    )
    assert count([line]) == {"match": 0, "near": 0, "off": 0, "not run": 0, "": 1}
    (apart,) = build([printed("66M", None)], [cell], False)
    assert (apart.ours, apart.verdict) == (value or "", "")


@pytest.mark.parametrize(
    ("published", "seeds", "averages", "verdict", "facts"),
    [
        # t(0.975, 2) is 4.3027; the standard deviation of the first three seeds is 1.
        (printed("57.9", 1), (52, 53, 54), 1, "near", ("", "48.03", "57.97", "")),
        (printed("57.9", 1), (52, 53, 54), 3, "off", ("-4.9", "49.49", "56.51", "")),
        (printed("53.0%", 1), (52, 53, 54), 1, "match", ("", "48.03", "57.97", "")),
        (
            printed("0.742+/-0.014"),
            (0.740, 0.741, 0.742),
            1,
            "near",
            ("", "0.7360", "0.7460", ""),
        ),
        (
            printed("0.77 ± 0.01", 2),
            (0.740, 0.741, 0.742),
            1,
            "off",
            ("-0.03", "0.736", "0.746", ""),
        ),
        (printed("52.4", 1), (52.5,) * 3, 1, "off", ("+0.1", "52.50", "52.50", "")),
        (printed("52.5", 1), (52.5,) * 3, 1, "match", ("", "52.50", "52.50", "")),
        (printed("52.5", 1), (52.5,), 1, "", (*NO, f"trained with one seed; {NEEDED}")),
        (
            printed("60.0", 1),
            (52.5, 52.6),
            1,
            "",
            (*NO, f"trained with two seeds; {NEEDED}"),
        ),
        (
            printed("52.5", 1),
            (52.5, 52.5, math.nan),
            1,
            "",
            (*NO, f"2 of 3 seeds have a value; {NEEDED}"),
        ),
        (printed("52.5", 1), (52.4, 52.5, 52.6, math.nan), 1, "off", (*NO, NO_NUMBER)),
        (printed("NaN", None), (math.nan,) * 3, 1, "match", ("", "", "", "")),
    ],
)
def test_trained_rows_get_a_verdict_from_the_spread_of_seeds(
    published, seeds, averages, verdict, facts
):
    line = trained(published, seeds, averages=averages, low=0.0, high=100.0)
    assert line.verdict == verdict
    assert (
        line.difference,
        line.prediction_low,
        line.prediction_high,
        line.reason,
    ) == facts


@pytest.mark.parametrize("averages", [1, 3])
def test_a_prediction_interval_has_95_percent_coverage(averages):
    draws = np.random.default_rng(0).normal(50, 2, size=(8_000, 3))
    means = np.random.default_rng(1).normal(50, 2, size=(8_000, averages)).mean(axis=1)
    ends = [prediction_interval(values, averages) for values in draws]
    covered = np.mean(
        [low <= mean <= high for (low, high), mean in zip(ends, means, strict=True)]
    )
    assert 0.94 < covered < 0.96


def test_a_prediction_interval_that_is_too_wide_is_noted():
    rows = {"BERT": "52.4", "ALBERT": "56.0", "RoBERTa": "66.0", "Twin": "52.5"}
    others = [
        (
            printed(value, 1, row=row),
            Cell(row, "NDCG@5", None, reason="not here", measure="NDCG@5"),
        )
        for row, value in rows.items()
    ]
    line = trained(printed("52.5", 1), (52, 53, 54), *others, measure="NDCG@5")
    assert line.reason.endswith(
        "too wide to distinguish 2 of the 3 other published values from this one"
    )
    narrow = trained(printed("52.5", 1), (52.8, 52.9, 53.0), *others, measure="NDCG@5")
    assert "too wide" not in narrow.reason
    # Published values of another measure are not compared.
    apart = trained(
        printed("52.5", 1), (52, 53, 54), *others, measure="NDCG@5 of terms"
    )
    assert "too wide" not in apart.reason
    alone = trained(printed("2.0", 1), (1, 2, 3))
    assert alone.reason.endswith("more than half of the published value to either side")


@pytest.mark.parametrize(("published", "noted"), [("9.9", True), ("10.0", False)])
def test_an_interval_is_too_wide_above_half_of_the_value_to_either_side(
    published, noted
):
    # The half-width is 4.3027 * sqrt(4 / 3) = 4.968: more than 9.9 / 2 and less than 10 / 2.
    line = trained(printed(published, 1), (9, 10, 11))
    assert ("too wide" in line.reason) == noted


def test_the_ends_of_an_interval_are_in_it():
    other = (
        printed("52.5", 1, row="Other"),
        Cell("Other", "NDCG@5", None, reason="x", measure="NDCG@5"),
    )
    line = trained(printed("52.4", 1), (52.5, 52.5, 52.5), other, measure="NDCG@5")
    assert "1 of the 1 other published values" in line.reason


def test_a_column_without_published_values_has_three_decimals():
    assert build([], [Cell("Mine", "MRR", 0.12345)], True)[0].ours == "0.123"


def test_an_additional_row_has_the_decimals_of_the_first_published_cell_of_its_column():
    published = [printed("0.5", 1, row="a"), printed("0.525", 3, row="b")]
    cells = [Cell(row, "NDCG@5", 0.5678) for row in ("a", "b", "Mine")]
    assert [line.decimals for line in build(published, cells, True)] == [1, 3, 1]
    assert build(published, cells, True)[-1].ours == "0.6"


def test_a_baseline_with_an_equal_or_lower_loss_reaches_the_published_value():
    loss = Score("loss", "Model", "loss", "all", "documents", lower=True)
    at, cell = (
        printed("0.2", 1),
        Cell("BM25 / None", "NDCG@5", 0.2, measure="loss", score=loss),
    )

    def marked(published, baseline):
        other = Cell("Random", "NDCG@5", baseline, measure="loss", baseline="Random")
        return "Random" in build([published], [cell, other], True)[0].baselines

    assert [marked(at, baseline) for baseline in (0.1, 0.24, 0.3)] == [
        True,
        True,
        False,
    ]
    # A model that answers nothing does not reach a loss of zero.
    assert "nothing" not in build([printed("0.0", 1)], [cell], True)[0].baselines


def test_a_published_value_lists_the_baselines_that_reach_it():
    def baseline(value, row="Random", column="AUPR", measure="Overall"):
        return Cell(row, column, value, measure=measure, baseline=row)

    def marked(published, cell, *baselines):
        line = build([published], [cell, *baselines], True)[0]
        assert "baseline" not in line.reason and "Random" not in line.reason
        return line.baselines

    mark = "Random"
    at, cell = (
        printed("16.8%", 1),
        Cell("BM25 / None", "NDCG@5", 16.84, measure="Overall"),
    )
    assert marked(at, cell, baseline(16.75)) == mark  # equal at the published precision
    assert marked(at, cell, baseline(16.74)) == ""
    assert marked(at, cell, baseline(90.0, measure="Term")) == ""
    assert marked(at, cell, baseline(math.nan), baseline(None, "BM25")) == ""
    assert marked(at, cell, baseline(17.0), baseline(18.0, "BM25")) == "Random; BM25"
    # Rows that were not run are marked too; counts and values on other data are not.
    absent = Cell("BM25 / None", "NDCG@5", None, reason="gated", measure="Overall")
    assert marked(at, absent, baseline(17.0)) == mark
    assert (
        marked(at, Cell("BM25 / None", "NDCG@5", 16.84), baseline(17.0, measure=""))
        == ""
    )
    assert build([at], [cell, baseline(17.0)], False)[0].baselines == ""
    # The published row of a baseline is not compared with itself.
    own = Cell("BM25 / None", "NDCG@5", 16.84, measure="Overall", baseline="Random")
    assert marked(at, own) == ""


def test_a_published_score_of_zero_is_reached_by_a_model_that_answers_nothing():
    line = trained(printed("0.0", 1), (0.0, 0.0, 0.0), measure="Precision@90% Recall")
    assert (line.verdict, line.baselines) == ("match", "a model that answers nothing")
    assert judged(printed("0", 0), 0.0).baselines == ""  # a count


def test_a_baseline_changes_neither_the_verdict_nor_its_reason():
    at, baseline = (
        printed("0.525", 3),
        Cell("Words", "NDCG@5", 0.6, measure="NDCG@5", baseline="Words"),
    )
    for value, seeds in ((0.525, None), (0.5, None), (0.53, (0.52, 0.53, 0.54))):
        cell = Cell("BM25 / None", "NDCG@5", value, seeds=seeds, measure="NDCG@5")
        alone, beside = (
            build([at], [cell], True)[0],
            build([at], [cell, baseline], True)[0],
        )
        assert (alone.baselines, beside.baselines) == ("", "Words")
        assert replace(beside, baselines="") == alone


def test_additional_rows_have_an_interval_and_other_data_give_no_verdict():
    seeds = {"seeds": (0.52, 0.53, 0.54), "measure": "NDCG@5"}
    cells = [
        Cell("BM25 / None", "NDCG@5", 0.53, **seeds),
        Cell("Mine / None", "NDCG@5", 0.53, **seeds),
    ]
    for comparable in (True, False):
        lines = build([printed("0.530")], cells, comparable)
        intervals = [(line.prediction_low, line.prediction_high) for line in lines]
        assert intervals == [("0.4803", "0.5797")] * 2
        assert [line.verdict for line in lines] == ["match" if comparable else "", ""]


def test_a_strict_column_follows_the_published_column():
    cells = [
        Cell("BM25 / None", "NDCG@5", 0.525),
        Cell("BM25 / None", "NDCG@5, strict", 0.6),
        Cell("Mine / None", "NDCG@5", 0.7),
        Cell("BM25 / None", "NDCG@10", 0.540),
    ]
    lines = build(
        [printed("0.525"), printed("0.540", column="NDCG@10")], cells, comparable=True
    )
    assert [(line.row, line.column) for line in lines] == [
        ("BM25 / None", "NDCG@5"),
        ("BM25 / None", "NDCG@5, strict"),
        ("BM25 / None", "NDCG@10"),
        ("Mine / None", "NDCG@5"),
    ]


def test_missing_values_without_a_reason_and_duplicate_cells_raise():
    with pytest.raises(ValueError, match="no value and no reason"):
        build(
            [printed("0.525")], [Cell("BM25 / None", "NDCG@5", None)], comparable=True
        )
    with pytest.raises(ValueError, match="two computed cells"):
        build([], [Cell("r", "c", 1.0), Cell("r", "c", 1.0)], comparable=True)


def test_an_unknown_published_row_or_column_raises_with_the_known_ones():
    cells = [
        Cell(row, "NDCG@10", 0.5)
        for row in ("BM25 / None", *(f"Model {n} / None" for n in range(9)))
    ]
    with pytest.raises(BadInput) as row:
        build([printed("0.525", row="BM25")], cells, comparable=True)
    said = str(row.value)
    what = "published values: table_d3 computes no row 'BM25'; write one of its rows, such as 'BM25 / None', "
    assert said.startswith(what) and said.count("Model") == 4
    with pytest.raises(BadInput) as column:
        build([printed("0.525")], cells[:1], comparable=True)
    assert str(column.value) == (
        "published values: table_d3 computes no column 'NDCG@5' of row 'BM25 / None'; "
        "write one of its columns, such as 'NDCG@10'."
    )
    with pytest.raises(
        BadInput, match=r"computes no row 'BM25'; check the `rows` of its entry\.$"
    ):
        build([printed("0.525", row="BM25")], [], comparable=True)


def test_csv_round_trip_and_count():
    lines = build(
        [printed("0.525")],
        [Cell("BM25 / None", "NDCG@5", 0.5253, 0.44, 0.61)],
        comparable=True,
    )
    text = to_csv(lines)
    assert text.splitlines()[0] == (
        "row,column,published,reproduced,ours,low,high,difference,prediction_low,prediction_high,"
        "decimals,verdict,reason,runs,baselines,system,worst,best"
    )
    assert from_csv(text) == lines
    assert count(lines)["match"] == 1


@pytest.mark.parametrize("comparable", [True, False])
def test_a_line_has_the_system_and_the_ends_of_the_scale_of_its_score(comparable):
    ends = {
        ("a", "x"): ("a", "0", "100"),
        ("a", "y"): ("a", "1", "0"),
        ("b", "x"): ("", "", ""),
    }
    scores = [Score("x", "a", "m", scale=100), Score("y", "a", "m", lower=True), None]
    cells = [
        Cell(*place, 0.5, score=score)
        for place, score in zip(ends, scores, strict=True)
    ]
    lines = build([printed("0.5", 1, "a", "x")], cells, comparable)
    assert {
        (line.row, line.column): (line.system, line.worst, line.best) for line in lines
    } == ends


def test_numbers_are_written_without_a_sign_on_zero():
    assert written(-0.0001, 2) == "0.00"


def test_each_reproduced_value_on_other_data_has_a_note_in_the_csv():
    cells = [
        Cell("a", "x", 0.5, decimals=1, reason="cut"),
        Cell("b", "x", 0.4, decimals=1),
        Cell("c", "x", None),
    ]
    lines = build([], cells, comparable=False)
    note = "stand_in data: not comparable with the paper"
    rows = {
        line["row"]: line["reason"]
        for line in csv.DictReader(io.StringIO(to_csv(lines, note)))
    }
    assert (rows["a"], rows["b"]) == (f"cut; {note}", note)
    assert note not in rows.get("c", "")
    assert from_csv(to_csv(lines, note), note) == lines
