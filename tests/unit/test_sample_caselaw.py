"""The sample of case law: that it is what its script makes, and that it gives what it was written to give."""

import hashlib
import io
import json
import os
import re
import runpy
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from eyecite.tokenizers import default_tokenizer

from lextables import dataset
from lextables.caselaw.ingest import write_opinions
from lextables.caselaw.opinion import Fault, Opinion
from lextables.caselaw.volume import read_volume
from lextables.lawngnli import candidates
from lextables.lawngnli import entail_examples as steps
from lextables.lawngnli.accuracy import tokens_of
from lextables.lawngnli.balance import balance
from lextables.lawngnli.candidates import write_candidates
from lextables.lawngnli.case_index import CaseIndex, build_case_index
from lextables.lawngnli.citation_network import CitationNetwork
from lextables.lawngnli.contradiction import Contradiction, contradict
from lextables.lawngnli.difficulty import OVERLAP, QUOTATION, SHORT, difficulty_fault, words
from lextables.lawngnli.entail_examples import write_parentheticals
from lextables.lawngnli.labels import assign_labels, labelled
from lextables.lawngnli.majority_opinions import MajorityOpinions
from lextables.lawngnli.neutralization import (
    PREMISE_FIELDS,
    chosen_premises,
    neutral_premises,
    neutralized,
)
from lextables.lawngnli.parentheticals import read_parentheticals
from lextables.lawngnli.parsers import parser
from lextables.sources.registry import load

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "resources" / "sample"
VOLUMES = (901, 902, 903, 904)
STATE = "ill/901.zip"
FILES = (*(f"us/{volume}.zip" for volume in VOLUMES), STATE)
REAL = ROOT.joinpath(os.environ.get("LEXTABLES_MIRROR", "../shared/mirror"), "caselaw", "us", "436.zip")

# The parentheticals written to be dropped, and the step that drops each.
DROPPED = {
    "a tow is not part of the cargo": candidates.RESOLVED,
    "the sea is open to all": candidates.RESOLVED,
    "attestation needs no set phrase": steps.PINCITE,
    "the deed is due in sixty days": steps.PINCITE,
    "the plan was published": steps.PAGES,
    "a vessel's owner warrants that she is sound": steps.MAJORITY,
    "one spring test did not prove freedom from fault": steps.MAJORITY,
    "a silent crowd may still be threatening": steps.PREMISE,
    "unlimited power over speakers is invalid": steps.PREMISE,
    "the line must warn travelers of dangers that its crew has discovered": steps.PARTIES,
    "a condition on a ticket does not free the carrier from liability for neglect": steps.PARTIES,
    "the jury may not consider the strip in isolation": steps.HISTORY,
    "the mistake was not harmless": steps.HISTORY,
    "emphasis added": steps.METADATA,
    "per curiam": steps.METADATA,
    "citations omitted": steps.METADATA,
    "quoting Orrin v. Tillbury Ferry Co., 901 U.S. 104, 106 (1961)": steps.METADATA,
    "the gate must be kept free": steps.MORE_METADATA,
    "denying that a schedule can take the place of the whistle": steps.VERB,
    'a statement must be the "free act" of the speaker': QUOTATION,
    'the "just man" may not be trusted with the power': QUOTATION,
    "knowledge required": SHORT,
    "no view expressed": SHORT,
    "a clerk who misreads a scale has made a blunder and no offense": OVERLAP,
    "a seller who watches the barn go up may not afterwards shelter": OVERLAP,
    "a payment that comes late without interest is not sufficient": OVERLAP,
}
FUNNEL = (*candidates.FUNNEL, *steps.FUNNEL)
NEVER_CLOSED = "(the form did not explain which goods were meant."
KEPT = 130  # pass every filter
# Of those the contradiction algorithm refuses at least these, which are no clauses.
NO_CLAUSE = {
    "upholding the fine of a skilled master",
    "distinguishing repairs from abandonment",
    "requiring the return of charges paid under protest",
}


@pytest.fixture(scope="module")
def remade() -> dict[str, bytes]:
    # Not an import: the script stands outside the package, and this leaves no __pycache__ beside the data.
    return runpy.run_path(str(SAMPLE / "make_caselaw.py"))["build"]()


def _entries(path: Path | io.BytesIO) -> list[tuple[str, tuple, bytes]]:
    with zipfile.ZipFile(path) as archive:
        return [(entry.filename, entry.date_time, archive.read(entry)) for entry in archive.infolist()]


def test_remaking_gives_the_same_files(remade):
    assert tuple(remade) == FILES
    for name, made in remade.items():
        assert _entries(io.BytesIO(made)) == _entries(SAMPLE / "caselaw" / name)


@pytest.mark.skipif("ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng deflates to other bytes than zlib")
def test_remaking_gives_the_same_bytes(remade):
    for name, made in remade.items():
        assert made == (SAMPLE / "caselaw" / name).read_bytes(), name


def test_the_registry_has_the_digests_of_the_volumes():
    variant = (
        load(ROOT / "resources/sources.yaml")["caselaw"].files["{reporter}/{volume}.zip"].variants["sample"]
    )
    assert not variant.comparable
    assert variant.digests == {
        name: f"sha256:{hashlib.sha256((SAMPLE / 'caselaw' / name).read_bytes()).hexdigest()}"
        for name in FILES
    }


def test_the_zips_are_small_sorted_and_without_a_clock():
    files = [path for path in (SAMPLE / "caselaw").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 200_000
    for name in FILES:
        entries = _entries(SAMPLE / "caselaw" / name)
        names = [entry for entry, _, _ in entries]
        cases = [f"{first:04}-01" for first in _first_pages(name)]
        assert names == sorted(names)
        assert names == [
            *(f"html/{case}.html" for case in cases),
            *(f"json/{case}.json" for case in cases),
            "metadata/CasesMetadata.json",
            "metadata/VolumeMetadata.json",
        ]
        assert {time for _, time, _ in entries} == {(2025, 1, 15, 0, 0, 0)}


def _first_pages(name: str) -> list[int]:
    return sorted(int(case["first_page"]) for case in _json(SAMPLE / "caselaw" / name, "CasesMetadata"))


def _json(path: Path, name: str):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(f"metadata/{name}.json"))


@pytest.fixture(scope="module")
def read() -> list[tuple[str, Opinion | Fault]]:
    return [(name, item) for name in FILES for item in read_volume(SAMPLE / "caselaw" / name)]


@pytest.fixture(scope="module")
def opinions(read) -> list[Opinion]:
    return [item for _, item in read if isinstance(item, Opinion)]


def test_the_volumes_are_read_with_the_one_fault_that_was_planned(read):
    assert [str(item) for _, item in read if isinstance(item, Fault)] == [
        "904.zip, html/0404-01.html: it has 2 majority opinions, so none serves as a premise; "
        "the rest is kept."
    ]


def test_opinions(opinions):
    assert Counter(opinion.opinion_type for opinion in opinions) == {"majority": 47, "dissent": 1}
    cases = Counter((o.reporter, o.volume, o.jurisdiction) for o in opinions if o.position == 0)
    federal = {("U.S.", str(volume), "United States"): 10 for volume in VOLUMES}
    assert cases == federal | {("Ill.", "901", "Illinois"): 6}
    assert {len(o.citations) for o in opinions} == {1, 2}
    by_case = {o.case_id: [] for o in opinions}
    for opinion in opinions:
        by_case[opinion.case_id].append(opinion)
        assert opinion.author.startswith("JUSTICE "), opinion.opinion_id
        assert opinion.text.startswith(opinion.author + "\n")
    for case in by_case.values():
        lengths = sum(len(opinion.text.split()) for opinion in case)
        assert 150 <= lengths <= 500, (case[0].name, lengths)
        labels = [int(page.label) for opinion in case for page in opinion.pages]
        assert sorted(set(labels)) == list(range(int(case[0].first_page), int(case[0].last_page) + 1))
        assert 3 <= len(set(labels)) <= 4
        assert sum(opinion.text.count("\n") for opinion in case) >= 4


def test_html_and_json_say_the_same(opinions):
    by_file: dict[tuple[str, str], list[str]] = {}
    for o in opinions:
        volume = f"{o.reporter.lower().replace('.', '')}/{o.volume}.zip"
        by_file.setdefault((volume, f"{int(o.first_page):04}-01"), []).append(o.text)
    for (volume, name), texts in by_file.items():
        with zipfile.ZipFile(SAMPLE / "caselaw" / volume) as archive:
            body = json.loads(archive.read(f"json/{name}.json"))["casebody"]
        assert [opinion["text"] for opinion in body["opinions"]] == texts


def test_citations_are_to_the_pages_and_years_of_earlier_cases(opinions):
    cases = {o.citations[0]: o for o in opinions}
    full = re.compile(
        r"(90[1-4] (?:U\.S|Ill)\. \d+)(?:, (\d+[a-z]?)(?:–(\d+))?(?:, 40\d S\. Ct\. \d+, \d+)?)? \((\d{4})\)"
    )
    found = Counter()
    for opinion in opinions:
        for match in full.finditer(opinion.text):
            citation, first, _, year = match.groups()
            if citation in ("902 U.S. 998", "902 U.S. 999"):  # the flags "cert. denied" and "aff'd"
                continue
            cited = cases[citation]
            assert opinion.text[: match.start()].endswith(f"{cited.name_abbreviation}, "), match[0]
            assert cited.date[:4] == year, match[0]
            assert (cited.date, cited.case_id) < (opinion.date, opinion.case_id), match[0]
            if first and first.isdecimal():
                assert int(cited.first_page) <= int(first) <= int(cited.last_page), match[0]
            found[cited.name] += 1
    assert sum(found.values()) > 110
    assert len(found) > 30


# From the opinions to examples.


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[list, list[dict], list[dict], list[dict]]:
    """The outcomes, candidates, pairs of cases and parentheticals of the five volumes."""
    folder = tmp_path_factory.mktemp("caselaw")
    shards = [folder / f"{name.replace('/', '-')}.parquet" for name in FILES]
    for name, shard in zip(FILES, shards, strict=True):
        write_opinions([SAMPLE / "caselaw" / name], shard, set_aside=False)
    build_case_index(shards, folder / "index")
    index, majorities, pipeline = CaseIndex(folder / "index"), MajorityOpinions(shards), tokens_of()
    outcomes, tables = [], ([], [], [])
    for shard in shards:
        paths = [folder / f"{shard.stem}.{name}" for name in ("candidates", "cites", "parentheticals")]
        outcomes.append(write_candidates(shard, index, default_tokenizer, paths[0], paths[1]))
        outcomes.append(write_parentheticals(paths[0], index, majorities, pipeline, paths[2]))
        for table, path in zip(tables, paths, strict=True):
            table.extend(dataset.read(path))
    return outcomes, *tables


def test_the_parentheticals_are_those_planned(built, opinions):
    read = [p for o in opinions for p in read_parentheticals(o.text, default_tokenizer).parentheticals]
    texts = Counter(parenthetical.text for parenthetical in read)
    assert set(DROPPED) <= set(texts)
    assert len(texts) == sum(texts.values()) == KEPT + len(DROPPED)
    assert Counter(p.kind for p in read).keys() == {"full", "id", "short", "supra"}


def test_each_step_drops_what_it_should(built):
    outcomes, _, _, rows = built
    funnel = {step: sum(outcome.funnel.get(step, 0) for outcome in outcomes) for step in FUNNEL}
    assert list(funnel) == list(FUNNEL)
    drops = Counter(DROPPED.values())
    left = KEPT + len(DROPPED)
    for step in FUNNEL[1:]:
        left -= drops[step]
        assert (step, funnel[step]) == (step, left)
    kept = {row["parenthetical"] for row in rows}
    assert kept & set(DROPPED) == {
        text for text, step in DROPPED.items() if step in (QUOTATION, SHORT, OVERLAP)
    }
    (problem,) = (problem for outcome in outcomes for problem in outcome.problems)
    assert problem.endswith(": it is never closed.")


def test_the_one_that_is_never_closed(opinions):
    (opinion,) = [opinion for opinion in opinions if NEVER_CLOSED in opinion.text]
    (unread,) = read_parentheticals(opinion.text, default_tokenizer).unread
    assert opinion.text[unread.start :].startswith(f"{NEVER_CLOSED}\n")


def test_the_difficulty_filters_drop_what_they_should(built):
    faults = {row["parenthetical"]: _difficulty(row) for row in built[3]}
    assert {text: fault for text, fault in faults.items() if fault} == {
        text: step for text, step in DROPPED.items() if step in (QUOTATION, SHORT, OVERLAP)
    }


def _difficulty(row: dict) -> str | None:
    return difficulty_fault(row["hypothesis"], row["short_premise"])


@pytest.fixture(scope="module")
def examples(built) -> list[dict]:
    """Entail examples that the contradiction algorithm takes, with their twins."""
    rows = built[3]
    found = []
    for row, trees in zip(rows, parser("dependencies").parse(r["hypothesis"] for r in rows), strict=True):
        made = contradict(trees, example=row["example_id"], seed=0)
        if isinstance(made, Contradiction):
            found.append({**row, "twin": made.text, "negated": made.negated})
    return found


def test_hypotheses_with_and_without_negation(examples):
    assert not NO_CLAUSE & {example["hypothesis"] for example in examples}
    negated = Counter(example["negated"] for example in examples if _difficulty(example) is None)
    assert min(negated[True], negated[False]) >= 36
    texts = " | ".join(("", *(example["hypothesis"] for example in examples), ""))
    shapes = (
        *("may", "must", "is", "was", "has to", "anyone"),
        *("may not", "cannot", "should not", "does not", "did not", "do not", "is not", "was not"),
        *("is no", "had no", "never", "nothing"),
    )
    assert not [shape for shape in shapes if f" {shape} " not in texts]
    verbless = "recovery limited to the earnings lost during the month of notice"
    assert verbless in {example["hypothesis"] for example in examples}


def test_enough_examples_are_left_to_balance(built, examples):
    network = CitationNetwork((pair["citing_case_id"], pair["cited_case_id"]) for pair in built[2])
    labels = assign_labels(examples, seed=0)
    rows = [labelled(example, labels[example["example_id"]]) for example in examples]
    rows = [row for row in rows if _difficulty(row) is None]
    pairings = neutral_premises(rows, network, _bag_of_words)
    premises = {row["example_id"]: row for row in rows}
    assert chosen_premises(rows, pairings) <= set(premises)
    rows = [{**row, "analysis": True} for row in neutralized(rows, pairings, premises, PREMISE_FIELDS)]
    splits = balance(rows, seed=0)
    assert len(splits) >= 75
    assert set(splits.values()) == {"train", "val", "test"}


def _bag_of_words(texts: list[str]) -> np.ndarray:
    """Texts as unit vectors of their words' hashes, shape (n, 64): an encoder that needs no model."""
    vectors = np.zeros((len(texts), 64), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in words(text):
            vectors[row, hashlib.sha256(word.encode()).digest()[0] % 64] += 1
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# Beside a volume of the mirror.


@pytest.fixture(scope="module")
def real() -> Path:
    if not REAL.is_file():
        pytest.skip(f"no real volume at {REAL}; set LEXTABLES_MIRROR to the mirror's folder")
    return REAL


def test_the_layout_is_a_real_volumes(real):
    ours = SAMPLE / "caselaw" / FILES[0]
    for name in ("VolumeMetadata", "CasesMetadata"):
        mine, theirs = _json(ours, name), _json(real, name)
        if name == "CasesMetadata":
            mine, theirs = mine[0], theirs[0]
        assert _keys(mine) == _keys(theirs), name
    mine, theirs = (next(c for n, _, c in _entries(p) if n.startswith("json/")) for p in (ours, real))
    assert _keys(json.loads(mine)) == _keys(json.loads(theirs))
    mine, theirs = (next(c for n, _, c in _entries(p) if n.startswith("html/")) for p in (ours, real))
    assert _tags(mine) == _tags(theirs)


def _keys(value) -> object:
    """The keys of a record, and of the first record of each list in it, in their order."""
    if isinstance(value, dict):
        return {key: _keys(inner) for key, inner in value.items()}
    return [_keys(value[0])] if isinstance(value, list) and value and isinstance(value[0], dict) else None


def _tags(page: bytes) -> set[tuple[str, ...]]:
    """The tags of a page with the names of their attributes."""
    tags = re.findall(r"<(\w+)((?:\s[\w-]+=\"[^\"]*\")*)>", page.decode())
    return {(tag, *re.findall(r"([\w-]+)=", attributes)) for tag, attributes in tags}
