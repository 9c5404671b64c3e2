"""The page of results: counts of outcomes, explanations, baselines, and the committed page and README."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pandas as pd
import yaml

from lextables.papers.registry import Headline, TableEntry
from lextables.report import summary
from lextables.report.overlaps import PAIR
from lextables.report.results import Exhibit, Part, RunRecord
from lextables.tables.cells import Line
from lextables.tables.published import load

ROOT = Path(__file__).parents[2]
NEEDED = {
    "sixth": {"table1": {"no_such/weights is not available here": "the model hub"}}
}


def line(row, column, published="", value="", verdict="", **more):
    fields = dict.fromkeys(
        (
            "low",
            "high",
            "difference",
            "prediction_low",
            "prediction_high",
            "reason",
            "runs",
        ),
        "",
    )
    place = (
        {"ours": "", "reproduced": value}
        if verdict
        else {"ours": value, "reproduced": ""}
    )
    return Line(
        row, column, published, decimals=1, verdict=verdict, **(fields | place | more)
    )


LINES = [
    line(
        "BERT | large", "F1", "80.0", "80.0", "match", runs="runs/s/read/bert/all/seed0"
    ),
    line("BERT | large", "EM", "70.0", "69.9", "near"),
    line(
        "LSTM",
        "F1",
        "60.0",
        "61.0",
        "off",
        difference="+1.0",
        reason="the release has two questions more",
    ),
    line(
        "LSTM",
        "EM",
        "50.0",
        verdict="not run",
        reason="no_such/weights is not available here",
    ),
    line(
        "GPT",
        "F1",
        "85.0",
        verdict="not run",
        reason="no_such/weights is not available here",
    ),
    line("GPT", "EM", "75.0", verdict="not run", reason="its settings are unknown"),
    line(
        "Words",
        "F1",
        value="83.0",
        low="80.0",
        high="86.0",
        runs="runs/s/read/words/all/seed0",
    ),
    line("Theirs", "F1", value="99.0", runs="runs/s/given/theirs/all/seed0"),
]
ENTRY = TableEntry(
    title="Systems", where="Section 4", headline=Headline(column="F1"), in_full=True
)
LOSS = TableEntry(
    title="Losses",
    where="Section 5",
    headline=Headline(row="all", lower=True, chance=("Guesses",)),
)
LOSSES = [
    line("all", "GPT", "0.50", verdict="not run", reason="its settings are unknown"),
    line("all", "Guesses", "0.10", "0.10", "match"),
    line("all", "Words", value="1.00", runs="runs/s/read/words/all/seed0"),
]
RELEASE = {"variant": "release", "comparable": True}
OTHER = {"variant": "other", "comparable": False}


def material(**more):
    exhibits = [
        Exhibit("table1", ENTRY, LINES, "", {}, sources=[RELEASE]),
        Exhibit("table_d2", LOSS, LOSSES, "", {}, sources=[RELEASE]),
        Exhibit(
            "table3",
            ENTRY,
            [line("A", "F1", "9.0", "8.0"), LINES[6]],
            "",
            {},
            sources=[OTHER],
        ),
    ]
    made = {
        "settings": {},
        "device": "AMD EPYC (x86_64)",
        "seconds": 1.0,
        "libraries": {},
    }
    commits = [
        {"version": "0.2.0", "commit": commit * 40, "modified": False}
        for commit in "aab"
    ]
    runs = [
        RunRecord("sixth", "read", "m", "all", str(k), made | {"lextables": c})
        for k, c in enumerate(commits)
    ]
    found = {
        "config": {
            "data": "release",
            "models": "available",
            "papers": ["sixth"],
            "mirror": "/home/me",
        },
        "parts": [
            Part(
                "sixth",
                "Sixth: a paper",
                "Them, 2026.",
                {"sources": [RELEASE]},
                exhibits,
            )
        ],
        "runs": runs,
        "date": "2026-01-02",
        "baselines": ["runs/s/read/words/all/seed0"],
        "needs": NEEDED,
    }
    return summary.Material(**found | more)


def rows(text):
    """The tables of a page as lists of cells."""
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        for row in re.findall(r"^\|.+\|$", text, re.M)
    ]


def test_outcomes_are_counted_and_runs_and_settings_are_named():
    text = summary.summary(material())
    assert rows(text)[0][1:] == [
        "published values",
        "match",
        "near",
        "off",
        "other data",
        "not run",
    ]
    assert rows(text)[2] == ["Sixth", "9", "2", "1", "1", "1", "4"]
    assert (
        "3 runs, the last on 2026-01-02: 2 by lextables 0.2.0 (commit aaaaaaaaaa), 1 by lextables 0.2.0 "
        "(commit bbbbbbbbbb); on AMD EPYC (x86_64)."
    ) in summary.page(material())
    assert "\n\nSettings: `data=release`, `models=available`.\n\n" in summary.page(
        material()
    )


def test_each_value_with_verdict_off_and_each_reason_has_a_line():
    text = summary.page(material())
    assert [
        "off",
        "1",
        "Table 1: LSTM, F1: 60.0 → 61.0",
        "the release has two questions more",
    ] in rows(text)
    assert ["not run", "2", "Table 1", "no_such/weights is not available here"] in rows(
        text
    )
    assert ["not run", "2", "Table 1; Table D-2", "its settings are unknown"] in rows(
        text
    )
    assert [
        "other data",
        "1",
        "Table 3",
        "other data: not comparable with the paper",
    ] in rows(text)
    assert ["the model hub", "2", "Sixth 2"] in rows(text)
    assert ["none of these", "2", "Sixth 2"] in rows(text)


def test_reasons_beyond_the_limit_are_combined():
    lines = [
        line(f"row {n}", "F1", "1.0", verdict="not run", reason=f"reason {n}")
        for n in range(14)
    ]
    part = Part(
        "sixth",
        "Sixth: a paper",
        "",
        {},
        [Exhibit("table1", TableEntry(title="t", where="w"), lines, "", {})],
    )
    found = [
        row
        for row in rows(summary.page(material(parts=[part], needs=None)))
        if row[0] == "not run"
    ]
    assert len(found) == summary.REASONS + 1
    assert found[-1] == ["not run", "4", "", "4 other reasons"]


def test_a_table_is_shown_in_full_if_the_registry_sets_in_full():
    text = summary.page(material())
    assert "## Table 1. Systems" in text
    assert "## Table D-2" not in text
    assert "| Words | 83.0 [80.0, 86.0] |  |" in text


def test_overlaps_are_shown_if_they_were_computed():
    table = pd.DataFrame(
        [
            ["one", "test", "two", "train", 7, 900, 6, 5, 2, 0.96],
            ["two", "train", "one", "test", 7, 9, 1, 0, 0, 0.01],
            ["three", "test", "two", "train", 8, 100, 3, 0, 0, 0.05],
            ["four", "test", "two", "train", 8, 100, 3, 0, 0, 0.0499],
        ],
        columns=[
            *PAIR,
            "units",
            "words",
            "touched",
            "half",
            "near_duplicates",
            "share",
        ],
    )
    text = summary.page(material(overlaps=table))
    assert ["one test", "two train", "96 %", "7", "6", "2"] in rows(text)
    assert "two train |" not in text.partition("three test | two train")[2]
    # From a share of 5 % on.
    assert ["three test", "two train", "5 %", "8", "3", "0"] in rows(
        text
    ) and "four test" not in text
    assert "Overlaps" not in summary.page(material())


def test_overlaps_by_definition_are_left_out():
    pairs = {
        ("copy", "test", "old", "test"): 1.0,
        ("old", "test", "copy", "test"): 1.0,
        ("copy", "test", "copy", "train"): 0.07,
        ("old", "test", "old", "train"): 0.07,
        ("third", "all", "copy", "train"): 0.96,
        ("third", "all", "old", "train"): 0.96,
        ("mix", "all", "third", "all"): 0.3,
        ("mix", "all", "copy", "test"): 0.4,
        ("mix", "all", "old", "test"): 0.4,
        ("old", "test", "third", "all"): 0.04,
    }
    table = pd.DataFrame(
        [[*pair, share] for pair, share in pairs.items()], columns=[*PAIR, "share"]
    )
    table = table.assign(units=1, touched=1, half=1, near_duplicates=1)
    files = {
        "copy": frozenset({"old/a.zip"}),
        "old": frozenset({"old/a.zip", "old/b.csv"}),
        "mix": frozenset({"old/b.csv", "mix/c.zip"}),
        "third": frozenset({"third/a.zip"}),
    }
    section = summary.page(material(overlaps=table, files=files)).partition(
        "## Overlaps"
    )[2]
    shown = [row[:3] for row in rows(section)[2:]]
    assert shown == [
        ["third all", "old train", "96 %"],
        ["mix all", "old test", "40 %"],
        ["mix all", "third all", "30 %"],
        ["old test", "old train", "7 %"],
    ]
    assert "read from the same files (copy and old), and repeated pairs" in section


def test_the_picture_compares_the_best_baselines_with_the_best_published_values():
    """It excludes users' rows, chance rows and other data; for losses the lowest value is the best."""
    svg = summary.picture(material())
    assert svg == summary.picture(material())
    words = [
        "".join(text.itertext()).strip()
        for text in ET.fromstring(svg).iter()
        if text.tag.endswith("}text")
    ]
    assert {
        "Sixth (9)",
        "match",
        "not run",
        "83.0 (published: 85.0)",
        "1.00 (published: 0.50)",
    } <= {*words}
    assert [word for word in words if word.startswith("Sixth, ")] == [
        "Sixth, Table 1",
        "Sixth, Table D-2",
    ]
    assert "Best baseline" not in summary.picture(material(baselines=[]))
    assert summary.picture(material(parts=[])).startswith("<svg ")


def test_the_summary_is_inserted_between_the_marks_of_a_readme():
    text = f"# A\n\n{summary.BEGIN}\nold\n{summary.END}\n\nrest\n"
    block = summary.summary(material())
    assert summary.with_summary(text, block) == f"# A\n\n{block}\n\nrest\n"
    assert summary.with_summary("no marks", block) == "no marks"


# The committed page

PAGE = ROOT / "docs/results.md"


def block_of(text):
    return text[text.index(summary.BEGIN) : text.index(summary.END)]


def test_the_readme_has_the_summary_of_the_page():
    page, readme = (
        path.read_text(encoding="utf-8") for path in (PAGE, ROOT / "README.md")
    )
    assert block_of(readme) == block_of(page)
    assert page.count("\n") < 240
    assert (ROOT / "docs/results.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_the_committed_page_counts_and_explains_every_published_value():
    page = PAGE.read_text(encoding="utf-8")
    published = {}
    for path in (ROOT / "resources/papers").glob("*.yaml"):
        title = yaml.safe_load(path.read_text(encoding="utf-8"))["title"]
        name = title.partition(":")[0] if ":" in title else path.stem.capitalize()
        published[name] = len(load(ROOT / f"resources/published/{path.stem}.csv"))
    columns, _, *papers = rows(block_of(page))
    assert {name for name, *_ in papers} == {
        name for name, values in published.items() if values
    } | {"**all**"}
    for name, *cells in papers:
        total, *numbers = (int(cell.replace(",", "")) for cell in cells)
        assert sum(numbers) == total
        if name == "**all**":
            assert total == sum(int(row[1].replace(",", "")) for row in papers[:-1])
            continue
        assert total == published[name]
        (section,) = re.findall(
            rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", page, re.M | re.S
        )
        explained = Counter()
        for outcome, values, _, why in rows(section)[2:]:
            explained[outcome] += int(values.replace(",", ""))
            assert outcome != "off" or why != "not known"
        wanted = Counter(dict(zip(columns[2:], numbers, strict=True)))
        assert explained == wanted - Counter(
            {name: wanted[name] for name in ("match", "near")}
        ), name
