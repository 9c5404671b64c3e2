"""The report site: the content of each kind of page, valid links, and no use of a network."""

import html
import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import site_pages
from lextables.models.resolve import STANDS_IN
from lextables.pipeline.config import Config
from lextables.pipeline.config import load as load_config
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.pipeline.version import snakemake_path
from lextables.report import (
    commands,
    exhibits,
    layout,
    leaderboard,
    site,
    tables,
    wording,
)
from lextables.report import results as material_of
from lextables.report.exhibits import Piece
from lextables.report.leaderboard import Benchmark, Row
from lextables.tables.cells import Cell, build
from lextables.tables.comparison import Comparison, Pair, to_csv
from lextables.tables.published import PublishedCell
from lextables.tables.render import duration
from site_pages import Reading
from site_results import EVIL, RUN, SOURCE, material, write_results

KINDS = (
    "index.html",
    "papers/acord.html",
    "tables/acord-table3.html",
    "tables/acord-figure2.html",
    "data/acord.html",
    f"{RUN}/seed0.html",
    "leaderboard.html",
)


@pytest.fixture
def results(tmp_path):
    return write_results(tmp_path)


def said(files, path):
    return Reading(files[path]).words


def test_every_kind_of_page_exists_and_all_links_are_valid(results):
    site.write(results / "report", material(results))
    assert {
        path.relative_to(results / "report").as_posix()
        for path in site_pages.pages(results / "report")
    } >= {*KINDS}
    assert site_pages.faults(results / "report") == []


def test_broken_links_are_found(results):
    site.write(results / "report", material(results))
    page = results / "report/index.html"
    bad = '<p id="how"><a href="nowhere.html">a</a><a href="#no">b</a><img src="https://example.org/x.png">'
    page.write_text(page.read_text().replace("</main>", f"{bad}</main>"))
    found = [
        fault.partition(": ")[2] for fault in site_pages.faults(results / "report")
    ]
    assert found == [
        "a repeated id",
        "nowhere.html does not exist",
        "#no has no target in the page",
        "https://example.org/x.png is on a network",
    ]


def test_texts_and_names_are_escaped(results):
    files = site.files(material(results))
    for path, text in files.items():
        if path.endswith(".html"):
            assert EVIL not in text, path
    for path in (
        "tables/acord-table3.html",
        "data/acord.html",
        f"{RUN}/seed0.html",
        "papers/acord.html",
    ):
        assert EVIL in said(files, path), path
    # The text does not end the search script either: it is a separate file, and its names are set as text.
    assert json.loads(
        files[layout.SEARCH].removeprefix("const FOUND = ").removesuffix(";\n")
    )


def test_the_first_page_counts_published_values_and_lists_data_and_versions(results):
    text = said(site.files(material(results)), "index.html")
    for words_of_it in (
        "Every table and figure of one paper",
        "Of 44 published values, 42 match; 2 were not run, with the reason.",
        "Table 3 Retrieval <i> 1 match, 1 not run",
        "Table C-1 Queries 40 match",
        "the release (acord as published)",
        "the models available on this machine: all-minilm-l6-v2",
        "3, in at most 10 min 3 s together",
        "lextables 0.2.0, of 2026-01-02",
        f"{snakemake_path()} --cores 4 --config data=release models=available 'papers=[acord]'",
        "All runs: python 3.11.2.",
    ):
        assert words_of_it in text


def test_values_from_sample_data_are_not_compared_with_published_values(results):
    write_results(results, {"variant": "sample", "comparable": False})
    files = site.files(material(results, {"data": "sample", "models": "sample"}))
    assert "Of 44 published values, 42 have a value here." in said(files, "index.html")
    assert "0 match" not in said(files, "index.html")
    assert (
        "the sample written for this project; its values say nothing about any paper"
        in said(files, "index.html")
    )
    table = said(files, "tables/acord-table3.html")
    assert (
        "Sample data, written for lextables: the numbers say nothing about any paper or model"
        in table
    )
    assert "52.5 [51.0, 54.0] published: 52.5" in table
    assert "→" not in table.split("How to read a cell")[0]
    assert "✓" not in table


def test_every_page_of_the_sample_states_its_data_models_and_licence(results):
    write_results(
        results, {"variant": "sample", "comparable": False, "obtained_from": "mirror"}
    )
    path = results / f"{RUN}/seed0/run.json"
    record = json.loads(path.read_text())
    record["settings"]["found"] = STANDS_IN
    path.write_text(json.dumps(record))
    files = site.files(material(results, {"data": "sample", "models": "sample"}))
    pages = [path for path in files if path.endswith(".html")]
    assert {*KINDS} <= {*pages}
    for page in pages:
        assert "Sample data, written for lextables" in said(files, page), page
        assert "Tiny models with random weights replace all-minilm-l6-v2." in said(
            files, page
        ), page
        assert said(files, page).count("Sample data") == 1, page
        assert "CC BY 4.0" not in files[page], page
    own = "acord/ACORD.zip: the variant “sample”, 3,131,196 bytes from resources/sample; Apache-2.0."
    assert own in said(files, "data/acord.html") and own in said(
        files, "papers/acord.html"
    )
    assert "Sample data" not in said(site.files(material(results)), "index.html")


def test_the_page_of_a_run_shows_scores_with_their_units(results):
    scores = [
        ("AUPR", 1.0),
        ("F1", float("nan")),
        ("answers left out", 1071.0),
        ("cross entropy", 1.5),
    ]
    rows = [
        {"metric": metric, "group": "all", "value": value, "n": 9}
        for metric, value in scores
    ]
    write(SCORES, rows, results / f"{RUN}/seed0/scores.parquet")
    text = said(site.files(material(results)), f"{RUN}/seed0.html")
    assert "shares from 0 to 1, losses in nats, counts as whole numbers" in text
    for row in (
        "AUPR all 1.0000 9",
        "F1 all not defined 9",
        "left out all 1,071 9",
        "entropy all 1.5000 9",
    ):
        assert row in text


def test_the_page_of_a_table_shows_values_reasons_runs_and_commands(results):
    files = site.files(material(results, {"mirror": ["../raw folder"]}))
    text = said(files, "tables/acord-table3.html")
    for words_of_it in (
        "ACORD · Section 4.2",
        "Table 3. Retrieval <i>",
        "1 match, 1 not run.",
        "published 52.5 → reproduced 52.5 ✓ match [51.0, 54.0]",
        "Precision as printed in k .",
        "at most 15 min 3 s on H100, up to 5,000 MiB, 3 runs",
        f"{EVIL} no weights",
    ):
        assert words_of_it in text
    keys = "--config data=release models=available --"
    assert f"{snakemake_path()} --cores 4 {keys} acord_table3" in text
    runs = " ".join(
        f"{results.as_posix()}/{RUN}/seed{k}/scores.parquet" for k in range(3)
    )
    assert f"{snakemake_path()} --cores 4 {keys} {runs}" in text


def test_rows_of_the_same_runs_share_one_command(results):
    found = material(results)
    (part,) = found.parts
    (line, *_) = [line for line in part.exhibits[0].lines if line.runs]
    lines = [replace(line, row=f"Question {n}") for n in range(5)]
    exhibit = replace(part.exhibits[0], lines=lines)
    (row,) = tables.row_commands(
        exhibit, {run.folder: run for run in found.runs}, found.config, "results"
    )
    assert row.name == "Question 0; Question 1; Question 2; and 2 more rows"
    assert row.command.count("scores.parquet") == 3


def test_a_row_of_submitted_predictions_has_no_known_cost(results):
    path = results / f"{RUN}/seed2/run.json"
    given = {
        "settings": {"content": f"sha256:{'0123456789ab' * 5}"},
        "submitted": {"file": "<run>.txt"},
    }
    path.write_text(json.dumps(json.loads(path.read_text()) | given))
    files = site.files(material(results))
    assert "from submitted predictions; the cost is not known" in said(
        files, "tables/acord-table3.html"
    )
    run = said(files, f"{RUN}/seed2.html")
    assert (
        "submitted predictions: <run>.txt (sha256:0123456789ab)" in run
        and "Time not known" in run
    )
    assert (
        "3 runs (1 submitted): the longest took 3 min 21 s, the largest 1,001 MiB."
        in said(files, "papers/acord.html")
    )


def test_the_page_of_a_run_shows_settings_cost_training_and_tables(results):
    files = site.files(material(results))
    text = said(files, f"{RUN}/seed0.html")
    for words_of_it in (
        "all-minilm-l6-v2 (package)",
        "H100",
        "3 min 20 s",
        "1,000 MiB",
        "python 3.11.2, torch 2.13.0",
        "at most 5 min 0 s on H100, up to 5,000 MiB",
        "ACORD, Table 3 Retrieval <i>",
        "ACORD, Figure 2",
        "The same with other seeds: seed 1 ; seed 2",
        "Loss over 3 updates, from 0.8 to 0.6",
        "NDCG@5 all 0.5250 57",
        "learning_rate validation NDCG@10 0.0001 0.25",
        "Files: scores.parquet Made",
        "Its training # device H100 time 1 min 40 s batch_size 16 trial.learning_rate 0.0001",
        "updates 400 ",
    ):
        assert words_of_it in text
    assert (
        '<polyline points="106.7,4.0 213.3,18.5 320.0,33.0"/>'
        in files[f"{RUN}/seed0.html"]
    )


def test_runs_that_use_other_runs_are_linked(results):
    path = results / f"{RUN}/seed2/run.json"
    record = json.loads(path.read_text())
    record["settings"]["weights"] = f"results/{RUN}/seed0/weights"
    record["settings"]["of"] = ["runs/acord/retrieve/gone/short/seed0"]
    path.write_text(json.dumps(record))
    files = site.files(material(results))
    assert "Uses: read, bi+encoder, short, seed 0" in said(files, f"{RUN}/seed2.html")
    assert "Used by: read, bi+encoder, short, seed 2" in said(
        files, f"{RUN}/seed0.html"
    )
    assert "Used by" not in said(files, f"{RUN}/seed1.html")


def test_the_page_of_a_data_set_shows_content_source_and_loading_code(results):
    text = said(site.files(material(results)), "data/acord.html")
    for words_of_it in (
        "Data set · retrieval",
        "Every rated pair, by query_id .",
        "1,593 rows, one for each query_id.",
        "acord/ACORD.zip: as published, 3,131,196 bytes from https://example.org/ACORD.zip; CC BY 4.0.",
        "marks list of int32, or null what people gave",
        "[1, 2]",
        "null",
        "word word …",
        'read_parquet("',
        '/publish/acord", "judgements", split="full")',
        "ratings left out 3",
        "test 761 train 832",
    ):
        assert words_of_it in text
    assert text.count("word word …") == 10


def test_the_page_of_a_paper_shows_its_steps_and_examples(results):
    files = site.files(material(results))
    text = said(files, "papers/acord.html")
    assert "From queries to pairs What is left." in text.replace(" # ", " ")
    assert "Queries 57" in text and "Twin contradict it is not liable" in text
    assert "it is <ins>not </ins>liable" in files["papers/acord.html"]


def test_inserted_and_deleted_words_are_marked():
    pieces = [("a ", ""), ("b ", "taken"), ("c ", ""), ("d", "added")]
    assert exhibits.edited("a b c ", "a c d") == [Piece(*piece) for piece in pieces]
    assert exhibits.cut("one two three", 9) == "one two …"
    assert exhibits.cut("one two", 7) == "one two"


def test_results_of_an_earlier_run_are_marked(results):
    part = material_of.read_part("acord", results / "acord.yaml", results, earlier=True)
    runs = [
        material_of.read_run(path, earlier=True)
        for path in sorted(results.glob("runs/**/run.json"))
    ]
    files = site.files(replace(material(results), parts=[part], runs=runs))
    left = f"Left by an earlier run (last written on {part.earlier})"
    for path in ("index.html", "papers/acord.html", "tables/acord-table3.html"):
        assert left in said(files, path)
    assert "left by an earlier run" in said(files, f"{RUN}/seed0.html")
    assert "Left by an earlier run, possibly" in said(files, "data/acord.html")
    assert "3 runs (3 left by earlier runs)" in said(files, "papers/acord.html")
    assert left not in said(site.files(material(results)), "index.html")


def test_the_site_is_replaced_completely_or_not_at_all(results, monkeypatch):
    folder = results / "report"
    site.write(folder, material(results))
    (folder / "tables/old.html").write_text("")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with monkeypatch.context() as failing:
        failing.setattr(site, "search", lambda pages: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            site.write(folder, material(results))
    assert {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file()
    } == before
    site.write(folder, material(results))
    assert not (folder / "tables/old.html").exists()
    assert not [path for path in results.iterdir() if "part" in path.name]


def test_the_search_finds_tables_rows_data_and_runs(results):
    text = site.files(material(results))[layout.SEARCH]
    entries = json.loads(text.removeprefix("const FOUND = ").removesuffix(";\n"))
    names = {name: place for name, _, place in entries}
    assert names["ACORD, Table 3. Retrieval <i>"] == "tables/acord-table3.html"
    assert names[f"own {EVIL}"] in (
        "tables/acord-table3.html",
        "tables/acord-figure2.html",
    )
    assert names["acord, judgements"] == "data/acord.html#judgements"
    assert names["Run: read, bi+encoder, short, seed 1"] == f"{RUN}/seed1.html".replace(
        "+", "%2B"
    )
    assert len(entries) == len({tuple(entry) for entry in entries})


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
    words_of_it = shlex.split(
        commands.command(config.model_dump(mode="json"), "acord_table3")
    )
    assert (
        words_of_it[:3] == [snakemake_path(), "--cores", "4"]
        and words_of_it[-1] == "acord_table3"
    )
    keys = words_of_it[words_of_it.index("--config") + 1 : -2] if changed else []
    assert "False" not in " ".join(keys)  # config.yaml writes `false`
    assert (
        load_config(parse_config(keys) | {"papers": ["acord"]}, ["acord"], tmp_path)
        == config
    )


def test_every_command_of_the_site_starts_with_an_existing_program(
    results, monkeypatch
):
    # As after `make run`: the environment is a subfolder of the working directory.
    monkeypatch.chdir(Path(sys.executable).parents[2])
    count = 0
    for path, text in site.files(material(results)).items():
        for command in re.findall(
            r'class="command"><code>(.+?)</code>', text, re.DOTALL
        ):
            program = shlex.split(html.unescape(command))[0]
            if program not in ("import", "from"):  # Python code that loads a data set
                assert Path(program).is_file() and Path(program).name == "snakemake", (
                    path
                )
                count += 1
    assert count >= 10
    assert f"With datasets, after {snakemake_path()} --cores 4 publish" in said(
        site.files(material(results)), "data/acord.html"
    )


# The picture


def test_the_picture_has_one_mark_per_published_value_and_one_shape_per_outcome():
    cells = [
        Cell(str(n), "c", 1.0 if n < 30 else None, reason="no" * (n >= 30))
        for n in range(50)
    ]
    printed = [PublishedCell("t", cell.row, "c", "1.0", 1, "") for cell in cells]
    counts = wording.outcome_counts(build(printed, cells, True))
    assert {name: n for name, n in counts.items() if n} == {"match": 30, "not run": 20}
    drawn = wording.picture(counts)
    assert drawn.count("M") == 50
    assert 'viewBox="0 0 192 24"' in drawn and 'aria-hidden="true"' in drawn
    assert (
        len({wording.SHAPES[name] for name in ("match", "near", "off", "elsewhere")})
        == 4
    )
    assert wording.picture(wording.outcome_counts([])) == ""
    assert wording.counts_in_words(counts) == "30 match, 20 not run"
    assert (
        wording.counts_in_words(wording.outcome_counts([]))
        == "no published value to compare"
    )
    own = build([], [Cell("a", "c", 1.0), Cell("b", "c", None, reason="no")], True)
    assert wording.table_in_words(own) == "1 value in additional rows, none published"


def test_values_without_a_verdict_are_counted_by_the_kind_of_data():
    printed = [PublishedCell("t", "r", "c", "52.5", 1, "")]
    trained = Cell("r", "c", 52.5, seeds=(52.5,))
    assert wording.outcome_counts(build(printed, [trained], True))["unjudged"] == 1
    assert wording.outcome_counts(build(printed, [trained], False))["elsewhere"] == 1
    both = wording.summed(
        [
            wording.outcome_counts(build(printed, [trained], known))
            for known in (True, False)
        ]
    )
    assert sum(both.values()) == 2


# Rows that differ


def test_the_page_lists_groups_of_rows_that_do_not_differ(results, monkeypatch):
    pairs = [Pair("NDCG@5", "a", "b", 1.5, 0.5, 2.5, 0.01, 0.02, "57 queries", 3.0)]
    apart = [
        Pair(
            "NDCG@5",
            "a",
            EVIL,
            *[2.0] * 5,
            "57 queries and 9 queries",
            3.0,
            "scored on different units",
        )
    ]
    one = Comparison(
        "NDCG@5",
        "57 queries",
        ("a", "b", EVIL),
        (("a",), ("b", EVIL)),
        tuple(pairs),
        untested=tuple(apart),
    )
    few = [replace(pair, measure="prec@5", untested="too few units") for pair in pairs]
    rest = Comparison(
        "prec@5", "3 queries", ("a", "b"), (("a",), ("b",)), (), untested=tuple(few)
    )
    monkeypatch.setattr(
        tables, "comparisons", lambda exhibit: [one, rest] * (exhibit.name == "table3")
    )
    files = site.files(material(results))
    text = said(files, "tables/acord-table3.html")
    assert "NDCG@5, 57 queries A difference of 3.0 is detected with 80 % power." in text
    assert (
        f"Not tested against a in group 1 {EVIL} b in group 2 {EVIL} in group 2 a"
        in text
    )
    assert "prec@5, 3 queries Not tested: too few units." in text
    assert "Which rows differ" not in said(files, "tables/acord-table_c1.html")


def test_the_leaderboard_is_a_page_of_the_site(results):
    rows = (
        Row(f"best {EVIL}", "55.0", "50", "60", groups="1, 2", run="runs/m"),
        Row("theirs", "54.0"),
    )
    benchmark = Benchmark("acord", "ACORD", "table3", "NDCG@5", rows, "57 queries")
    stand_in = replace(
        benchmark,
        table="table9",
        data_note="stand_in data: not comparable with the paper",
    )
    found = material(results, leaderboard=[leaderboard.page([benchmark, stand_in], {})])
    site.write(results / "report", found)
    assert site_pages.faults(results / "report") == []
    files = site.files(found)
    board = said(files, "leaderboard.html")
    assert "NDCG@5, over 57 queries; a higher score is better." in board
    assert f"best {EVIL} 55.0 [50, 60] – 1, 2 –" in board
    assert "theirs 54.0 – – published, not run here –" in board
    left_out = "Not shown: ACORD, Table 9: NDCG@5 (stand_in data: not comparable with the paper)."
    assert left_out in board and board.count("Table 9") == 1
    assert '<a href="leaderboard.html">Leaderboard</a>' in files["index.html"]


# Wording


def test_a_variant_is_shown_with_its_note():
    source = SOURCE | {"variant": "rebuilt", "note": "made from the texts"}
    assert (
        wording.data_in_words("release", [source])
        == "the release (acord as the variant “rebuilt”)"
    )
    (sentence,) = wording.sources_in_words([source])
    assert "the variant “rebuilt”, 3,131,196 bytes" in sentence and sentence.endswith(
        "Made from the texts."
    )


def test_versions_shared_by_all_runs_come_first_in_one_line(results):
    run = "read, bi+encoder, short, seed"
    assert wording.versions(material(results).runs) == [
        ([("python", "3.11.2")], "All runs"),
        ([("torch", "2.13.0")], f"{run} 0; {run} 1"),
        ([("torch", "2.12.1")], f"{run} 2"),
    ]


# The results that the pages show


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(4.24, "4.2 s"), (59.97, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_are_rounded_to_readable_units(seconds, said):
    assert duration(seconds) == said


def test_a_part_contains_its_tables_tasks_and_compared_rows(results):
    pairs = [Pair("NDCG@5", "a", "b", 1.5, 0.5, 2.5, 0.01, 0.02, "57 queries", 3.0)]
    (results / "tables/acord/table3.comparison.csv").write_text(to_csv(pairs))
    part = material_of.read_part("acord", results / "acord.yaml", results)
    table3, table_c1, figure2 = part.exhibits
    assert (table3.name, figure2.name, part.tasks) == (
        "table3",
        "figure2",
        {"acord": "retrieval"},
    )
    assert table3.pairs == pairs
    assert list(table3.files) == ["csv", "md", "html", "comparison.csv"]
    assert not table_c1.pairs and list(figure2.files) == ["csv", "md", "html", "svg"]
    assert part.short == "ACORD"


def test_a_table_lists_the_sources_of_its_data_set(results):
    raw = yaml.safe_load((results / "acord.yaml").read_text())
    raw["tables"]["table_c1"]["of"] = "acord_parts"
    (results / "acord.yaml").write_text(yaml.safe_dump(raw))
    census = json.loads((results / "data/acord/census.json").read_text())
    parts = [
        dict(source, variant="partial", comparable=False)
        for source in census["sources"]
    ]
    (results / "data/acord_parts").mkdir()
    (results / "data/acord_parts/census.json").write_text(
        json.dumps(census | {"sources": parts})
    )
    part = material_of.read_part("acord", results / "acord.yaml", results)
    assert {
        exhibit.name: {source["variant"] for source in exhibit.sources}
        for exhibit in part.exhibits
    } == {"table3": {"release"}, "table_c1": {"partial"}, "figure2": {"release"}}
    (results / "data/acord_parts/census.json").unlink()
    part = material_of.read_part("acord", results / "acord.yaml", results, earlier=True)
    assert "table_c1" not in [exhibit.name for exhibit in part.exhibits]


def test_a_run_record_has_the_folder_weights_and_versions(results):
    run = material_of.read_run(results / f"{RUN}/seed2/run.json")
    assert (run.folder, run.name) == (f"{RUN}/seed2", "read, bi+encoder, short, seed 2")
    assert run.weights == "all-minilm-l6-v2 (package)"
    path = results / f"{RUN}/seed2/run.json"
    by = {"version": "0.1.0", "commit": "0123456789abcdef", "modified": True}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"lextables": by}))
    assert (
        material_of.read_run(path).versions["lextables"]
        == "0.1.0 (commit 0123456789, modified)"
    )


def test_tables_missing_from_an_earlier_run_are_ignored(results):
    (results / "tables/acord/table3.csv").unlink()
    (results / "tables/acord/figure2.svg").unlink()
    part = material_of.read_part("acord", results / "acord.yaml", results, earlier=True)
    assert [exhibit.name for exhibit in part.exhibits] == ["table_c1"]
    (results / "tables/acord/table_c1.csv").unlink()
    assert (
        material_of.read_part("acord", results / "acord.yaml", results, earlier=True)
        is None
    )


def test_left_over_lists_files_of_earlier_runs_with_their_digests(results):
    left = material_of.left_over(results, [str(results / "tables/acord/table3.csv")])
    assert {path.split("/")[0] for path in left} == {"data", "tables", "runs"}
    assert "tables/acord/table3.csv" not in left
    assert len([path for path in left if path.startswith("runs/")]) == 3
    assert (
        material_of.left_over(results, [str(results / "tables/acord/table3.csv")])
        == left
    )
    table = results / "tables/acord/table_c1.csv"
    table.write_text(table.read_text().replace("query 7", "query seven"))
    changed = material_of.left_over(results, [])
    assert {path for path in left if changed[path] != left[path]} == {
        "tables/acord/table_c1.csv"
    }
