"""The report site: stored pages of each kind, valid links, and no use of a network."""

import html
import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from helpers import site_pages, stored_pages
from helpers.site_pages import Reading
from helpers.site_results import (
    EVIL,
    PAIRS,
    READER,
    RUN,
    SOURCE,
    SUBMITTED,
    material,
    write_results,
)
from lextables.models.resolve import STANDS_IN
from lextables.pipeline import not_run
from lextables.pipeline.config import Config
from lextables.pipeline.config import load as load_config
from lextables.pipeline.files import write_result
from lextables.pipeline.run import recorded
from lextables.pipeline.version import snakemake_path
from lextables.report import commands, exhibits, layout, runs, site, tables, wording
from lextables.report import results as material_of
from lextables.report.exhibits import Piece
from lextables.sources.provenance import source_files
from lextables.tables.cells import Cell, build
from lextables.tables.published import PublishedCell
from lextables.tables.render import duration

KINDS = (
    "index.html",
    "papers/acord.html",
    "tables/acord-table3.html",
    "tables/acord-figure2.html",
    "data/acord.html",
    f"{RUN}/seed0.html",
    f"{READER}/seed0.html",
    f"{SUBMITTED}/seed0.html",
    "leaderboard.html",
)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Results in the folder `results`, as commands name it."""
    monkeypatch.chdir(tmp_path)
    return write_results(Path("results"))


def said(files, path):
    return Reading(files[path]).words


@pytest.mark.parametrize("path", KINDS)
@pytest.mark.golden
def test_a_page_of_each_kind_is_as_stored(results, path):
    page = site.files(material(results))[path]
    assert EVIL not in page
    stored_pages.check(path.replace("/", "-"), page)


@pytest.mark.golden
def test_stored_pages_of_the_sample_compare_nothing_with_published_values(results):
    """Each page of the sample has the banner once, and no value is compared with a
    published one.
    """
    write_results(
        results, {"variant": "sample", "comparable": False, "obtained_from": "mirror"}
    )
    path = results / f"{RUN}/seed0/run.json"
    record = json.loads(path.read_text())
    record["settings"]["found"] = STANDS_IN
    write_result(path, json.dumps(record))
    sample = {"data": "sample", "models": "sample"}
    files = site.files(material(results, sample, findings=()))
    pages = [path for path in files if path.endswith(".html")]
    assert {*KINDS} <= {*pages}
    for page in pages:
        text = said(files, page)
        assert text.count("Sample data, written for lextables") == 1, page
        assert "random weights replace all-minilm-l6-v2." in text, page
        assert "CC BY 4.0" not in text and "✓" not in text, page
        assert (
            "→" not in text.split("More about verdicts")[0].split("How to read a")[0]
        ), page
    for name in ("index.html", "tables/acord-table3.html"):
        stored_pages.check(f"sample-{name.replace('/', '-')}", files[name])


def test_all_links_are_valid(results):
    site.write("results/report", material(results))
    pages = site_pages.pages(results / "report")
    names = {path.relative_to(results / "report").as_posix() for path in pages}
    assert names >= {*KINDS}
    assert site_pages.faults(results / "report") == []


def test_broken_links_are_found(results):
    site.write(results / "report", material(results))
    page = results / "report/index.html"
    bad = '<p id="how"><a href="nowhere.html">a</a><a href="#no">b</a><img src="https://example.org/x.png">'
    page.write_text(page.read_text().replace("</main>", f"{bad}</main>"))
    faults = site_pages.faults(results / "report")
    assert [fault.partition(": ")[2] for fault in faults] == [
        "a repeated id",
        "nowhere.html does not exist",
        "#no has no target in the page",
        "https://example.org/x.png is on a network",
    ]


def test_rows_of_the_same_runs_share_one_command(results):
    found = material(results)
    (part,) = found.parts
    (line, *_) = [line for line in part.exhibits[0].lines if line.runs]
    lines = [replace(line, row=f"Question {n}") for n in range(5)]
    exhibit = replace(part.exhibits[0], lines=lines)
    runs = {run.folder: run for run in found.runs}
    (row,) = tables.row_commands(exhibit, runs, found.config, "results")
    assert row.name == "Question 0; Question 1; Question 2; and 2 more rows"
    assert row.command.count("scores.parquet") == 3
    assert commands.cost([*runs.values()]) == (
        "from submitted predictions; the cost is not known"
    )


def test_inserted_and_deleted_words_are_marked():
    pieces = [("a ", ""), ("b ", "taken"), ("c ", ""), ("d", "added")]
    assert exhibits.edited("a b c ", "a c d") == [Piece(*piece) for piece in pieces]
    assert exhibits.cut("one two three", 9) == "one two …"
    assert exhibits.cut("one two", 7) == "one two"


def test_results_of_an_earlier_run_are_marked(results):
    part = material_of.read_part("acord", results / "acord.yaml", results, earlier=True)
    records = results.glob("runs/**/run.json")
    runs = [material_of.read_run(path, earlier=True) for path in sorted(records)]
    files = site.files(replace(material(results), parts=[part], runs=runs))
    left = f"Left by an earlier run (last written on {part.earlier_day})"
    for path in ("index.html", "papers/acord.html", "tables/acord-table3.html"):
        assert left in said(files, path)
    assert "left by an earlier run" in said(files, f"{RUN}/seed0.html")
    assert "Left by an earlier run, possibly" in said(files, "data/acord.html")
    assert "(5 left by earlier runs, 1 submitted)" in said(files, "papers/acord.html")


def test_the_site_is_replaced_completely_or_not_at_all(results, monkeypatch):
    folder = results / "report"
    site.write(folder, material(results))
    (folder / "tables/old.html").write_text("")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with monkeypatch.context() as failing:
        failing.setattr(layout, "html", lambda page, frame: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            site.write(folder, material(results))
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == before
    site.write(folder, material(results))
    assert not (folder / "tables/old.html").exists()
    assert not [path for path in results.iterdir() if "part" in path.name]


def test_a_report_folder_that_is_a_link_stays_one(results):
    folder = results / "report"
    target = Path("elsewhere").absolute()
    target.mkdir()
    folder.symlink_to(target)
    for _ in range(2):
        site.write(folder, material(results))
        assert folder.is_symlink() and (target / "index.html").is_file()
    assert not [path for path in results.iterdir() if path.name.startswith(".")]


# Commands


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"data": "release", "models": "available"},
        {"seeds": (4,)},
        {"seeds": (3, 4), "difficulty_filters": False, "test_share": 0.3},
        {"extra_models": ({"name": "It’s mine", "kind": "encoder", "model": "a b"},)},
        {"edgar_quarters": ("2020-QTR1",), "caselaw": ("us:1-2", "f2d:7")},
    ],
)
def test_a_command_reproduces_the_configuration(changed, tmp_path):
    from snakemake.cli import parse_config

    config = Config(papers=("acord",), **changed)
    text = commands.command(config.model_dump(mode="json"), "acord_table3")
    arguments = shlex.split(text)
    assert arguments[:3] == [snakemake_path(), "--cores", "4"]
    assert arguments[-1] == "acord_table3"
    keys = []
    if changed:
        keys = arguments[arguments.index("--config") + 1 : -2]
    assert "False" not in " ".join(keys)  # config.yaml writes `false`
    papers = {"papers": ["acord"]}
    assert load_config(parse_config(keys) | papers, ["acord"], tmp_path) == config


def test_every_command_of_the_site_starts_with_an_existing_program(
    results, monkeypatch
):
    found = material(results)
    # As after `make run`: the environment is a subfolder of the working directory.
    monkeypatch.chdir(Path(sys.executable).parents[2])
    programs = []
    for text in site.files(found).values():
        boxes = re.findall(r'class="command"><code>(.+?)</code>', text, re.DOTALL)
        programs += [shlex.split(html.unescape(box))[0] for box in boxes]
    commands = [name for name in programs if name not in ("import", "from")]
    assert len(commands) >= 10
    assert all(Path(name).is_file() for name in commands)
    assert {Path(name).name for name in commands} == {"snakemake"}


# Wording


def test_published_cells_are_counted_by_outcome():
    cells = []
    for n in range(50):
        value = 1.0 if n < 30 else None
        cells.append(Cell(str(n), "c", value, reason="" if value else "no"))
    printed = [PublishedCell("t", cell.row, "c", "1.0", 1, "") for cell in cells]
    counts = wording.outcome_counts(build(printed, cells, True))
    assert {name: n for name, n in counts.items() if n} == {"match": 30, "not run": 20}
    trained = [Cell("0", "c", 52.5, seeds=(52.5,))]
    assert wording.outcome_counts(build(printed[:1], trained, True))["unjudged"] == 1
    assert wording.outcome_counts(build(printed[:1], trained, False))["elsewhere"] == 1
    own = build([], [Cell("a", "c", 1.0), Cell("b", "c", None, reason="no")], True)
    assert wording.table_in_words(own) == "1 value in additional rows, none published"


def test_sources_are_grouped_by_variant_and_note():
    rebuilt = SOURCE | {"variant": "rebuilt", "note": "made from the texts"}
    mirrored = rebuilt | {"obtained_from": "mirror", "file": "more.zip"}
    release, other = source_files([SOURCE, rebuilt, mirrored])
    assert (release.file, release.origin) == (
        "acord/ACORD.zip",
        SOURCE["obtained_from"],
    )
    assert (other.file, other.size) == ("acord, 2 files", 2 * SOURCE["bytes"])
    assert (other.origin, other.note) == ("several addresses", "made from the texts")
    (one,) = source_files([mirrored])
    assert one.origin == "a mirror folder"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.24, "4.2 s"), (59.97, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_are_rounded_to_readable_units(seconds, text):
    assert duration(seconds) == text


# The results that the pages show


def test_a_table_has_the_pairs_files_and_sources_of_its_data_set(results):
    raw = yaml.safe_load((results / "acord.yaml").read_text())
    raw["tables"]["table_c1"]["of"] = "acord_parts"
    (results / "acord.yaml").write_text(yaml.safe_dump(raw))
    census = json.loads((results / "data/acord/census.json").read_text())
    census["sources"] = [SOURCE | {"variant": "partial", "comparable": False}]
    (results / "data/acord_parts").mkdir()
    (results / "data/acord_parts/census.json").write_text(json.dumps(census))
    part = material_of.read_part("acord", results / "acord.yaml", results)
    variants = {each.name: each.sources[0]["variant"] for each in part.exhibits}
    assert variants == {
        "table3": "release",
        "table_c1": "partial",
        "figure2": "release",
    }
    figure2, table3, _ = part.exhibits  # sorted by `safe_dump`
    assert table3.pairs == PAIRS
    assert list(table3.files) == ["csv", "md", "html", "comparison.csv"]
    assert list(figure2.files) == ["csv", "md", "html", "svg"]
    (results / "data/acord_parts/census.json").unlink()
    part = material_of.read_part("acord", results / "acord.yaml", results, earlier=True)
    assert [exhibit.name for exhibit in part.exhibits] == ["figure2", "table3"]


@pytest.mark.parametrize("of_part", [True, False])
def test_the_page_of_a_table_has_the_note_on_its_own_data(results, of_part):
    """The table is of another data set than the paper's own."""
    found = material(results)
    (part,) = found.parts
    other = {"variant": "partial", "comparable": False}
    (table, *_) = part.exhibits
    if of_part:
        part = replace(part, census=part.census | {"sources": [other]})
    else:
        table = replace(table, sources=[other])
    page = tables.page(replace(part, exhibits=[table]), table, {}, found.config, "")
    note = "" if of_part else "partial data: not comparable with the paper"
    assert page.content.data_note == note


def test_parts_of_a_run_have_only_the_tables_that_it_makes(results):
    (part,) = material(results).parts
    files = [results / "tables/acord/table3.csv", results / "tables/acord/table3.md"]
    (shown,) = material_of.parts_of_run([part], results, map(str, files))
    assert [exhibit.name for exhibit in shown.exhibits] == ["table3"]
    earlier = replace(part, name="earlier", exhibits=part.exhibits[1:])
    assert material_of.parts_of_run([earlier], results, map(str, files)) == []


def test_the_report_of_a_sample_shows_the_tables_that_exist(results):
    (results / "tables/acord/table_c1.csv").unlink()
    part = material_of.read_part("acord", results / "acord.yaml", results)
    assert {exhibit.name for exhibit in part.exhibits} == {"table3", "figure2"}


def test_tables_missing_from_an_earlier_run_are_ignored(results):
    (results / "tables/acord/table3.csv").unlink()
    (results / "tables/acord/figure2.svg").unlink()
    part = material_of.read_part("acord", results / "acord.yaml", results, earlier=True)
    assert [exhibit.name for exhibit in part.exhibits] == ["table_c1"]
    (results / "tables/acord/table_c1.csv").unlink()
    registry = results / "acord.yaml"
    assert material_of.read_part("acord", registry, results, earlier=True) is None


def test_left_over_lists_files_of_earlier_runs_with_their_digests(results):
    left = material_of.left_over(results, [str(results / "tables/acord/table3.csv")])
    assert {path.split("/")[0] for path in left} == {"data", "tables", "runs"}
    assert "tables/acord/table3.csv" not in left
    assert len([path for path in left if path.startswith("runs/")]) == 5
    table = results / "tables/acord/table_c1.csv"
    table.write_text(table.read_text().replace("query 7", "query seven"))
    changed = material_of.left_over(results, [])
    assert {path for path in left if changed[path] != left[path]} == {
        "tables/acord/table_c1.csv"
    }


def test_the_page_of_a_run_that_was_not_scored_has_no_scores(tmp_path):
    folder = tmp_path / "runs/quill/retrieve/bm25/short/seed0"
    with recorded(folder / "run.json", {}):
        pass
    not_run.leave([f"{folder}/scores.parquet"], "a query is missing")
    run = material_of.read_run(folder / "run.json")
    links = runs.Links.of([], [run])
    config = Config(papers=["acord"]).model_dump(mode="json")
    page = runs.page(run, links, config, str(tmp_path))
    assert (page.content.scores, page.content.files) == ([], {})
