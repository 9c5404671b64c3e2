"""Costs of a plan: records of finished jobs, sums by table and paper, and unknown
costs.
"""

import math
import re

import pandas as pd
import pytest

from lextables import ROOT
from lextables.pipeline.job_files import Usage
from lextables.report.costs import (
    HOUR,
    KEY,
    RECORD,
    Job,
    estimates,
    load_records,
    records,
    summary,
    text,
    write,
)

MB = 1e6
RECORDS = pd.DataFrame(
    [
        ["release", "data", "acord", "", 3 * MB, 1, 60.0, 100.0, ""],
        ["release", "index", "", "", 10 * MB, 4, 5.0, 10.0, ""],
        ["release", "index", "", "", 100 * MB, 1, 40.0, 100.0, ""],
        ["release", "index", "", "", 5 * MB, 1, 0.5, 10.0, "a GPU"],
        ["release", "train", "acord", "linear", 3 * MB, 3, 7200.0, 1e9, ""],
    ],
    columns=[*KEY, "published", "jobs", "seconds", "bytes", "device"],
)


def test_costs_are_scaled_from_the_record_with_the_nearest_size():
    sizes = [5 * MB, 200 * MB, 2000 * MB, 0.5 * MB]
    jobs = [
        Job(number, "index", True, published=size) for number, size in enumerate(sizes)
    ]
    found = estimates(jobs, "release", RECORDS)
    # Half of the record of 10 MB, and twice that of 100 MB.
    assert found["core_seconds"].tolist()[:2] == [2.5, 80.0]
    assert found["disk_bytes"].tolist()[:2] == [5.0, 200.0]
    # The others differ from every record by more than a factor of ten.
    assert found["core_seconds"][2:].isna().all()
    assert estimates(jobs, "sample", RECORDS)["core_seconds"].isna().all()


def test_another_model_or_a_gpu_has_no_record():
    known = Job(0, "train", True, "acord", "linear", published=3 * MB)
    other = Job(1, "train", True, "acord", "roberta-base", published=3 * MB)
    gpu = Job(2, "train", True, "acord", "linear", gpu=True, published=3 * MB)
    found = estimates([known, other, gpu], "release", RECORDS)["core_seconds"].tolist()
    assert found[0] == 7200 and all(map(math.isnan, found[1:]))


@pytest.fixture
def jobs():
    """Jobs of two tables that share a training, and of a report."""
    weights = {"some/model": 4 * MB}
    return [
        Job(0, "fetch", False, "acord"),
        Job(1, "data", True, "acord", before=(0,), published=3 * MB, download=3 * MB),
        Job(
            2,
            "train",
            True,
            "acord",
            "linear",
            before=(1,),
            published=3 * MB,
            weights=weights,
        ),
        Job(
            3,
            "table",
            True,
            "acord",
            before=(2,),
            table=("acord", "table1"),
            weights=weights,
        ),
        Job(
            4,
            "table",
            True,
            "acord",
            before=(1, 2),
            table=("acord", "table2"),
            verdicts=7,
        ),
        Job(5, "report", True, before=(3, 4), download=None),
    ]


def test_shared_jobs_count_in_each_table_and_once_in_total(jobs):
    lines = summary(jobs, estimates(jobs, "release", RECORDS)).set_index(
        ["paper", "table"]
    )
    assert list(lines.index) == [
        ("acord", ""),
        ("acord", "table1"),
        ("acord", "table2"),
        ("no table", ""),
        ("all", ""),
    ]
    # Each list has the values of these five lines.
    assert lines["jobs"].tolist() == [4, 3, 3, 1, 5]
    assert lines["finished"].tolist() == [1, 1, 1, 0, 1]  # fetch
    assert lines["shared"].tolist() == [2, 2, 2, 0, 2]  # data and train
    assert lines["verdicts"].tolist() == [7, 0, 7, 0, 7]
    hours = (60 + 7200) / HOUR  # data and train
    assert lines["core_hours"].tolist() == pytest.approx(
        [hours, hours, hours, 0, hours]
    )
    # The tables and the report have no record.
    assert lines["core_hours_unknown"].tolist() == [2, 1, 1, 1, 3]
    # 3 MB of data, and the weights of 4 MB, which count once.
    size = 7 * MB
    assert lines["download_bytes"].tolist() == [size, size, size, 0, size]
    assert lines["download_bytes_unknown"].tolist() == [0, 0, 0, 1, 1]


def test_requested_gpu_hours_are_those_of_unfinished_jobs_on_a_gpu():
    jobs = [
        Job(0, "train", True, gpu=True, minutes=90, gpu_seconds=900.0),
        Job(1, "train", False, gpu=True, minutes=600, gpu_seconds=900.0),
        Job(2, "data", True, minutes=600),
    ]
    estimated = estimates(jobs, "release", RECORDS)
    lines = summary(jobs, estimated)
    assert lines["gpu_jobs"].tolist() == [1, 1]
    assert lines["gpu_hours_requested"].tolist() == [1.5, 1.5]
    assert lines["gpu_hours"].tolist() == [0.25, 0.25]
    assert re.search(r"^all +2 +1 +0 +0 +1 +0 +2 ", text(lines, estimated), re.M)


def test_the_summary_lists_jobs_that_are_not_counted(jobs, tmp_path):
    estimated = estimates(jobs, "release", RECORDS)
    lines = summary(jobs, estimated)
    shown = text(lines, estimated)
    assert re.search(r"^all +5 +1 +2 +7 +0 +0 +0 +>2 +>1 GB +>7 MB$", shown, re.M), (
        shown
    )
    assert "3 jobs have no record and are not counted (1 report, 2 table)" in shown
    assert "jobs.csv every job" in write(tmp_path / "plan", lines, estimated, RECORDS)
    assert pd.read_csv(tmp_path / "plan/plan.csv").shape[0] == 5
    (tmp_path / "file").write_text("")
    assert "is not writable" in write(tmp_path / "file", lines, estimated, RECORDS)


def test_records_are_medians_of_finished_jobs(tmp_path):
    jobs = []
    for number, seconds in enumerate((1.0, 2.0, 9.0)):
        usage = Usage(
            processor_seconds=seconds, wall_seconds=1.0, peak_memory_mib=number
        )
        (tmp_path / f"{number}.usage.json").write_text(usage.model_dump_json())
        (tmp_path / f"{number}.parquet").write_bytes(b"x" * 10 * (number + 1))
        paths = {
            "log": str(tmp_path / f"{number}.log"),
            "outputs": (str(tmp_path / f"{number}.parquet"),),
        }
        jobs.append(
            Job(number, "score", False, "acord", "bm25", published=123456, **paths)
        )
    unmeasured = Job(8, "score", False, "acord", "bm25", log=str(tmp_path / "8.log"))
    found = records(
        [*jobs, unmeasured, Job(9, "score", True, "acord", "bm25")], "release"
    )
    assert list(found) == RECORD
    assert found.to_numpy().tolist() == [
        [
            *("release", "score", "acord", "bm25", 123000.0, 3, 2.0, 20.0, 1.0),
            *(None, None, "", "job"),
        ]
    ]


def test_records_are_written_and_read_again(tmp_path):
    committed = load_records(ROOT / "resources/costs/records.csv")
    committed.to_csv(tmp_path / "records.csv", index=False)
    pd.testing.assert_frame_equal(load_records(tmp_path / "records.csv"), committed)


def test_the_committed_records_are_read_and_have_no_repeats():
    committed = load_records(ROOT / "resources/costs/records.csv")
    assert len(committed) > 100
    assert not committed.duplicated([*KEY, "published", "device"]).any()
    assert set(committed["data"]) == {"sample", "release"}
    assert set(committed["measured"]) <= {"job", "benchmark"}
