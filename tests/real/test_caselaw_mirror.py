"""Real volumes of case law: their content after reading, and the parentheticals of one
volume.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from eyecite.tokenizers import Tokenizer

from lextables import ROOT
from lextables.corpora.caselaw.ingest import write_opinions
from lextables.corpora.caselaw.opinion import Fault, Opinion
from lextables.corpora.caselaw.volume import read_volume
from lextables.papers.lawngnli.citations.candidates import write_candidates
from lextables.papers.lawngnli.citations.case_index import CaseIndex, build_case_index
from lextables.papers.lawngnli.citations.resolution import tokenizer
from lextables.papers.lawngnli.hypotheses.accuracy import tokens_of
from lextables.papers.lawngnli.premises.entail_examples import (
    MajorityOpinions,
    write_parentheticals,
)
from lextables.pipeline import dataset

CASELAW = (
    Path(os.environ.get("LEXTABLES_MIRROR", ROOT / "../shared/mirror")) / "caselaw"
)
# Parentheticals are extracted from the last volume, which cites the others.
VOLUMES = (*range(440, 500, 3), 500)
# {step of the construction: how many are left}
FUNNEL = {
    "citations of cases": 2620,
    "parentheticals of citations": 347,
    "about a case of the corpus": 39,
    "with a pincite": 37,
    "with resolvable pages": 33,
    "in a case with a single majority opinion": 33,
    "with those pages in the majority opinion": 21,
    "no later case with the same parties": 21,
    "no history flag": 21,
    "no metadata keyword": 11,
    "no other metadata": 10,
    "leading verb supports its clause": 10,
    "names what it is about": 10,
    "figures in the premise": 10,
    "no repetition in the citing case": 10,
}
pytestmark = pytest.mark.skipif(not CASELAW.is_dir(), reason=f"no mirror at {CASELAW}")


def read(path: Path) -> tuple[list[Opinion], list[Fault]]:
    opinions: list[Opinion] = []
    faults: list[Fault] = []
    for item in read_volume(path):
        if isinstance(item, Opinion):
            opinions.append(item)
        if isinstance(item, Fault):
            faults.append(item)
    return opinions, faults


def test_a_volume_of_united_states_reports_is_read() -> None:
    opinions, faults = read(CASELAW / "us/476.zip")
    assert faults == []
    assert len(opinions) == 92
    assert len({o.case_id for o in opinions}) == 41
    types = Counter(o.opinion_type for o in opinions)
    assert types["majority"] == 41
    smalis = next(o for o in opinions if o.opinion_id == "47600140-0")
    assert smalis.citations == ("476 U.S. 140",)
    assert (smalis.jurisdiction, smalis.date) == ("United States", "1986")
    assert [page.label for page in smalis.pages] == [str(n) for n in range(141, 147)]
    assert smalis.text[smalis.pages[2].offset :].startswith(
        "judge's ruling in a defendant's favor"
    )
    assert smalis.text[smalis.body_end :].startswith("\n[Footnote 1]")


def test_an_originally_published_volume_is_read() -> None:
    opinions, faults = read(CASELAW / "samples/alaska_1.zip")
    assert faults == []
    assert len(opinions) == 107
    for opinion in opinions:
        assert opinion.pages[0].offset == 0
        assert opinion.majorities == 1
        assert opinion.jurisdiction == "Alaska"
    assert sum(o.body_end < len(o.text) for o in opinions) == 1


def test_rows_of_the_bulk_export_are_read() -> None:
    opinions, faults = read(CASELAW / "samples/bulk_xml_10_rows.jsonl")
    assert faults == []
    assert len(opinions) == 10
    first = opinions[0]
    assert first.case_id == 5596770
    assert (first.volume, first.reporter) == ("359", "Ill. App. 3d")
    assert [page.label for page in first.pages] == ["922", "923", "924", "925"]
    assert first.text[first.pages[-1].offset :].startswith("Ill. 2d 405")


@pytest.fixture(scope="module")
def tokens() -> Tokenizer:
    return tokenizer()


def test_parentheticals_of_a_volume_are_extracted(
    tmp_path: Path, tokens: Tokenizer
) -> None:
    shards = []
    for volume in VOLUMES:
        shards.append(tmp_path / f"{volume}.parquet")
        write_opinions(
            [CASELAW / f"us/{volume}.zip"], shards[-1], skip_unreadable=False
        )
    build_case_index(shards, tmp_path / "index")
    index = CaseIndex(tmp_path / "index")
    majorities = MajorityOpinions(shards)
    citing = shards[-1]
    candidates = tmp_path / "candidates"
    first = write_candidates(citing, index, tokens, candidates, tmp_path / "cites")
    second = write_parentheticals(
        candidates, index, majorities, tokens_of(), tmp_path / "read"
    )
    funnel = Counter(first.funnel) + Counter(second.funnel)
    assert {step: funnel[step] for step in FUNNEL} == FUNNEL
    rows = list(dataset.read(tmp_path / "read"))
    assert len(rows) == FUNNEL["no repetition in the citing case"]
    for row in rows:
        record = index.record(row["cited_case_id"])
        opinion = majorities.at(record.shard, record.row or 0)
        parts = []
        for span in row["premise_spans"]:
            parts.append(opinion.text[span["start"] : span["end"]])
        assert row["short_premise"] == "\n".join(parts)
        labelled = {page.label for page in opinion.pages}
        assert labelled & set(row["pages"])


def test_tables_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    """The order of a set of strings differs between processes; the tables have the same
    bytes.
    """
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from lextables.corpora.caselaw.ingest import write_opinions\n"
        "from lextables.papers.lawngnli.citations.case_index import CaseIndex, build_case_index\n"
        "from lextables.papers.lawngnli.citations.resolution import tokenizer\n"
        "from lextables.papers.lawngnli.citations.candidates import write_candidates\n"
        "volume, out = map(Path, sys.argv[1:])\n"
        "write_opinions([volume], out / 'o', skip_unreadable=False)\n"
        "build_case_index([out / 'o'], out / 'index')\n"
        "write_candidates(out / 'o', CaseIndex(out / 'index'), tokenizer(), out / 'c', out / 'e')\n"
    )
    for seed in ("1", "2"):
        out = tmp_path / seed
        out.mkdir()
        command = [sys.executable, "-c", script, CASELAW / "us/428.zip", out]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run(command, check=True, env=environment)
    for name in ("o", "c", "e", "index/citations.npy", "index/parties.npy"):
        assert (tmp_path / "1" / name).read_bytes() == (
            tmp_path / "2" / name
        ).read_bytes()
