"""make finds a supported Python, or prints what to install."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv

import pytest

import lextables
from lextables import ROOT

SENTENCE = re.compile(
    r"lextables needs Python 3\.11, 3\.12 or 3\.13: install it, or set its path .*PYTHON=/path/to/python."
)
# A fake Python: -c runs the real one with another version number; -m venv installs one
# that does nothing.
STUB = """#!/bin/sh
case "$1" in
  -c) exec "{real}" -c 'import sys; sys.version_info = ({major}, {minor}, 0); exec(sys.argv[1])' "$2";;
  -m) mkdir -p "$3/bin"; printf '#!/bin/sh\\n' > "$3/bin/python"; chmod +x "$3/bin/python"
      echo {name} > made-by;;
esac
"""
SHIM = "#!/bin/sh\necho 'pyenv: {name}: command not found' >&2\nexit 127\n"


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def project(tmp_path):
    """A folder with the Makefile, empty prerequisites, and a folder for programs
    without any Python.
    """
    shutil.copy(ROOT / "Makefile", tmp_path / "Makefile")
    (tmp_path / "envs").mkdir()
    (tmp_path / "workflow/snakemake_logger_plugin_lextables").mkdir(parents=True)
    for needed in re.search(
        r"^\$\(VENV\)/\.run: (.+)$", (ROOT / "Makefile").read_text(), re.M
    )[1].split():
        (tmp_path / needed).touch()
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "make", "mkdir", "printf", "chmod", "touch"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    return tmp_path


def install(project, pythons):
    for name, version in pythons.items():
        if version is None:
            executable(project / "bin" / name, SHIM.format(name=name))
        else:
            major, minor = version
            stub = STUB.format(real=sys.executable, major=major, minor=minor, name=name)
            executable(project / "bin" / name, stub)


def make(project, *arguments):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHON", "MAKEFLAGS")
    }
    return subprocess.run(
        [project / "bin/make", ".venv/.run", *arguments],
        cwd=project,
        env=environment | {"PATH": str(project / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )


def refused(run):
    return run.returncode != 0 and SENTENCE.fullmatch(run.stderr.splitlines()[0])


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ({"python3.11": (3, 11)}, "python3.11"),
        ({"python3.13": (3, 13), "python3.12": (3, 12)}, "python3.12"),
        ({"python3.11": None, "python3.12": None, "python3.13": (3, 13)}, "python3.13"),
        ({"python3": (3, 12)}, "python3"),
        ({"python3": (3, 10), "python": (3, 11)}, "python"),
        ({}, None),
        ({"python3.11": None, "python3": None}, None),
        ({"python3": (3, 10)}, None),
        ({"python3": (3, 14)}, None),
        ({"python": (2, 7)}, None),
    ],
)
def test_the_first_supported_python_is_used_or_the_error_says_what_to_install(
    project, pythons, chosen
):
    install(project, pythons)
    run = make(project)
    assert (run.returncode == 0) if chosen else refused(run), run.stderr
    assert (project / ".venv").exists() == bool(chosen)
    assert chosen is None or (project / "made-by").read_text().strip() == chosen


def test_a_python_given_by_the_user_is_used_or_rejected(project):
    install(project, {"python3.11": (3, 11)})
    (project / "my pythons").mkdir()
    for name, minor in (("new", 13), ("old", 9)):
        stub = STUB.format(real=sys.executable, major=3, minor=minor, name=name)
        executable(project / "my pythons" / name, stub)
    assert refused(make(project, f"PYTHON={project / 'my pythons/old'}"))
    run = make(project, f"PYTHON={project / 'my pythons/new'}")
    assert run.returncode == 0, run.stderr
    assert (project / "made-by").read_text().strip() == "new"


def test_the_package_is_imported_from_the_folder_also_after_a_move(tmp_path):
    """The installation is the command of the Makefile, in an environment without
    pip.
    """
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "workflow/lextables").mkdir(parents=True)
    (old / "workflow/lextables/__init__.py").touch()
    (old / "envs").mkdir()
    (old / "envs/requirements.txt").touch()
    shutil.copy(ROOT / "Makefile", old / "Makefile")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", old / ".venv"], check=True
    )
    planned = subprocess.run(
        ["make", "--dry-run", ".venv/.run", f"PYTHON={sys.executable}"],
        cwd=old,
        check=True,
        capture_output=True,
        text=True,
    )
    (command,) = re.findall(r"^\S+python -c 'import os, .*$", planned.stdout, re.M)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(command, cwd=old, shell=True, check=True, env=environment)
    # The old folder remains, so that an absolute path would be found there.
    shutil.copytree(old, new, symlinks=True)
    for folder in (old, new):
        run = subprocess.run(
            [
                folder / ".venv/bin/python",
                "-c",
                "import lextables as x; print(x.__file__)",
            ],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        assert run.stdout.strip() == str(folder / "workflow/lextables/__init__.py")


def test_the_installed_command_starts_lextables(tmp_path):
    """The code of `make install`, in an environment that sees the packages of this
    one.
    """
    recipe = subprocess.run(
        ["make", "--dry-run", "--always-make", ".venv/.run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (line,) = (line for line in recipe.splitlines() if "lextables.pth" in line)
    program = shlex.split(line)[-1]
    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run([python, "-c", program], cwd=ROOT, check=True)
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": sysconfig.get_path("purelib")}
    run = subprocess.run(
        [tmp_path / "venv/bin/lextables", "--version"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == lextables.__version__
