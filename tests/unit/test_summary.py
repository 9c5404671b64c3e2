"""The results page: the stored page, its figure, and the committed page and README."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace

import pytest
import yaml

from helpers import stored_pages
from lextables import ROOT
from lextables.registry.paper import Headline, TableEntry
from lextables.report import site, summary
from lextables.report.headlines import findings
from lextables.report.results import Exhibit, Part, RunRecord
from lextables.tables.cells import Cell, Score, build
from lextables.tables.published import NOT_PUBLISHED, PublishedCell, first_kinds, load

ABSENT = "no_such/weights is not available here"
NEEDED = {"sixth": {"table1": {ABSENT: "the model hub"}}}
WORDS = "runs/s/read/words/all/seed0"
RELEASE = {"variant": "release", "comparable": True}
OTHER = {"variant": "other", "comparable": False}
SYSTEMS = [  # row, column, published, computed
    ("BERT | large", "F1", "80.0", 80.0),
    ("BERT | large", "EM", "70.0", (69.2, 69.9, 70.2)),
    ("LSTM", "F1", "60.0", 61.0),
    ("LSTM", "EM", "50.0", ABSENT),
    ("GPT", "F1", "85.0", ABSENT),
    ("GPT", "EM", "75.0", "its settings are unknown"),
    ("Words", "F1", "", 83.0),
    ("Theirs", "F1", "", 99.0),
]
LOSSES = [
    ("all", "GPT", "0.50", "its settings are unknown"),
    ("all", "Guesses", "0.10", 0.1),
    ("all", "Words", "", 1.0),
]
F1 = Headline(column="F1")
LOSS = Headline(row="all", lower=True, chance=("Guesses",))


def exhibit(
    name,
    rows,
    headline=None,
    sources=(RELEASE,),
    in_full=False,
    kind="score",
    repeats="",
):
    """A table with these rows: a computed value, the values of three seeds, or the
    reason of none.
    """
    printed, cells = [], []
    decimals = 2 if headline and headline.lower else 1
    for row, column, published, computed in rows:
        if published:
            cell = PublishedCell(name, row, column, published, decimals, "", kind)
            printed.append(replace(cell, repeats=repeats))
        run = "runs/s/submitted/theirs/all/seed0" if row == "Theirs" else WORDS
        cell = Cell(row, column, None, reason=str(computed))
        if isinstance(computed, float):
            ends = (computed - 3, computed + 3) if row == "Words" else ()
            cell = Cell(row, column, computed, *ends, decimals=decimals, runs=(run,))
        elif isinstance(computed, tuple):
            mean = sum(computed) / len(computed)
            runs = tuple(run.replace("0", str(seed)) for seed in range(3))
            cell = Cell(row, column, mean, seeds=computed, runs=runs)
        if headline:
            score = Score(column, row, column, lower=headline.lower)
            cell = replace(cell, score=score)
        cells.append(cell)
    comparable = sources[0]["comparable"]
    why = lambda row, column: "the release has two questions more"  # noqa: E731
    entry = TableEntry(title=name, where="4", headline=headline, in_full=in_full)
    lines = build(printed, cells, comparable, why)
    kinds = first_kinds(printed).get(name, {})
    return Exhibit(name, entry, lines, "", {}, sources=sources, first_kinds=kinds)


def material(exhibits=None, **more):
    shown = [
        exhibit("table1", SYSTEMS, F1, in_full=True),
        exhibit("table_d2", LOSSES, LOSS),
        exhibit("table3", [SYSTEMS[2], SYSTEMS[6]], F1, (OTHER,)),
    ]
    part = Part(
        "sixth", "Sixth: a paper", "", {"sources": [RELEASE]}, exhibits or shown
    )
    runs = []
    for seed, commit in enumerate("aab"):
        made_by = {"version": "0.2.0", "commit": commit * 40, "modified": False}
        record = {
            "settings": {},
            "device": "AMD EPYC (x86_64)",
            "seconds": 1.0,
            "libraries": {},
            "lextables": made_by,
        }
        runs.append(RunRecord("sixth", "read", "m", "all", seed, record))
    folders = [WORDS, *(WORDS.replace("0", str(seed)) for seed in (1, 2))]
    found = {
        "config": {"data": "release", "models": "available", "papers": ["sixth"]},
        "parts": [part],
        "runs": runs,
        "date": "2026-01-02",
        "baselines": frozenset([WORDS]),
        "systems": dict.fromkeys(folders, "Bag of words"),
        "needs": NEEDED,
    }
    return summary.Material(**found | more)


def rows(text):
    """The tables of a page as lists of cells."""
    found = []
    for row in re.findall(r"^\|.+\|$", text, re.M):
        _, *cells, _ = re.split(r"(?<!\\)\|", row)
        found.append([cell.strip() for cell in cells])
    return found


def outcomes(block):
    """The table of outcomes by paper and kind."""
    return [row for row in rows(block) if len(row) > 2]


@pytest.mark.golden
def test_the_page_is_as_stored():
    stored_pages.check("results.md", summary.page(material()))


def test_reasons_beyond_the_limit_are_combined():
    lines = [(f"row {n}", "F1", "1.0", f"reason {n}") for n in range(14)]
    page = summary.page(material([exhibit("table1", lines)], needs=None))
    found = [row for row in rows(page) if row[0] == "not run"]
    assert len(found) == summary.REASONS + 1
    assert found[-1] == ["not run", "scores", "4", "", "4 other reasons"]


def test_a_table_in_full_has_its_notes_and_the_note_on_its_data():
    shown = exhibit("table1", SYSTEMS, sources=(OTHER,), in_full=True)
    entry = shown.entry.model_copy(update={"notes": ("Ten questions.",)})
    page = summary.page(material([replace(shown, entry=entry)]))
    table = page.partition("## Table 1.")[2]
    assert "4. other data: not comparable with the paper." in table
    assert "\n- Ten questions.\n" in table


def test_the_leaderboard_has_the_note_of_a_score():
    shown = exhibit("table1", SYSTEMS, F1)
    lines = []
    for line in shown.lines:
        seen = "trained on test texts" if line.row == "Words" else ""
        lines.append(replace(line, reason=seen))
    page = summary.page(material([replace(shown, lines=lines)]))
    board = page.partition("## Leaderboard")[2]
    heads, _, *shown_rows = rows(board)
    notes = {row[1]: row[-1] for row in shown_rows}
    assert heads[-1] == "note"
    assert (notes["Words"], notes["Theirs"]) == ("trained on test texts", "")
    page = summary.page(material([shown]))
    assert rows(page.partition("## Leaderboard")[2])[0][-1] == "groups"


KINDS_SHOWN = [
    exhibit("table1", SYSTEMS, F1),
    exhibit("figure2", SYSTEMS[:2], repeats="table1 > BERT | large > F1"),
    exhibit(
        "table3", [("a", "N", "7.0", 7.0), ("b", "N", "8.0", 9.0)], kind="statistic"
    ),
    exhibit("table4", [("a", "Q", "1.0", "no file")], kind="text"),
]


def test_kinds_are_counted_apart_and_values_that_repeat_another_once():
    """Table 1 has six published scores: two match, one is near, one off, three are not
    run.
    """
    block = summary.summary(material(KINDS_SHOWN))
    heads, _, *lines = outcomes(block)
    assert heads == ["paper", "kind", "published", "match", "near", "off", "not run"]
    assert lines == [
        ["Sixth", "scores", "6", "1", "1", "1", "3"],
        ["Sixth", "statistics", "2", "1", "0", "1", "0"],
        ["Sixth", "texts", "1", "0", "0", "0", "1"],
    ]


def test_the_headline_has_the_reproduced_scores_by_system_and_the_other_kinds():
    block = summary.summary(material(KINDS_SHOWN))
    headline = block.split("\n\n")[1]
    assert headline == (
        "**2 of 6 published scores were reproduced**: 2 of Bag of words (Sixth). "
        "Of the others, 1 came out different and 0 were computed from other data than the paper's. "
        "Of the values that describe the data, 1 of 2 statistics and 0 of 1 texts are equal."
    )


def test_the_headline_has_the_most_frequent_systems_and_counts_the_others():
    numbers = {"A": 1, "B": 4, "C": 2, "D": 3, "E": 2}
    shown, systems = [], {}
    for name, number in numbers.items():
        lines = [(f"{name} {n}", "F1", "1.0", 1.0) for n in range(number)]
        of_system = exhibit("table1", lines)
        folder = f"runs/s/read/{name}/all/seed0"
        lines = [replace(line, runs=folder) for line in of_system.lines]
        shown.append(replace(of_system, lines=lines))
        systems[folder] = name
    block = summary.summary(material(shown, systems=systems))
    assert (
        "**12 of 12 published scores were reproduced**: "
        "4 of B and 3 of D and 2 of C and 3 of 2 other systems (Sixth)."
    ) in block


def test_no_reproduced_score_names_no_system():
    block = summary.summary(material([KINDS_SHOWN[3], exhibit("table1", SYSTEMS[3:6])]))
    assert "**0 of 3 published scores were reproduced**. Of the others" in block


def not_run(block):
    """The table of scores that are not run."""
    lines = [row for row in rows(block) if len(row) == 2]
    return [lines[0], *lines[2:]]


def test_scores_that_are_not_run_are_counted_by_their_needs():
    assert not_run(summary.summary(material(KINDS_SHOWN))) == [
        ["the 3 scores that are not run", "number"],
        ["need the model hub", "2"],
        ["need other data or models (see their reasons)", "1"],
    ]


def test_a_table_that_rests_on_unpublished_annotations_needs_what_nobody_has():
    needs = {"sixth": {"table1": {"": NOT_PUBLISHED}}}
    page = summary.page(material(KINDS_SHOWN, needs=needs))
    section = page.partition("## Requirements")[2].partition("\n## ")[0]
    block = summary.summary(material(KINDS_SHOWN, needs=needs))
    never = "can never be run: need something that was not published"
    assert not_run(block)[1:] == [[never, "3"]]
    assert rows(section)[2:] == [
        ["something that was not published", "scores", "3", "Sixth 3"],
        ["other data or models (see their reasons)", "texts", "1", "Sixth 1"],
    ]


def test_the_picture_compares_the_best_baselines_with_the_best_published_values():
    """It excludes users' rows, chance rows and other data; for losses the lowest value
    is the best.
    """
    svg = summary.picture(material())
    assert svg == summary.picture(material())
    nodes = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    words = ["".join(text.itertext()).strip() for text in nodes]
    assert {"Sixth, scores (9)", "match", "83.0 (published: 85.0)"} <= {*words}
    assert "not run" not in words
    assert "1.00 (published: 0.50)" in words
    tables = [word for word in words if re.match("Sixth, [TF]", word)]
    assert tables == ["Sixth, Table 1", "Sixth, Table D-2"]
    assert "Best baseline" not in summary.picture(material(baselines=frozenset()))
    assert summary.picture(material(parts=[])).startswith("<svg ")


def test_findings_compare_the_best_own_row_with_the_published_ones():
    table1, losses = findings(material().parts, {WORDS})
    assert (table1.name, table1.measure) == ("Sixth, Table 1", "F1")
    assert (table1.own.system, table1.own.text) == ("Words", "83.0")
    assert (table1.published.system, table1.published.text) == ("GPT", "85.0")
    # 83.0 reaches 80.0 and 60.0, but not 85.0.
    assert (table1.reached, table1.total) == (2, 3)
    # A loss of 1.00 does not reach 0.50; a chance row is not compared.
    assert (losses.reached, losses.total, losses.lower) == (0, 1, True)
    assert losses.share == 50
    assert findings(material().parts, ()) == []


def test_values_that_were_not_run_have_no_bar():
    rows = [("GPT", "F1", "75.0", "its settings are unknown")]
    svg = summary.picture(material([exhibit("table1", rows, F1)]))
    assert ">not run</text>" in svg
    # Each of these colours is in the legend only.
    for outcome in ("match", "near", "off"):
        assert svg.count(summary.LOOKS[outcome]["facecolor"]) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"# A\n\n{summary.BEGIN}\nold\n{summary.END}\n\nrest\n",
            "# A\n\nnew\n\nrest\n",
        ),
        ("no marks", "no marks"),
    ],
)
def test_the_summary_is_inserted_between_the_marks_of_a_readme(text, expected):
    assert summary.with_summary(text, "new") == expected


# The committed page

PAGE = ROOT / "docs/results.md"


def block_of(text):
    return text[text.index(summary.BEGIN) : text.index(summary.END)]


def test_the_readme_has_the_summary_of_the_page():
    page, readme = (
        path.read_text(encoding="utf-8") for path in (PAGE, ROOT / "README.md")
    )
    assert block_of(readme) == block_of(page)
    assert (ROOT / "docs/results.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_the_committed_page_counts_and_explains_every_published_value():
    page = PAGE.read_text(encoding="utf-8")
    published = Counter()
    for path in (ROOT / "resources/papers").glob("*.yaml"):
        title = yaml.safe_load(path.read_text(encoding="utf-8"))["title"]
        name = title.partition(":")[0] if ":" in title else path.stem.capitalize()
        for cell in load(ROOT / f"resources/published/{path.stem}.csv"):
            if not cell.repeats:
                published[name, f"{cell.kind}s"] += 1
                published["**all**", f"{cell.kind}s"] += 1
    columns, _, *counted = outcomes(block_of(page))
    assert {(name, kind) for name, kind, *_ in counted} == published.keys()
    for name, kind, *cells in counted:
        total, *numbers = (int(cell.replace(",", "")) for cell in cells)
        assert sum(numbers) == total == published[name, kind]
        if name == "**all**":
            continue
        pattern = rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)"
        (section,) = re.findall(pattern, page, re.M | re.S)
        explained = Counter()
        for outcome, of_kind, values, _, why in rows(section)[2:]:
            assert outcome != "off" or why != "not known"
            if of_kind == kind:
                explained[outcome] += int(values.replace(",", ""))
        wanted = dict(zip(columns[3:], numbers, strict=True))
        assert explained == Counter(wanted | {"match": 0, "near": 0}), (name, kind)


def test_the_committed_page_says_what_every_score_that_is_not_run_needs():
    block = block_of(PAGE.read_text(encoding="utf-8"))
    heads, *needs = not_run(block)
    number = {}
    for need, values in needs:
        number[need] = int(values.replace(",", ""))
    (total,) = [row[-1] for row in outcomes(block) if row[:2] == ["**all**", "scores"]]
    assert heads[0] == f"the {total} scores that are not run"
    assert sum(number.values()) == int(total.replace(",", ""))
    assert number["can never be run: need something that was not published"] > 0
    assert number["need a GPU and the model hub"] > 0
    assert number["need an API key"] > 0


def test_places_of_a_drawing_have_two_decimals_and_numbers_in_its_texts_stay():
    place = '<svg width="1.23456"><text x="2.71828">{}</text></svg>'
    text = "0.707 (published: 0.644)"
    expected = f'<svg width="1.23"><text x="2.71">{text}</text></svg>'
    assert site.drawing(place.format(text), "") == expected
