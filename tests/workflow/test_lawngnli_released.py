"""The released LawngNLI, built from its ID file and the volumes of a mirror."""

import csv
import json

import pytest

from helpers import forked
from helpers.caselaw_volume import bulk_row, metadata, write_bulk, write_zip
from helpers.released_files import CITED, CITING, DISSENT, body, twin_rows, write_ids

CENSUS = "results/data/lawngnli/census.json"
TABLE = "results/tables/lawngnli/table2.csv"
PAIRS = "results/data/lawngnli_nli/census.json"
TRAINING = "results/runs/lawngnli_nli/train/overlap/linear-short/seed0/run.json"
TARGETS = (TABLE, TRAINING)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A mirror with volumes 1 to 3 and an ID file with 24 pairs, which use no case of
    volume 3.
    """
    folder = tmp_path_factory.mktemp("released")
    cited = body(CITED)
    citing = body(CITING, DISSENT)
    # {volume: {case: its body}}; case 1 is cited by case 2, and case 3 by case 4.
    volumes = {
        "1": dict.fromkeys((1, 3), cited),
        "2": dict.fromkeys((2, 4), citing),
        "3": {9: cited},
    }
    (folder / "mirror/caselaw/us").mkdir(parents=True)
    for name, bodies in volumes.items():
        cases = {}
        for number, html in bodies.items():
            cases[str(number)] = (metadata(number), html)
        write_zip(folder / f"mirror/caselaw/us/{name}.zip", cases)
    rows = []
    for split in ("train", "train", "val", "test"):
        for label, pages in enumerate((["11"], ["12"], ["11", "12"])):
            for cited_case in (1, 3):
                changes = {
                    "caseid": cited_case + 1,
                    "cited_case": cited_case,
                    "cited_pages": frozenset(pages),
                    "split": split,
                }
                rows += twin_rows(10 * len(rows), label, **changes)
    # A pair whose citing case is in no volume.
    rows += twin_rows(9000, caseid=77, split="test")
    write_ids(folder / "mirror/lawngnli_ids/LawngNLI_minus_case_text.xz", rows)
    return folder


def run(folder, *words, **config):
    config = {
        "data": "release",
        "mirror": folder / "mirror",
        "papers": "[lawngnli]",
        "parser": "dependencies",
        "models": "available",
        "caselaw": "us:1-3",
        "lawngnli_data": "released",
    } | config
    values = [f"{key}={value}" for key, value in config.items()]
    return forked.pipeline(folder, *words, "--config", *values)


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {(row["row"], row["column"]): row for row in csv.DictReader(file)}


def test_a_table_and_a_training_of_the_released_data_set(folder, tmp_path):
    done = run(folder, *TARGETS)
    assert done.code == 0, done.output[-4000:]
    census = json.loads((folder / CENSUS).read_text())
    assert census["data"]["examples"]["rows"] == 48
    assert census["left_out"] == {"the citing case is not found: citing_case_id": [77]}
    assert "2 rows: the citing case is not found" in census["differences"]
    assert "hypotheses contradicted over spaCy's dependencies" in census["differences"]
    for source in census["sources"]:
        assert source["variant"] == "incomplete release"
        assert not source["comparable"]

    # Volume 3 has no case of the ID file and is not fetched.
    shard = folder / "results/sources/caselaw/released-us-1.json"
    record = json.loads(shard.read_text())
    assert record["without"] == ["us/3"]
    assert not (folder / "results/sources/caselaw/us/3.zip").exists()

    table2 = rows_of(folder / TABLE)
    count = table2["LawngNLI / Training examples", "Long premises / Full"]
    assert (count["published"], count["ours"]) == ("128520", "24")
    assert count["reproduced"] == count["verdict"] == ""
    hypotheses = "LawngNLI / Unique training hypotheses"
    assert table2[hypotheses, "Short premises / Full"]["ours"] == "2"

    pairs = json.loads((folder / PAIRS).read_text())
    assert pairs["data"]["examples"]["labels"]["head_id"]["nli"] == 48
    training = json.loads((folder / TRAINING).read_text())
    assert training["not_run"] == "12 test examples, fewer than 100"
    assert "Nothing to be done" in run(folder, "-n", *TARGETS).output

    # The built data set has other shards; the finished files belong to the released one
    # and are rebuilt.
    jobs = run(folder, "-n", *TARGETS, lawngnli_data="built").output
    assert "\nlawngnli_examples " in jobs
    assert "\nlawngnli_released " not in jobs
    assert "results/sources/caselaw/us-1.json" in jobs

    # The bulk export gives the same examples, and all opinions for the retrieval pools.
    rows = [bulk_row(number, "") for number in (1, 2, 3, 4, 9)]
    for row in rows:
        opinions = (CITED,) if row["id"] % 2 else (CITING, DISSENT)
        row["casebody"]["data"] = body(*opinions, markup="xml")
    write_bulk(tmp_path / "us.jsonl.xz", rows)
    done = run(tmp_path, CENSUS, mirror=folder / "mirror", bulk_export=tmp_path)
    assert done.code == 0, done.output[-4000:]
    exported = json.loads((tmp_path / CENSUS).read_text())
    assert exported["data"]["examples"] == census["data"]["examples"]
    assert exported["whole_collection"]
    assert not census["whole_collection"]
