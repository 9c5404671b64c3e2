"""The privacy policy corpus from its release: its content, time and memory of reading,
and baselines.
"""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from lextables import ROOT
from lextables.metrics.answers import agreement, alpha
from lextables.pipeline.dataset import check_census, read
from lextables.registry.packages import load
from lextables.tasks.answers import baselines
from lextables.tasks.answers.collection import ANSWERED_FROM, prediction_rows
from lextables.tasks.answers.collection import load as collect
from lextables.tasks.answers.scoring import WITH_TEXT, of_answers
from lextables.tasks.answers.settings import PriorSettings

PAPER = load(ROOT / "resources/papers/privacy.yaml")
TASK = PAPER.tasks["privacy"]
FILES = {
    "policies": "privacy_policies.standin.ndjson",
    "questions": "questions.ndjson",
    "codings": "coding_values.ndjson",
}


# Reads the files, writes the tables, and prints their census, the notes, the CPU time
# and the memory.
READ = """
import json, resource, sys, time
from pathlib import Path
from lextables.pipeline.dataset import Published, write_all
from lextables.papers.privacy import raw
from lextables.papers.privacy.schema import TABLES
files, settings = json.loads(sys.argv[1])
files = {kind: [Path(path)] for kind, path in files.items()}
begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = raw.read("privacy", Published(files, {}, settings, {"policies": "stand_in"}))
census = write_all(TABLES["privacy"], rows.of, sys.argv[2])
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([census, rows.notes, time.process_time() - begun, grown / 1024]))
"""


@pytest.fixture(scope="module")
def read_in_a_process(mirror, tmp_path_factory):
    """Folder of the tables, their census, the notes, CPU seconds and additional
    megabytes of memory.
    """
    folder = tmp_path_factory.mktemp("privacy")
    files = {kind: str(mirror / "privacy" / name) for kind, name in FILES.items()}
    settings = {"other_snapshots": list(PAPER.other_snapshots)}
    ran = subprocess.run(
        [sys.executable, "-c", READ, json.dumps([files, settings]), str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "workflow")},
    )
    return folder, *json.loads(ran.stdout)


@pytest.fixture(scope="module")
def read_release(read_in_a_process):
    """Folder of the tables, their census and the notes."""
    return read_in_a_process[:3]


def test_reading_takes_less_than_20_seconds_and_150_megabytes(read_in_a_process):
    *_, seconds, megabytes = read_in_a_process
    assert seconds < 20
    assert megabytes < 150


def test_the_release_matches_the_registered_census(read_release):
    _, counts, notes = read_release
    census = PAPER.data["privacy"].census
    check_census(counts, census["stand_in"], "stand_in")
    check_census(counts, census["release"], "release")
    assert counts["sites"]["rows"] == 149
    assert counts["questions"]["rows"] == 64
    assert counts["responses"]["rows"] == 19729
    assert counts["highlights"]["rows"] == 22609
    assert notes["responses_without_an_option"] == 24
    assert notes["single_choices_with_several_options"] == 74
    assert notes["sites_coded_without_a_policy_here"] == 129


def test_each_of_9369_pairs_has_at_least_two_responses(read_release):
    folder, _, _ = read_release
    pairs = Counter()
    for row in read(folder / "responses.parquet", ["site", "question_id"]):
        pairs[row["site"], row["question_id"]] += 1
    assert Counter(pairs.values()) == {2: 8596, 3: 578, 4: 172, 5: 23}
    assert len(pairs) == 9369


def test_1580_pairs_have_two_identical_responses(read_release):
    folder, _, _ = read_release
    highlights = defaultdict(set)  # {response: the sentences that it marks}
    for row in read(folder / "highlights.parquet"):
        response = (row["site"], row["question_id"], row["response"])
        sentence = (row["document"], row["paragraph"], row["sentence"])
        highlights[response].add(sentence)
    pairs = defaultdict(list)
    for row in read(folder / "responses.parquet"):
        response = (row["site"], row["question_id"], row["response"])
        marked = frozenset(highlights[response])
        content = (row["reader_id"], tuple(row["options"]), row["confidence"], marked)
        pairs[row["site"], row["question_id"]].append(content)
    repeated = 0
    for contents in pairs.values():
        if len(set(contents)) < len(contents):
            repeated += 1
    assert repeated == 1580


def test_coder_ids_do_not_identify_coders(read_release):
    """In nearly every pair, all responses have the same coder_id."""
    folder, _, _ = read_release
    readers = defaultdict(set)
    for row in read(folder / "responses.parquet", ["site", "question_id", "reader_id"]):
        readers[row["site"], row["question_id"]].add(row["reader_id"])
    assert sum(len(ids) == 1 for ids in readers.values()) / len(readers) > 0.99
    assert len(set.union(*readers.values())) == 17


def test_agreement_is_near_that_of_the_earlier_corpus_in_the_paper(read_release):
    folder, _, _ = read_release
    units = defaultdict(lambda: defaultdict(list))
    for row in read(folder / "responses.parquet", ["site", "question_id", "options"]):
        if row["options"]:
            units[row["question_id"]][row["site"]].append(frozenset(row["options"]))
    alphas = []
    shares = []
    for of_site in units.values():
        alphas.append(alpha(list(of_site.values())))
        shares += [agreement(unit) for unit in of_site.values() if len(unit) > 1]
    assert sum(alphas) / 64 == pytest.approx(0.49, abs=0.005)
    assert (min(alphas), max(alphas)) == pytest.approx((0.09, 0.91), abs=0.005)
    assert sum(shares) / len(shares) == pytest.approx(0.776, abs=0.0005)


@pytest.fixture(scope="module")
def data(read_release):
    folder, _, _ = read_release
    names = TASK.names.model_dump()
    files = [folder / f"{names[table]}.parquet" for table in ANSWERED_FROM]
    return collect(files, names)


def scored(answers, data):
    """Return {(metric, group): (value, number of units)} of answers."""
    rows, _ = of_answers(prediction_rows(answers), data, TASK.smoothing)
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_scores_of_the_prior_baseline(data):
    settings = PriorSettings(pseudo=TASK.pseudo, smoothing=TASK.smoothing)
    scores = scored(baselines.prior(data.shares, settings), data)
    assert scores["cross entropy", "all"] == (pytest.approx(0.4978, abs=5e-5), 9369)
    assert scores["cross entropy, low", "all"][1] == 149
    assert scores["cross entropy", WITH_TEXT] == (pytest.approx(0.5033, abs=5e-5), 1234)
    assert scores["excess", "all"][0] == pytest.approx(0.2406, abs=5e-5)
    assert scores["accuracy", "all"][0] == pytest.approx(0.7532, abs=5e-5)


def test_scores_of_uniform_answers_depend_only_on_the_number_of_options(data):
    scores = scored(baselines.uniform(data.shares), data)
    assert scores["cross entropy", "all"][0] == pytest.approx(0.6396, abs=5e-5)
    assert scores["cross entropy", "question: COVID-1"][0] == pytest.approx(
        0.6931, abs=5e-5
    )
