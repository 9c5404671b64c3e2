"""Case law and EDGAR from the command line: unreadable volumes, planning, and
overlaps.
"""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from helpers import edgar_server, forked, registered
from helpers.caselaw_volume import html, metadata, write_zip
from lextables.corpora.caselaw.volumes import LIST, REPORTERS


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """Volume 1 has a case without citations, volume 2 lists no case, and volume 3 is
    not a zip file.
    """
    folder = tmp_path / "mirror"
    (folder / "caselaw/us").mkdir(parents=True)
    body = html(("majority", ["Affirmed."]))
    write_zip(folder / "caselaw/us/1.zip", {"1": (metadata(1, "1 U.S. 1"), body)})
    write_zip(folder / "caselaw/us/2.zip", {})
    (folder / "caselaw/us/3.zip").write_bytes(b"no zip")
    return folder


def run(mirror: Path, target: str, **config: str):
    """Run a target of LawngNLI in the folder of the mirror."""
    config = {
        "data": "release",
        "mirror": mirror,
        "papers": "[lawngnli]",
        "parser": "dependencies",
    } | config
    values = [f"{key}={value}" for key, value in config.items()]
    return forked.pipeline(mirror.parent, "--config", *values, "--", target)


def test_the_error_names_an_unreadable_volume_and_other_volumes_are_kept(mirror):
    opinions = "results/data/caselaw/us-1.parquet"
    stopped = run(mirror, opinions, caselaw="us:1-3")
    assert stopped.code != 0
    assert "us/3.zip: this is no .zip file" in stopped.output
    assert "set bad_volumes to skip" in stopped.output
    assert "Traceback" not in stopped.output
    volumes = mirror.parent / "results/sources/caselaw/us"
    assert {path.name for path in volumes.glob("*.zip")} == {"1.zip", "2.zip"}

    skipped = run(mirror, opinions, caselaw="us:1-3", bad_volumes="skip")
    assert skipped.code == 0, skipped.output[-4000:]
    report = json.loads((mirror.parent / "results/data/caselaw/us-1.json").read_text())
    assert (report["opinions"], report["set_aside"]) == (1, ["us/3"])
    assert (
        "2.zip, metadata/CasesMetadata.json: it lists no case; the rest is kept."
        in report["faults"]
    )


def test_all_volumes_would_be_planned_within_a_minute(tmp_path):
    """Half of the volumes are planned in a quarter of a minute.

    So all take less than a minute, even if the time grows with the square of their
    number.
    """
    reporters = REPORTERS.read_text(encoding="utf-8").splitlines()[1::2]
    # Half of the volumes of static.case.law: each second reporter, all with the same
    # number.
    listed = []
    for reporter in reporters:
        for number in map(str, range(1, 20_000 // len(reporters) + 2)):
            volume = {"volume_number": number, "volume_folder": number}
            listed.append(volume | {"reporter_slug": reporter})
    assert len(listed) > 20_000
    folder = tmp_path / "mirror/caselaw"
    folder.mkdir(parents=True)
    (folder / LIST).write_text(json.dumps(listed))
    config = (
        *("data=release", f"mirror={tmp_path / 'mirror'}", "models=available"),
        *("papers=[lawngnli]", "parser=dependencies", "caselaw=all"),
        "volumes_a_job=100",
    )
    words = ("-n", "--quiet", "rules", "--config", *config)
    server = forked.server(forked.ROOT)
    _, before = server.processor_seconds()
    run = forked.pipeline(tmp_path, *words, "--", "results/data/lawngnli/census.json")
    _, after = server.processor_seconds()
    assert run.code == 0, run.output[-4000:]
    jobs = int(re.search(r"^total +(\d+)$", run.output, re.M)[1])
    # Six jobs per shard, and three for all shards: the index, the list of cited cases
    # and the examples.
    shards = (jobs - 3) / 6
    assert shards.is_integer()
    assert 200 < shards < 250
    assert 0 < after - before < 15


def test_contracts_of_edgar_are_compared_with_the_data_sets(tmp_path):
    contract = next(iter(registered.read("cuad", "cuad").of["contracts"]))
    pages = edgar_server.small_quarter(2020, 1, 2)
    # The first submission gets a contract of CUAD.
    path = next(path for path in pages if path.endswith(".txt"))
    accession = Path(path).stem
    filed = edgar_server.document("EX-10.1", 2, contract["text"])
    pages[path] = edgar_server.submission(
        accession, edgar_server.document("8-K", 1, "Report."), filed
    )
    with edgar_server.serving(pages) as server:
        config = (
            "papers=[cuad]",
            "edgar_quarters=[2020-QTR1]",
            f"edgar_base={server.base}",
        )
        run = forked.pipeline(
            tmp_path,
            "overlaps",
            "--config",
            *config,
            f"edgar_contact={edgar_server.CONTACT}",
        )
    assert run.code == 0, run.output[-2000:]
    overlaps = tmp_path / "results/sample/overlaps"
    units = pd.read_parquet(overlaps / "units.parquet")
    is_shared = units.other_split == contract["split"]
    (unit,) = units[(units.dataset == "edgar") & is_shared].itertuples()
    assert unit.unit == accession
    assert unit.split == "all"
    assert unit.nearest == contract["contract_id"]
    assert unit.shared > 0.95 * unit.words
    assert "nan" not in (overlaps / "overlaps.html").read_text(encoding="utf-8")
    # Facts are written only for published data.
    facts = (overlaps / "facts.csv").read_text(encoding="utf-8")
    assert facts == "dataset,split,other_dataset,other_split,share\n"
