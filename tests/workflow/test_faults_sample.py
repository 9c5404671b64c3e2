"""Faults that strike a run of the sample: the same command then ends as if nothing had been."""

import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

import faults
from faults import RESULTS, ROOT, Place, differences, ended, jobs, survivals, until
from mistakes import sentence

# Data, features, vectors, trainings with checkpoints, readings, scores and a table, in 26 jobs.
ARGUMENTS = ("maud_table4", "--config", "papers=maud")
TABLE = f"{RESULTS}/tables/maud/table4.csv"
KILLS = 6


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("undisturbed") / "run", ARGUMENTS)
    assert place.run() == 0, place.said[-3000:]
    assert place.litter() == []
    return place


@pytest.fixture(scope="module")
def reference(undisturbed):
    return undisturbed.outputs()


@pytest.fixture
def place(tmp_path_factory):
    """A folder as deep as the undisturbed one's: records name the project's files by the way to them."""
    return Place(tmp_path_factory.mktemp("struck") / "run", ARGUMENTS)


@pytest.fixture
def done(undisturbed, place):
    """A folder in which all has been made."""
    shutil.copytree(undisturbed.folder, place.folder)
    return place


def last_line(place):
    return place.said.splitlines()[-1]


def test_kills_of_one_run(place, reference):
    """Six here; `python -m faults --kills 20 --chain 20` is the long form."""
    found = []
    for survival in survivals(place, reference, KILLS, seed=0, steps=6, chain=KILLS):
        print(survival)
        found.append(survival)
    survived = [survival for survival in found if not survival.faults]
    print(f"{len(found)} kills, {len(survived)} survived")
    assert [str(survival) for survival in found if survival.faults] == []
    assert len(survived) == len(found) >= KILLS
    assert any(faults.CHECKPOINT in survival.kill for survival in found)


def test_a_bundle_that_was_being_written_is_there_whole_or_not_at_all(tmp_path_factory):
    bundle = f"{RESULTS}/publish/printed"
    place = Place(tmp_path_factory.mktemp("bundle") / "run", (f"{bundle}/printed.csv",))
    run = place.begin()
    until(lambda: [*place.folder.glob(f"{RESULTS}/publish/.printed.*.part")], run)
    assert faults.kill_all(run, random.Random(0))
    found = place.outputs()
    assert place.litter()
    assert place.run() == 0
    assert found in ({}, place.outputs())
    assert place.litter() == []


def mounted(*arguments):
    """Mount something, where this machine lets us."""
    program = shutil.which("mount")
    if not program or subprocess.run([program, *arguments], capture_output=True, check=False).returncode:
        pytest.skip("no right to mount here")


@contextmanager
def mount(folder, *arguments):
    mounted(*arguments, str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_and_results_that_turn_read_only_on_the_way(place, reference):
    place.folder.mkdir()
    with mount(place.folder, "-t", "tmpfs", "-o", "size=2500k", "tmpfs"):
        for _ in range(2):
            assert place.run() != 0
            assert re.fullmatch(sentence("has a full disk", data=place.folder), last_line(place))
            assert differences(place, reference, whole=False) == []
        assert place.finished > 1
        mounted("-o", "remount,size=100m", str(place.folder))
        run, before = place.begin(), place.finished
        until(lambda: place.finished > before, run)
        results = str(place.folder / "results")
        with mount(results, "--bind", results):
            mounted("-o", "remount,bind,ro", results)
            assert run.wait(faults.PATIENCE) != 0
            assert "nothing can be written here" in last_line(place), place.said[-2000:]
            assert place.run() != 0
            assert "nothing can be written here" in last_line(place)
        assert ended(place, reference) == []


def cut(path, chance, *, dated=True):
    """Cut a file short at a random byte; where it is not ``dated`` it keeps its time, as on a broken disk."""
    stat = path.stat()
    os.truncate(path, chance.randrange(stat.st_size))
    if not dated:
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


RUN = f"{RESULTS}/runs/maud/read/linear/linear/seed0"
VECTORS = f"{RESULTS}/features/classification/maud/all-minilm-l6-v2/vectors-64.parquet"


def obeyed(place):
    """Give the command, and delete what it says to, until it ends well; return what that was."""
    deleted = []
    while place.run():
        found = faults.DAMAGED.search(last_line(place))
        assert found, place.said[-3000:]
        deleted.append(found[2] or found[1])
        path = place.folder / deleted[-1]
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return deleted


def test_files_that_were_cut_short_are_named_and_made_again_once_they_are_deleted(done, reference):
    names = VECTORS, f"{RUN}/predictions.parquet"
    for name in names:
        cut(done.folder / name, random.Random(0))
    (done.folder / TABLE).unlink()
    assert sorted(obeyed(done)) == sorted(names)
    # What was deleted on the way to something that stands is not missed.
    assert differences(done, reference, whole=False) == []
    assert {name for name in reference if name.startswith("tables/")} <= done.outputs().keys()
    assert done.litter() == []


def test_weights_that_were_cut_short_are_trained_again_once_their_folder_is_deleted(done, reference):
    """The work that is kept of their training is the same file, and is not used again."""
    (weights,) = sorted((done.folder / RESULTS).glob("runs/maud/train/*/*/seed0/weights/*.safetensors"))[:1]
    run = weights.parents[1].relative_to(done.folder / RESULTS / "runs")
    (kept,) = (done.folder / RESULTS / "work" / run).glob(f"*/finished/weights/{weights.name}")
    kept.unlink()
    os.link(weights, kept)  # as it is where a copy keeps links
    cut(weights, random.Random(0))
    for path in (done.folder / RESULTS).glob(f"runs/maud/read/{weights.parents[3].name}/*/seed0"):
        shutil.rmtree(path)
    (done.folder / TABLE).unlink()
    assert obeyed(done) == [weights.parent.relative_to(done.folder).as_posix()]
    assert "this finished training is damaged" in done.said
    assert {name for name in reference if name.startswith("tables/")} <= done.outputs().keys()
    assert differences(done, reference, whole=False) == []


def test_a_file_that_was_cut_and_kept_its_date_is_named_by_whatever_reads_it(done):
    cut(done.folder / f"{RUN}/predictions.parquet", random.Random(0), dated=False)
    assert done.run() == 0
    assert "Nothing to be done" in done.said
    assert done.run("--forcerun", f"{RUN}/scores.parquet") != 0
    assert faults.DAMAGED.search(last_line(done))[1] == f"{RUN}/predictions.parquet"


def test_a_source_or_its_provenance_that_was_cut_is_fetched_again(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("source") / "run", (f"{RESULTS}/data/acord/census.json",))
    assert place.run() == 0
    whole, source = place.outputs(), f"{RESULTS}/sources/acord/ACORD.zip"
    cut(place.folder / source, random.Random(0))
    (place.folder / f"{source}.json").write_text("")
    assert obeyed(place) in ([source, f"{source}.json"], [f"{source}.json"], [source])
    assert place.outputs() == whole
    assert place.litter() == []


def test_dates_of_a_clock_that_jumped_make_nothing_run_for_ever_and_nothing_be_left_out(done, reference):
    """A clock is a day ahead, or behind, while some of the files are made."""
    for path in (done.folder / RESULTS).rglob("*"):
        if path.is_file():
            ahead = ("data" in path.parts or "train" in path.parts) - (path.name == "scores.parquet")
            os.utime(path, (time.time(), path.stat().st_mtime + ahead * 86_400))
    assert done.run() == 0, done.said
    assert re.search(r"\d+ files were dated in the future", done.said)
    # What is older than what it was made of is made once more, unless that is what it was.
    assert done.run() == 0
    assert "Nothing to be done" in done.said
    assert "in the future" not in done.said
    assert differences(done, reference) == []
    (done.folder / TABLE).unlink()
    assert ended(done, reference) == []


def test_two_drivers_at_once(tmp_path_factory):
    """Of the same files one waits in vain or finds them made; of other files each makes its own."""
    folder = tmp_path_factory.mktemp("two") / "run"
    acord, privacy = (Place(folder, (f"{RESULTS}/data/{name}/census.json",)) for name in ("acord", "privacy"))
    first, second, other = acord.begin(), acord.begin(), privacy.begin()
    codes = [run.wait(faults.PATIENCE) for run in (first, second, other)]
    assert 0 in codes[:2]
    assert codes[2] == 0
    assert acord.run() == privacy.run() == 0
    assert "Nothing to be done" in privacy.said
    assert acord.litter() == []


def test_a_job_that_hangs_stops_no_other_and_is_ended_by_hand(tmp_path_factory):
    """The run waits for it, Ctrl-C or not, as the screen says when it has been silent for long."""
    place = Place(tmp_path_factory.mktemp("hangs") / "run", (f"{RESULTS}/data/privacy/census.json",))
    run = place.begin()
    hanging = min(until(lambda: jobs(run), run, pace=0.05), key=lambda process: process.pid)
    hanging.suspend()
    until(lambda: [*place.folder.glob(f"{RESULTS}/logs/sources/**/*.log")], run)
    os.killpg(run.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(5)
    hanging.kill()
    assert run.wait(faults.PATIENCE) != 0
    assert re.fullmatch(sentence("presses Ctrl-C"), last_line(place))
    assert place.run() == 0
    assert place.litter() == []


class Publisher(BaseHTTPRequestHandler):
    """Sends the server's ``body``, from where it is asked to if that is the version asked for."""

    def do_GET(self):
        body, version = self.server.body, f'"{len(self.server.body)}-{self.server.body[0]}"'
        start = 0
        if self.headers.get("If-Range") == version:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("ETag", version)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.server.starts.append(start)
        with suppress(ConnectionError):
            self.wfile.write(body[start : start + self.server.at_once])
            self.server.going.wait()
            self.wfile.write(body[start + self.server.at_once :])

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def published(body):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    server.body, server.starts, server.at_once, server.going = body, [], 1 << 17, threading.Event()
    server.going.set()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.going.set()
        server.shutdown()
        server.server_close()


def project(folder, sources):
    """Return the Snakefile of the project with another registry of sources."""
    (folder / "project/resources").mkdir(parents=True)
    for name in ("Snakefile", "config.yaml", "envs", "profiles", "workflow"):
        (folder / "project" / name).symlink_to(ROOT / name)
    for path in (ROOT / "resources").iterdir():
        if path.name != "sources.yaml":
            (folder / "project/resources" / path.name).symlink_to(path)
    (folder / "project/resources/sources.yaml").write_text(sources, encoding="utf-8")
    return folder / "project/Snakefile"


def test_a_source_that_changes_on_its_server_is_refused_and_what_is_here_stays(tmp_path_factory):
    """In the middle of a transfer, of which the run is killed, and between two runs."""
    folder, one, two = tmp_path_factory.mktemp("server"), b"1" * 300_000, b"2" * 300_000
    file = f"{RESULTS.removesuffix('/sample')}/sources/acord/ACORD.zip"
    with published(one) as server:
        entry = yaml.safe_load((ROOT / "resources/sources.yaml").read_text(encoding="utf-8"))["acord"][
            "files"
        ]["ACORD.zip"]
        text = (ROOT / "resources/sources.yaml").read_text(encoding="utf-8")
        for old, new in (
            (entry["addresses"][0], f"http://127.0.0.1:{server.server_port}/"),
            (f"        - {entry['addresses'][1]}\n", ""),
            (f"size: {entry['size']}", f"size: {len(one)}"),
            (entry["digest"], f"sha256:{hashlib.sha256(one).hexdigest()}"),
        ):
            assert text.count(old) == 1
            text = text.replace(old, new)
        place = Place(
            folder / "run", (file, "--config", "data=release", "papers=acord"), project(folder, text)
        )
        part = place.folder / f"{file}.part"

        server.going.clear()
        run = place.begin()
        until(lambda: part.exists() and part.stat().st_size > server.at_once / 2, run)
        faults.kill_all(run, random.Random(0))
        server.body = two
        server.going.set()
        assert place.run() != 0
        assert "where the registry has sha256:" in last_line(place), place.said[-2000:]
        assert not (place.folder / file).exists()
        assert not part.exists()

        server.body = one
        server.going.clear()
        run = place.begin()
        until(lambda: part.exists() and part.stat().st_size > server.at_once / 2, run)
        faults.kill_all(run, random.Random(0))
        server.going.set()
        server.starts.clear()
        held = part.stat().st_size
        assert place.run() == 0, place.said[-2000:]
        assert server.starts == [held]
        assert (place.folder / file).read_bytes() == one

        server.body = two
        assert place.run() == 0
        assert "Nothing to be done" in place.said
        assert (place.folder / file).read_bytes() == one
        assert place.litter() == []
