"""From opinions to Entail examples (LawngNLI, A.1.1 and A.1.2), on a corpus of a few
sentences.
"""

from collections import Counter
from pathlib import Path

import pytest
from eyecite.tokenizers import default_tokenizer

from helpers.caselaw_volume import html, label, metadata, write_zip
from lextables.corpora.caselaw.ingest import write_opinions
from lextables.papers.lawngnli.citations.candidates import (
    CANDIDATES,
    CITATIONS,
    READ,
    RESOLVED,
    write_candidates,
)
from lextables.papers.lawngnli.citations.candidates import FUNNEL as OF_CANDIDATES
from lextables.papers.lawngnli.citations.case_index import CaseIndex, build_case_index
from lextables.papers.lawngnli.hypotheses.accuracy import tokens_of
from lextables.papers.lawngnli.premises.entail_examples import (
    ALONE,
    FIGURES,
    HISTORY,
    MAJORITY,
    METADATA,
    MORE_METADATA,
    ONCE,
    PAGES,
    PARENTHETICALS,
    PARTIES,
    PINCITE,
    PREMISE,
    VERB,
    MajorityOpinions,
    write_parentheticals,
)
from lextables.papers.lawngnli.premises.entail_examples import FUNNEL as OF_EXAMPLES
from lextables.papers.lawngnli.steps import StepCounts
from lextables.pipeline import dataset

FUNNEL = (*OF_CANDIDATES, *OF_EXAMPLES)

PAPER = html(
    (
        "majority",
        [
            f"{label(101)}A fee is due.",
            f"It is {label(102)}not large.",
            f"{label(103)}Affirmed. See Poe v. Hill, 9 U.S. 50 (1949).",
        ],
    ),
    ("dissent", [f"{label(104)}I would reverse."]),
)
AGAIN = html(("majority", [f"{label(201)}A later suit between the same parties."]))
TWO = html(("majority", [f"{label(301)}One."]), ("majority", ["Two."]))

# Paragraphs of one opinion, each with the expected hypothesis or the step that removes
# it.
CITING = {
    "Fee v. Paper, 1 U.S. 101, 102 (1950) (holding that the fee isn't large).": "the fee is not large",
    "Fee v. Paper, 1 U.S. 101, 101, 5 S. Ct. 7, 9 (1950) (a fee is owed by all).": "a fee is owed by all",
    "1 U.S., at 101-102 (the fee is due and small).": "the fee is due and small",
    "Fee v. Paper, 1 U.S. 101, 102 (1950) (never closed.": READ,
    "Both v. Both, 1 U.S. 500, 500 (1950) (either of two cases).": RESOLVED,
    "Away v. Home, 9 U.S. 9, 9 (1950) (not in the corpus).": RESOLVED,
    "Fee v. Paper, 1 U.S. 101 (1950) (no pincite is given).": PINCITE,
    "Fee v. Paper, 1 U.S. 101, 102, n. 4 (1950) (the note says so).": PAGES,
    "Two v. Two, 1 U.S. 301, 301 (1950) (two majority opinions).": MAJORITY,
    "Fee v. Paper, 1 U.S. 101, 104 (1950) (the page is the dissent's).": PREMISE,
    "Fee v. Paper, 5 S. Ct. 7, 9 (1950) (the pages of another reporter).": PREMISE,
    "Fee v. Paper, 1 U.S. 101, 102 (1950) (the fee is small), cert. denied, 2 U.S. 9 (1951).": HISTORY,
    "Fee v. Paper, 1 U.S. 101, 102 (1950) (citations omitted).": METADATA,
    "Fee v. Paper, 1 U.S. 101, 102 (1950) (the fee is small) (Roe, J., dissenting).": MORE_METADATA,
    "Fee v. Paper, 1 U.S. 101, 102 (1950) (denying that the fee is small).": VERB,
    "Fee v. Paper, 1 U.S. 101, 102 (1950) (some such fee is due).": ALONE,
    "Fee v. Paper, 1 U.S. 101, 102 (1950) (the fee of 1949 is due).": FIGURES,
    "Fee v. Paper, 1 U.S. 101, 103 (1950) (the order of 1949 stands).": FIGURES,
    "Fee v. Paper, 1 U.S. 101, 102 (1950) (A fee is owed, by all).": ONCE,
}
KEPT = [value for value in CITING.values() if value not in FUNNEL]
# One more opinion is removed because its parties have a later case.
DROPPED = [*(value for value in CITING.values() if value in FUNNEL), PARTIES]


def corpus(folder: Path) -> list[Path]:
    """Write the corpus in two files."""
    parallel = [
        {"type": "official", "cite": "1 U.S. 101"},
        {"type": "parallel", "cite": "5 S. Ct. 7"},
    ]
    citing = html(("majority", [f"{label(1)}{'</p><p>'.join(CITING)}"]))
    met = "Fee v. Paper, 1 U.S. 101, 102 (1950) (a case whose parties met again)."
    old = {"name": "Roe v. Wade", "decision_date": "1960"}
    cases = [
        (metadata(101, "1 U.S. 101", citations=parallel, last_page="104"), PAPER),
        (metadata(301, "1 U.S. 301", last_page="302"), TWO),
        (metadata(500, "1 U.S. 500"), AGAIN),
        (metadata(501, "1 U.S. 500", first_page="501", last_page="501"), AGAIN),
        (metadata(900, "5 U.S. 1", decision_date="1955"), citing),
        (metadata(901, "5 U.S. 90", **old), html(("majority", [met]))),
        (metadata(902, "6 U.S. 90", **{**old, "decision_date": "1961"}), AGAIN),
    ]
    shards = []
    for name, part in (("a", cases[:4]), ("b", cases[4:])):
        entries = {str(entry["id"]): (entry, body) for entry, body in part}
        volume = write_zip(folder / f"{name}.zip", entries)
        shards.append(folder / f"{name}.parquet")
        write_opinions([volume], shards[-1], skip_unreadable=False)
    return shards


def built(
    folder: Path, shards: list[Path]
) -> tuple[list[StepCounts], list[dict], list[dict], list[dict]]:
    """Return the counts of both steps, and the rows of candidates, citations and
    parentheticals.
    """
    build_case_index(shards, folder / "index")
    index = CaseIndex(folder / "index")
    majorities = MajorityOpinions(shards)
    outcomes, tables = [], ([], [], [])
    for shard in shards:
        paths = candidates, cites, parentheticals = [
            folder / f"{shard.stem}.{number}" for number in range(3)
        ]
        found = write_candidates(shard, index, default_tokenizer, candidates, cites)
        steps = candidates, index, majorities, tokens_of(), parentheticals
        outcomes += [found, write_parentheticals(*steps)]
        for table, path in zip(tables, paths, strict=True):
            table.extend(dataset.read(path))
    return outcomes, *tables


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    folder = tmp_path_factory.mktemp("corpus")
    return built(folder, corpus(folder))


def test_expected_hypotheses_are_kept(tables: tuple) -> None:
    _, _, _, rows = tables
    assert [row["hypothesis"] for row in rows] == KEPT


def test_each_removed_candidate_is_counted_at_its_step(tables: tuple) -> None:
    funnel = Counter()
    for outcome in tables[0]:
        funnel.update(outcome.funnel)
    left = len(KEPT) + len(DROPPED)
    for step in FUNNEL:
        left -= DROPPED.count(step)
        if step != CITATIONS:
            assert (step, funnel[step]) == (step, left)


def test_problems_are_counted_and_reported(tables: tuple) -> None:
    counts = Counter()
    problems = []
    for outcome in tables[0]:
        counts.update(outcome.counts)
        problems += outcome.problems
    assert counts["citations of two cases"] == 1
    assert counts["parentheses not read"] == 1
    assert counts["pages of a reporter that is not labelled"] == 1
    (problem,) = problems
    assert problem.startswith("900-0, character ")
    assert problem.endswith(": it is never closed.")


def test_rows_have_the_expected_columns_and_values(tables: tuple) -> None:
    _, candidates, cites, rows = tables
    first = rows[0]
    assert list(first) == [column.name for column in PARENTHETICALS.columns]
    assert list(candidates[0]) == [column.name for column in CANDIDATES.columns]
    assert (first["citing_case_id"], first["cited_case_id"]) == (900, 101)
    assert (first["citation"], first["pincite"]) == ("1 U.S. 101", "102")
    assert first["pages"] == ["102"]
    assert first["parenthetical"] == "holding that the fee isn't large"
    assert first["short_premise"] == "It is not large."
    assert (first["premise_start"], first["premise_end"]) == (14, 30)
    assert rows[1]["short_premise"] == "A fee is due.\nIt is not large."
    case, offset = first["example_id"].split(":")
    assert case == "900-0"
    assert offset == str(next(iter(CITING)).index("(holding"))
    found = [(row["citing_case_id"], row["cited_case_id"]) for row in cites]
    assert found == [(900, 101), (900, 301), (901, 101)]


def test_excluded_volumes_do_not_change_the_result(
    tmp_path: Path, tables: tuple
) -> None:
    (tmp_path / "z.zip").write_bytes(b"no zip")
    write_opinions([tmp_path / "z.zip"], tmp_path / "z.parquet", skip_unreadable=True)
    outcomes, *found = built(tmp_path, [*corpus(tmp_path), tmp_path / "z.parquet"])
    assert found == list(tables[1:])
    assert not any(n for outcome in outcomes[-2:] for n in outcome.funnel.values())
