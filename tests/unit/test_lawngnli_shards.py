"""LawngNLI built from the sample's volumes: labels, premises, twins, and equal files
for any shards.
"""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from helpers.opinion_rows import encode, long_premise
from lextables.corpora.caselaw.ingest import write_opinions
from lextables.papers.lawngnli.citations.candidates import write_candidates
from lextables.papers.lawngnli.citations.case_index import CaseIndex, build_case_index
from lextables.papers.lawngnli.citations.resolution import tokenizer
from lextables.papers.lawngnli.dataset import examples as built
from lextables.papers.lawngnli.dataset.labels import LABELS, assign_labels
from lextables.papers.lawngnli.hypotheses.accuracy import tokens_of
from lextables.papers.lawngnli.hypotheses.contradictions import write_contradictions
from lextables.papers.lawngnli.hypotheses.difficulty import (
    bigram_overlap,
    difficulty_fault,
)
from lextables.papers.lawngnli.hypotheses.parsers import parser
from lextables.papers.lawngnli.premises.entail_examples import (
    MajorityOpinions,
    write_parentheticals,
)
from lextables.papers.lawngnli.premises.long_premises import (
    LONG_PREMISES,
    by_shard,
    cited_cases,
    write_long_premises,
)
from lextables.papers.lawngnli.premises.neutralization import CitationNetwork, pairs_of
from lextables.pipeline import dataset

SETTINGS = built.ExampleSettings(seed=0)
VOLUMES = sorted(
    (Path(__file__).parents[2] / "resources/sample/caselaw").glob("*/*.zip")
)


def build(folder: Path, size: int, tools) -> tuple[dict[str, int], dict[str, bytes]]:
    """Run every step with ``size`` volumes per shard; return the final counts and
    files.
    """
    tokens, pipeline, trees = tools
    cuts = [VOLUMES[at : at + size] for at in range(0, len(VOLUMES), size)]
    opinions = [folder / f"opinions-{n}.parquet" for n in range(len(cuts))]
    for volumes, path in zip(cuts, opinions, strict=True):
        write_opinions(volumes, path, skip_unreadable=False)
    build_case_index(opinions, folder / "index")
    index = CaseIndex(folder / "index")
    majorities = MajorityOpinions(opinions)
    shards = []
    for n, path in enumerate(opinions):
        shard = shard_of(folder, n)
        found = folder / f"can-{n}.parquet"
        write_candidates(path, index, tokens, found, shard.cites)
        write_parentheticals(found, index, majorities, pipeline, shard.parentheticals)
        write_contradictions(shard.parentheticals, trees, 0, shard.contradictions)
        shards.append(shard)
    contradicted = [shard.contradictions for shard in shards]
    cases = cited_cases(contradicted, [shard.parentheticals for shard in shards])
    for n, places in enumerate(by_shard(cases, index)):
        write_long_premises(places, opinions[n], shards[n].long_premises)
    files = [folder / name for name in ("examples", "long_premises", "unfiltered")]
    counts = built.write_examples(shards, encode, SETTINGS, *files[:2])
    built.write_unfiltered(shards, files[2])
    return counts, {path.name: path.read_bytes() for path in files}


def shard_of(folder: Path, n: int) -> built.Shard:
    names = ("par", "con", "cites", "long")
    return built.Shard(*[folder / f"{name}-{n}.parquet" for name in names])


@pytest.fixture(scope="module")
def tools():
    return tokenizer(), tokens_of(), parser("dependencies")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, tools):
    """Return the folder, counts and files of the data set built from one shard."""
    folder = tmp_path_factory.mktemp("finished")
    return folder, *build(folder, len(VOLUMES), tools)


@pytest.fixture(scope="module")
def rows(finished) -> list[dict]:
    return list(dataset.read(finished[0] / "examples"))


def test_the_number_of_shards_does_not_change_the_files(
    tmp_path: Path, tools, finished, monkeypatch
) -> None:
    monkeypatch.setattr(built, "BATCH", 7)
    counts, files = build(tmp_path, 1, tools)
    assert (counts, files) == finished[1:]
    assert counts[built.TWINNED] == 2 * counts[built.BALANCED] > 100
    assert all(files.values())


def test_volumes_under_two_numbers_in_two_shards_do_not_change_the_files(
    tmp_path: Path, tools, finished, monkeypatch
) -> None:
    copies = []
    for n, volume in enumerate(VOLUMES):
        copies.append(Path(shutil.copy(volume, tmp_path / f"{n}.zip")))
    monkeypatch.setitem(globals(), "VOLUMES", [*VOLUMES, *copies])
    assert build(tmp_path, len(copies), tools) == finished[1:]


def test_a_citing_state_has_all_labels_and_premises_of_cited_jurisdictions(
    rows,
) -> None:
    of_the_state = [row for row in rows if row["citing_jurisdiction"] == "Illinois"]
    cited = {row["cited_jurisdiction"] for row in of_the_state}
    assert cited == {"Illinois", "United States"}
    assert {row["label"] for row in of_the_state} == {*LABELS}


def test_labels_and_negation_are_balanced_with_twins(rows) -> None:
    kinds = Counter((row["label"], row["negated"]) for row in rows)
    assert len(kinds) == 6 and len(set(kinds.values())) == 1
    same = ("example_id", "split", "short_premise", "premise_example_id")
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert (first["is_twin"], second["is_twin"]) == (False, True)
        assert [first[name] for name in same] == [second[name] for name in same]


def test_only_neutral_premises_come_from_other_cases_of_the_same_jurisdiction(
    finished, rows
) -> None:
    folder = finished[0]
    originals = {row["example_id"]: row for row in dataset.read(folder / "unfiltered")}
    citing = {row["citing_case_id"] for row in rows}
    network = CitationNetwork(pairs_of(citing, [folder / "cites-0.parquet"]))
    assert {row["label"] for row in rows} == {*LABELS}
    for row in rows:
        before = originals[row["example_id"]]
        source = originals[row["premise_example_id"]]
        for name in ("cited_case_id", "pages", "premise_end", "premise_spans"):
            assert row[name] == source[name]
        assert row["short_premise_original"] == source["short_premise"]
        cited = row["cited_case_id"]
        if row["label"] != "neutral":
            assert source == before
            is_changed = row["label"] == "contradict"
            assert row["hypothesis"] == before[("hypothesis", "twin")[is_changed]]
            continue
        assert cited not in (
            before["cited_case_id"],
            *network.neighbours(row["citing_case_id"]),
        )
        assert row["cited_jurisdiction"] == before["cited_jurisdiction"]
        if not row["is_twin"]:
            assert bigram_overlap(row["hypothesis"], source["short_premise"]) < 0.5


def test_long_premises_are_sorted_by_case_and_files_are_opened_when_needed(
    tmp_path: Path, monkeypatch
) -> None:
    row = long_premise(1, "t")
    held = {"late": [20, 21], "none": [], "early": [1, 4, 9], "inside": [2, 3]}
    for name, cases in held.items():
        held_rows = [row | {"case_id": case} for case in cases]
        dataset.write(LONG_PREMISES, held_rows, tmp_path / name)
    opened = []

    def read(path, columns=None):
        if columns is None:
            opened.append(path.name)
        yield from reading(path, columns)

    reading = dataset.read
    monkeypatch.setattr(dataset, "read", read)
    found = built.long_premises_of(
        {1, 3, 4, 21, 99}, [built.Shard("", "", "", tmp_path / name) for name in held]
    )
    assert next(found) == row | {"case_id": 1}
    assert opened == ["early"]
    assert [next(found)["case_id"] for _ in range(2)] == [3, 4]
    assert opened == ["early", "inside"]
    assert [row["case_id"] for row in found] == [21]
    assert opened == ["early", "inside", "late"]


def test_hypotheses_that_are_too_easy_after_conversion_are_removed(
    tmp_path: Path, finished, monkeypatch
) -> None:
    folder, counts, _ = finished
    shard = shard_of(folder, 0)
    rows = {row["example_id"]: row for row in built.entail_rows([shard])}
    labels = assign_labels(rows.values(), 0)
    converted = [
        row
        for row in rows.values()
        if labels[row["example_id"]] == "contradict"
        and not difficulty_fault(row["twin"], row["short_premise"])
    ]
    # A.1.6 requires four words: "fees are not due" has four, "fees are due" has three.
    converted[0] |= {"hypothesis": "fees are not due", "twin": "fees are due"}
    monkeypatch.setattr(
        built, "entail_rows", lambda shards, columns=None: rows.values()
    )
    again = tmp_path / "again"
    after = built.write_examples([shard], encode, SETTINGS, again, tmp_path / "long")
    assert after[built.CONVERTED] == counts[built.CONVERTED] - 1
    left = {row["example_id"] for row in dataset.read(again)}
    assert converted[0]["example_id"] not in left
