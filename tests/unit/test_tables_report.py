"""The report: every section, links that hold, and no need of a network."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lextables.tables import report
from lextables.tables.cells import Cell, build, to_csv
from lextables.tables.figures import draw
from lextables.tables.published import PublishedCell

REGISTRY = """
title: "ACORD: a data set"
citation: "Wang et al., 2025."
source: acord
tables:
  table3: {title: Retrieval <i>, where: Section 4.2, notes: [Precision as printed.]}
  table_c1: {title: Queries, where: Section C.3}
  figure2: {title: Before and after, where: Section 4.2, kind: bars_before_after}
"""
SOURCE = {
    "source": "acord", "file": "ACORD.zip", "variant": "release", "comparable": True, "digest": "sha256:0",
    "bytes": 3131196, "obtained_from": "https://example.org/ACORD.zip", "licence": "CC BY 4.0", "note": "",
}  # fmt: skip
CENSUS = {"rows": 1593, "labels": {"split": {"test": 761, "train": 832}}, "rows_sha256": "9c3a7798253201"}
DRAWING = draw("bars_before_after", [], "Before and after")
VERSIONS = {"python": "3.11.2", "torch": "2.13.0"}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    (tmp_path / "acord.yaml").write_text(REGISTRY)
    _write_results(tmp_path, SOURCE)
    return tmp_path


def _write_results(root: Path, source: dict) -> None:
    data, tables = root / "data/acord", root / "tables/acord"
    data.mkdir(parents=True, exist_ok=True)
    tables.mkdir(parents=True, exist_ok=True)
    record = {"data": {"judgements": CENSUS}, "sources": [source], "notes": {"ratings_left_out": 3}}
    (data / "census.json").write_text(json.dumps(record))
    comparable = source["comparable"]
    for name in ("table3", "figure2"):
        row, columns = "BM25 / MiniLM / fine-tuned", ("NDCG@5", "NDCG@10")
        printed = [PublishedCell(name, row, column, "52.5", 1, "") for column in columns]
        cells = [Cell(row, "NDCG@5", 52.5), Cell(row, "NDCG@10", None, reason="<script>no weights</script>")]
        lines = build(printed, cells, comparable)
        (tables / f"{name}.csv").write_text(to_csv(lines))
    (tables / "figure2.svg").write_text(DRAWING)
    printed = [PublishedCell("table_c1", str(n), "Query", f"query {n}", None, "") for n in range(40)]
    lines = build(printed, [Cell(c.row, c.column, c.value) for c in printed], comparable)
    (tables / "table_c1.csv").write_text(to_csv(lines))
    for k, torch in enumerate(("2.13.0", "2.13.0", "2.12.1")):
        folder = root / f"runs/acord/retrieve/bi-encoder/short/seed{k}"
        folder.mkdir(parents=True, exist_ok=True)
        record = {
            "settings": {"model": "all-minilm-l6-v2", "found": "package"}, "device": "H100",
            "seconds": 200.0 + k, "peak_memory_mib": 1000 + k, "libraries": VERSIONS | {"torch": torch},
        }  # fmt: skip
        (folder / "run.json").write_text(json.dumps(record))


def _report(root: Path, data: str = "release", made_by: str = "", models: str = "available") -> str:
    part = report.read_part("acord", root / "acord.yaml", root)
    runs = [report.read_run(path) for path in sorted(root.glob("runs/**/run.json"))]
    return report.page({"data": data, "models": models}, [part], runs, made_by)


class Links(HTMLParser):
    """The ids of a page, and what its attributes point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.resources: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif tag == "a" and name == "href":
                self.targets.append(value)
            elif name in ("src", "srcset", "href", "xlink:href", "data", "action"):
                self.resources.append(value)

    def handle_data(self, data):
        self.words += f" {data}"


def test_the_report_needs_no_network_and_no_script(results):
    text = _report(results)
    links = Links(text)
    assert [target for target in links.resources if not target.startswith("#")] == []
    assert not re.search(r"url\((?!#)|@import|<script|<link|<img|<iframe", text)
    assert [target for target in links.targets if ":" in target or target.startswith("//")] == []


def test_every_link_holds(results):
    links = Links(_report(results))
    inner = {target[1:] for target in links.targets if target.startswith("#")}
    assert inner <= set(links.ids)
    assert {"acord", "acord-table3", "acord-figure2", "runs"} <= inner
    assert len(links.ids) == len(set(links.ids))
    outer = {target for target in links.targets if not target.startswith("#")}
    kinds = {"table3": ("csv", "md", "html"), "figure2": ("csv", "md", "html", "svg")}
    for name, files in kinds.items():
        assert {f"../tables/acord/{name}.{kind}" for kind in files} <= outer
    assert "../tables/acord/table3.svg" not in outer


def test_every_section_is_there(results):
    words = " ".join(Links(_report(results)).words.split())
    for said in (
        "sets what one paper printed beside what this pipeline made again",
        "The data are the release (acord as published)",
        "those that this machine has: all-minilm-l6-v2",
        "ACORD: a data set", "Wang et al., 2025.", "1,593", "split: test (761), train (832)",
        "acord/ACORD.zip: as published, 3,131,196 bytes from https://example.org/ACORD.zip; CC BY 4.0.",
        "Ratings left out: 3.", "Table 3. Retrieval <i>", "Section 4.2", "Precision as printed.",
        "All 40 rows", "Figure 2. Before and after", "The values of this figure",
        "What ran, on what, how long", "3 runs on H100: the longest took 3 min 22 s, the largest 1,002 MiB.",
        "retrieve, bi-encoder", "all-minilm-l6-v2 (package)", "3 min 20 s", "H100",
    ):  # fmt: skip
        assert said in words


def test_a_model_that_another_stands_in_for_is_named_with_it(results):
    words = " ".join(Links(_report(results, "sample", models="sample")).words.split())
    assert "the small panel that the environment holds: all-minilm-l6-v2 (package)" in words


def test_what_ran_has_the_runs_of_a_papers_second_task(results):
    folder = results / "runs/acord_extraction/joined/roberta/full/seed0"
    folder.mkdir(parents=True)
    record = json.loads((results / "runs/acord/retrieve/bi-encoder/short/seed0/run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"seconds": 7200.0}))
    words = " ".join(Links(_report(results)).words.split()).split("What ran, on what, how long")[1]
    own, extraction = words.split("ACORD, extraction")
    assert "3 runs on H100" in own and "joined, roberta full" not in own
    assert "on H100: the longest took 2 h" in extraction and "joined, roberta full 0" in extraction


def test_the_summary_adds_up(results):
    section = _report(results).split("<h2>Summary</h2>")[1].split("</section>")[0]
    rows = [re.findall(r"<td[^>]*>(\d+)</td>", row) for row in section.split("<tr")[2:]]
    table3, table_c1, figure2 = (
        ["1", "0", "0", "1", "0"],
        ["40", "0", "0", "0", "0"],
        ["1", "0", "0", "1", "0"],
    )
    assert rows == [["42", "0", "0", "2", "0"], table3, table_c1, figure2]


def test_sample_data_are_named_as_such(results):
    _write_results(results, SOURCE | {"variant": "sample", "comparable": False})
    words = " ".join(Links(_report(results, "sample")).words.split())
    assert "The data are the sample written for this project, which says nothing about any paper" in words
    assert "Sample data: not comparable with the paper." in words
    assert "✓" not in words


def test_a_variant_is_named_with_its_note(results):
    _write_results(results, SOURCE | {"variant": "rebuilt", "note": "made from the texts"})
    words = " ".join(Links(_report(results)).words.split())
    assert "the release (acord as the variant “rebuilt”)" in words
    assert "the variant “rebuilt”, 3,131,196 bytes" in words
    assert "Made from the texts." in words


def test_many_files_of_one_source_take_one_line():
    files = [SOURCE | {"file": f"{n}.zip", "bytes": 10, "obtained_from": "mirror"} for n in range(3)]
    assert report._sources(files) == [
        "acord, 3 files: as published, 30 bytes from a mirror folder; CC BY 4.0."
    ]


def test_versions_that_all_share_come_first_and_in_one_line(results):
    runs = [report.read_run(path) for path in sorted(results.glob("runs/**/run.json"))]
    run = "retrieve, bi-encoder, short, seed"
    assert report.versions(runs) == [
        ([("python", "3.11.2")], "All runs"),
        ([("torch", "2.13.0")], f"{run} 0; {run} 1"),
        ([("torch", "2.12.1")], f"{run} 2"),
    ]


def test_the_version_and_the_commit_are_named(results):
    path = results / "runs/acord/retrieve/bi-encoder/short/seed0/run.json"
    by = {"version": "0.1.0", "commit": "0123456789abcdef", "modified": True}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"lextables": by}))
    text = " ".join(Links(_report(results, made_by="0.2.0")).words.split())
    assert "This page was made by lextables 0.2.0." in text
    # The two runs of before this was recorded have none.
    assert "retrieve, bi-encoder, short, seed 0: lextables 0.1.0 (commit 0123456789, modified)." in text


def test_devices_that_differ_have_a_column(results):
    assert ">Device<" not in _report(results)
    path = results / "runs/acord/retrieve/bi-encoder/short/seed2/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"device": "A processor"}))
    text = _report(results)
    assert ">Device<" in text
    assert "A processor" in text
    assert "3 runs: the longest" in text


def test_predictions_that_were_given_say_from_where_and_no_time(results):
    path = results / "runs/acord/retrieve/bi-encoder/short/seed2/run.json"
    given = {"settings": {"content": f"sha256:{'0123456789ab' * 5}", "form": "trec"}, "device": "not known"}
    given |= {"given": {"file": "<run>.txt"}, "seconds": 900.0, "peak_memory_mib": 9000}
    path.write_text(json.dumps(json.loads(path.read_text()) | given))
    text = _report(results)
    assert "predictions given in &lt;run&gt;.txt (sha256:0123456789ab)" in text
    assert text.count("<td>not known</td>") == 2
    assert "3 runs (1 given) on H100: the longest took 3 min 21 s, the largest 1,001 MiB." in text
    for other in results.glob("runs/**/run.json"):
        other.write_bytes(path.read_bytes())
    assert "<p>3 runs (3 given).</p>" in _report(results)


@pytest.mark.parametrize(
    ("seconds", "said"), [(4.24, "4.2 s"), (59.97, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations_are_read_at_a_glance(seconds, said):
    assert report.duration(seconds) == said


def test_the_same_results_give_the_same_page(results):
    assert _report(results) == _report(results)


def test_what_an_earlier_run_left_is_shown_as_its(results):
    part = report.read_part("acord", results / "acord.yaml", results, earlier=True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", part.earlier)
    config = {"data": "release", "models": "available"}
    assert f"Left by an earlier run (last written on {part.earlier})" in report.page(config, [part], [])
    assert "Left by an earlier run" not in _report(results)


def test_an_earlier_run_may_have_left_some_tables_or_none(results):
    (results / "tables/acord/table3.csv").unlink()
    (results / "tables/acord/figure2.svg").unlink()
    part = report.read_part("acord", results / "acord.yaml", results, earlier=True)
    assert [exhibit.name for exhibit in part.exhibits] == ["table_c1"]
    (results / "tables/acord/table_c1.csv").unlink()
    assert report.read_part("acord", results / "acord.yaml", results, earlier=True) is None


def test_left_over_is_what_was_not_made_and_changes_with_its_content(results):
    left = report.left_over(results, [str(results / "tables/acord/table3.csv")])
    assert {path.split("/")[0] for path in left} == {"data", "tables", "runs"}
    assert "tables/acord/table3.csv" not in left
    assert len([path for path in left if path.startswith("runs/")]) == 3
    assert report.left_over(results, [str(results / "tables/acord/table3.csv")]) == left
    table = results / "tables/acord/table_c1.csv"
    table.write_text(table.read_text().replace("query 7", "query seven"))
    changed = report.left_over(results, [])
    assert {path for path in left if changed[path] != left[path]} == {"tables/acord/table_c1.csv"}


def test_runs_of_every_task_are_among_what_ran(results):
    for task in ("acord_extraction", "ledgar"):
        folder = results / f"runs/{task}/joined/minilm/small/seed0"
        folder.mkdir(parents=True)
        (folder / "run.json").write_bytes(
            (results / "runs/acord/retrieve/bi-encoder/short/seed0/run.json").read_bytes()
        )
    part = report.read_part("acord", results / "acord.yaml", results)
    runs = [
        report.read_run(path, earlier="ledgar" in str(path))
        for path in sorted(results.glob("runs/**/run.json"))
    ]
    text = report.what_ran([part], runs)
    assert re.findall("<h3>(.*)</h3>", text) == ["ACORD", "ACORD, extraction", "ledgar"]
    assert text.count("(earlier)") == 1
    assert "1 runs (1 left by earlier runs) on H100" in text
