"""Mistakes of new users, each made as a user makes it: one sentence stands last, and says what to do.

The list is `mistakes.yaml`, of which docs/mistakes.md is made.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pypdf import PdfWriter

import mistakes
from forked import Server
from lextables import not_run

ROOT = Path(__file__).parents[2]
TYPED = [did for did, mistake in mistakes.ALL.items() if "types" in mistake]
LONGEST = 350  # characters of a sentence that can be read at once
PUBLISHED = 3131196  # bytes of ACORD.zip


def as_long_as_published(path):
    path.write_bytes(b"PK" + bytes(PUBLISHED - 2))


def latin_1(path):
    path.write_bytes("query_id,document_id,score\né,d,1\n".encode("latin-1"))


def one_tensor(path):
    header = json.dumps(
        {"embeddings.word_embeddings.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}
    )
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(4))


def scan(path):
    pages = PdfWriter()
    pages.add_blank_page(200, 300)
    pages.write(path)


MADE = {make.__name__: make for make in (as_long_as_published, latin_1, one_tensor, scan)}


@pytest.fixture(scope="module")
def server():
    running = Server()
    yield running
    running.close()


@pytest.fixture(scope="module")
def read_already(server, tmp_path_factory):
    """A folder in which the samples of two papers were made data sets."""
    # As deep as the folders that it is copied to: records name the project's files by the way to them.
    folder = tmp_path_factory.mktemp("read") / "data"
    folder.mkdir()
    code, said = server(folder, ["--cores", "2", "acord_data", "privacy_data"], {})
    assert code == 0, said
    return folder


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    """{a mistake whose job waits: (its folder, its run)}; they begin together with the first test."""
    with ThreadPoolExecutor() as pool:
        begun = {}
        for did in (did for did in TYPED if "slow" in mistakes.ALL[did]):
            folder, mistake = tmp_path_factory.mktemp("waiting"), mistakes.ALL[did]
            fill(folder, mistake)
            line = ["--snakefile", str(ROOT / "Snakefile"), *arguments(folder, mistake)]
            begun[did] = folder, pool.submit(alone, folder, line, mistake["env"])
        yield begun


def arguments(folder, mistake):
    """What follows the word snakemake on the command line."""
    typed = re.sub(r"(?<!\w)/data\b", str(folder), mistake["types"]).replace("/project", str(ROOT))
    program, *found = shlex.split(typed)
    assert program == "snakemake"
    if "only" in mistake:
        paper = Path(mistake["only"]).parts[3]
        found[found.index(paper)] = mistake["only"]
    return found


def fill(folder, mistake):
    """Put into a folder what stands there before the mistake is made."""
    for name, content in mistake.get("with", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if content in MADE:
            MADE[content](folder / name)
        else:
            (folder / name).write_text(content, encoding="latin-1" if "\x89" in content else "utf-8")


def project(folder, edits):
    """Return the Snakefile of a copy of the project in which some words are others."""
    for name in ("resources", "profiles", "envs"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "workflow").mkdir()
    for name in ("rules", "scripts", "lextables"):
        (folder / "workflow" / name).symlink_to(ROOT / "workflow" / name)
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(ROOT / name, folder)
    for name, (old, new) in edits.items():
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder / "Snakefile"


def alone(folder, arguments, env):
    """Run snakemake in a process of its own, for what a fork of another does not show."""
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder, env=os.environ | env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return run.returncode, run.stdout


@pytest.mark.parametrize("did", TYPED)
def test_a_mistake_ends_with_one_sentence_that_stands_last(did, tmp_path, server, waiting, request):
    mistake, folder = mistakes.ALL[did], tmp_path / "data"
    if "slow" in mistake:
        folder, run = waiting[did]
        code, said = run.result()
    else:
        if "only" in mistake:
            shutil.copytree(request.getfixturevalue("read_already"), folder)
        folder.mkdir(exist_ok=True)
        fill(folder, mistake)
        line = arguments(folder, mistake)
        if "edits" in mistake:
            snakefile = project(tmp_path / "project", mistake["edits"])
            code, said = alone(folder, ["--snakefile", str(snakefile), *line], {})
        elif "without" in mistake:
            code, said = alone(folder, line, {})
        else:
            code, said = server(folder, line, mistake.get("env", {}))
    *_, last = [line for line in said.splitlines() if line.strip()]
    assert re.fullmatch(mistakes.sentence(did, data=folder), last), said[-3000:]
    assert (code == 0) == mistake.get("not_run", False)
    assert "Traceback" not in said
    assert mistake.get("begins", False) == ("to run." in said)
    assert len(last.replace(str(folder), "/data")) <= LONGEST
    assert not not_run.made(folder.glob("results/**/runs/**/*.parquet"))


def test_there_are_fifty_and_each_is_another():
    listed = [mistake["did"] for group in mistakes.GROUPS for mistake in group["mistakes"]]
    assert len(listed) == len(set(listed)) >= 50
    keys = {key for mistake in mistakes.ALL.values() for key in mistake}
    assert keys <= {
        "did",
        "types",
        "says",
        "with",
        "edits",
        "env",
        "only",
        "without",
        "held",
        "begins",
        "not_run",
        "slow",
    }


@pytest.mark.parametrize("did", [did for did, mistake in mistakes.ALL.items() if "types" not in mistake])
def test_what_takes_more_than_a_command_line_is_held_by_another_test(did):
    test = (ROOT / mistakes.ALL[did]["held"]).read_text(encoding="utf-8")
    assert f'sentence("{did}"' in test


def test_the_page_is_made_of_the_list():
    assert mistakes.PAGE.read_text(encoding="utf-8") == mistakes.page()
