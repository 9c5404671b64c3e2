"""Code fingerprints change with the code that runs, and with nothing else."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lextables.pipeline import fingerprint as module
from lextables.pipeline.fingerprint import fingerprint

REPOSITORY = Path(__file__).parents[2]
FILES = {
    "script.py": '"""What it does."""\n\nfrom lextables.used import read\n\nread("a")\n',
    "lextables/__init__.py": '"""The package."""\n',
    "lextables/used.py": '''"""A module."""

from typing import TYPE_CHECKING

from lextables.metrics import f1

if TYPE_CHECKING:
    from lextables.typed import Shape


def read(path: str, *, sep=",") -> "Shape":
    """Read a table."""
    from lextables.inner import parse  # only where it is needed

    return parse(f1, path, sep, f"{path!r:>{2}}")


class Empty(Exception):
    """Nothing there."""
''',
    "lextables/metrics/__init__.py": '"""Metrics."""\n\nfrom .scores import f1, precision\n',
    "lextables/metrics/scores.py": "f1 = 1\nprecision = 2\n",
    "lextables/metrics/recall.py": "recall = 3\n",
    "lextables/inner.py": '"""Inner."""\n\nSTYLE = "style.css"\n\n\ndef parse(*parts): return parts\n',
    "lextables/style.css": "td { color: black }\n",
    "lextables/other.css": "td { color: red }\n",
    "lextables/typed.py": "class Shape: size = 1\n",
    "lextables/other.py": "Y = 1\n",
}
FILES |= dict.fromkeys(module.INFRASTRUCTURE, "TEXT = 1\n")
FILES["lextables/inner.py"] += "from lextables.pipeline.job import job\n"
USED = "lextables/used.py"
# (id, file, old text, new text, whether the fingerprint changes)
EDITS = [
    ("a comment goes", USED, "  # only where it is needed", "", False),
    ("a comment comes", USED, "def read", "# Reads.\ndef read", False),
    ("a docstring of the script", "script.py", "What it does", "What it is for", False),
    ("a docstring of a module", USED, "A module.", "One module.", False),
    ("a docstring of a function", USED, "Read a table.", "Read one table.", False),
    ("a docstring becomes pass", USED, '"""Nothing there."""', "pass", False),
    ("blank lines", USED, "\n\n\n", "\n\n", False),
    (
        "formatting",
        USED,
        "(f1, path, sep, ",
        "(\n        f1,\n        path,\n        sep,\n        ",
        False,
    ),
    ("quotes", USED, '","', "','", False),
    (
        "a string in two parts",
        "lextables/inner.py",
        '"style.css"',
        '"style" ".css"',
        False,
    ),
    ("line ends", "lextables/inner.py", "\n", "\r\n", False),
    ("a module that nothing imports", "lextables/other.py", "1", "2", False),
    ("a sibling of an imported module", "lextables/metrics/recall.py", "3", "4", False),
    ("an import for types alone", USED, "import Shape", "import Shape, Size", False),
    ("what is imported for types alone", "lextables/typed.py", "1", "2", False),
    ("a file that no module names", "lextables/other.css", "red", "blue", False),
    (
        "what stands around the work of a rule",
        "lextables/pipeline/job.py",
        "1",
        "2",
        False,
    ),
    ("code of the script", "script.py", '"a"', '"b"', True),
    ("code of a module", USED, "path, sep,", "sep, path,", True),
    ("a string that is no docstring", USED, '","', '";"', True),
    ("a conversion in an f-string", USED, "!r", "!s", True),
    ("a width in an f-string", USED, ":>{2}", ":>{3}", True),
    ("a keyword-only argument", USED, ", *, sep", ", sep", True),
    ("a constant's type", "lextables/metrics/scores.py", "f1 = 1", "f1 = 1.0", True),
    ("none for nothing", USED, "return parse", "return None\n    parse", True),
    (
        "an import in a function",
        "lextables/inner.py",
        "return parts",
        "return parts[0]",
        True,
    ),
    (
        "what an __init__ imports",
        "lextables/metrics/scores.py",
        "precision = 2",
        "precision = 3",
        True,
    ),
    (
        "code of an __init__",
        "lextables/metrics/__init__.py",
        "f1, precision",
        "f1",
        True,
    ),
    (
        "code of the outermost __init__",
        "lextables/__init__.py",
        '"""\n',
        '"""\nX = 1\n',
        True,
    ),
    ("a file that a module names", "lextables/style.css", "black", "blue", True),
    (
        "type checking turned round",
        USED,
        "if TYPE_CHECKING",
        "if not TYPE_CHECKING",
        True,
    ),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Create a folder with a script and a small `lextables` package."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "old", "new", "changes"), [e[1:] for e in EDITS], ids=[e[0] for e in EDITS]
)
def test_only_relevant_edits_change_the_fingerprint(project, name, old, new, changes):
    before = fingerprint(str(project / "script.py"))
    text = (project / name).read_text()
    assert old in text
    (project / name).write_bytes(text.replace(old, new).encode())
    assert (fingerprint(str(project / "script.py")) != before) == changes


# A fingerprint ignores names of modules and forms of import; it depends on what is imported.

MOVED = {
    "script.py": """from importlib import import_module

import numpy as np
from scipy.stats import rankdata as rank

from lextables.measures import f1, loss, recall
from lextables.text import tools
from lextables.text.reading import read

room = "a"
import_module(f"lextables.{paper}.raw").read(tools.split, rank, np.ones, f1, loss, recall)
import_module(f"lextables.{paper}.schema").read(read)
""",
    "lextables/__init__.py": "ROOT = 1\n",
    "lextables/measures/__init__.py": """from .scores import f1, recall
from lextables.measures.losses import loss
""",
    "lextables/measures/scores.py": "f1 = 1\nrecall = 2\n",
    "lextables/measures/losses.py": "f1 = 3\nrecall = 4\nloss = 5\n",
    "lextables/text/__init__.py": '"""Texts."""\n',
    "lextables/text/tools.py": """try:
    from lextables.text.fast import cut
except ImportError:
    from lextables.text.slow import cut
from lextables.measures import losses

STYLE = "style.css"


def split(text, losses=losses):
    from lextables.text import reading

    return cut(text, losses, reading.read)
""",
    "lextables/text/style.css": "td { color: black }\n",
    "lextables/text/fast.py": "def cut(text): return text\n",
    "lextables/text/slow.py": "def cut(text): return text[:]\n",
    "lextables/text/reading.py": "import lextables.measures.scores\n\nread = lextables.measures.scores.f1\n",
    "lextables/a/raw.py": "from lextables.text.tools import split as read\n",
    "lextables/a/schema.py": """late = None
from lextables.text.slow import cut as late


def read(text): return late
""",
    "lextables/coded/__init__.py": "import random\n\nrandom.seed(0)\n",
}
NAMED = ("lextables.a.raw", "lextables.a.schema")


def renamed(old, new, named=NAMED):
    """Return a function that renames a module or a package, and its name everywhere in the code."""

    def change(folder):
        source, target = (folder / name.replace(".", "/") for name in (old, new))
        suffix = "" if source.is_dir() else ".py"
        for package in reversed(target.relative_to(folder).parents):
            if not (folder / package).is_dir():
                (folder / package).mkdir()
                (folder / package / "__init__.py").write_text("")
        source.with_name(source.name + suffix).rename(
            target.with_name(target.name + suffix)
        )
        (parent, _, name), (to, _, new_name) = old.rpartition("."), new.rpartition(".")
        for path in folder.rglob("*.py"):
            text = path.read_text()

            def apart(line):
                """Import the module in a separate line, with the name that the code uses for it."""
                names = [
                    one.strip() for one in line[2].strip("()").split(",") if one.strip()
                ]
                moved = [one for one in names if one.split(" as ")[0] == name]
                lines = [
                    f"from {to} import {new_name} as {one.split(' as ')[-1]}"
                    for one in moved
                ]
                if rest := [one for one in names if one not in moved]:
                    lines.append(f"from {parent} import {', '.join(rest)}")
                return line[1] + f"\n{line[1]}".join(lines)

            text = re.sub(
                rf"^( *)from {parent} import (\([^)]*\)|[^\n(#]+)",
                apart,
                text,
                flags=re.M,
            )
            path.write_text(re.sub(rf"\b{re.escape(old)}\b", new, text))
        return [
            module.replace(f"{old}.", f"{new}.")
            if f"{old}." in f"{module}."
            else module
            for module in named
        ]

    return change


def rewritten(file, *changes):
    def change(folder):
        text = (folder / file).read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (folder / file).write_text(text)

    return change


def package_moved(folder):
    (folder / "lextables/packages").mkdir()
    (folder / "lextables/a").rename(folder / "lextables/packages/a")
    rewritten("script.py", ("lextables.{paper}", "lextables.packages.{paper}"))(folder)
    return [name.replace("lextables.a", "lextables.packages.a") for name in NAMED]


def merged(folder):
    with (folder / "lextables/text/fast.py").open("a") as file:
        file.write(
            (folder / "lextables/text/slow.py").read_text().replace("cut", "cut_slowly")
        )
    (folder / "lextables/text/slow.py").unlink()
    rewritten(
        "lextables/text/tools.py",
        (".slow import cut", ".fast import cut_slowly as cut"),
    )(folder)


TOOLS, SCRIPT, INIT = (
    "lextables/text/tools.py",
    "script.py",
    "lextables/measures/__init__.py",
)
SEVERAL = "measures import f1, loss, recall"
# (id, file, old text, new text, whether the fingerprint changes)
REPLACED = [
    (
        "an import in two lines",
        SCRIPT,
        ", loss, recall\n",
        ", loss\nfrom lextables.measures import recall\n",
        False,
    ),
    ("no relative import", INIT, ".scores", "lextables.measures.scores", False),
    (
        "another library's function",
        SCRIPT,
        "scipy.stats import rankdata as",
        "numpy import argsort as",
        True,
    ),
    ("another library", SCRIPT, "import numpy as np", "import cupy as np", True),
    (
        "another function",
        SCRIPT,
        SEVERAL,
        "measures import recall as f1, loss, f1 as recall",
        True,
    ),
    ("another module", SCRIPT, "text import tools", "text import slow as tools", True),
    (
        "what an __init__ hands on",
        INIT,
        "f1, recall",
        "recall as f1, f1 as recall",
        True,
    ),
    (
        "of which module an __init__ does",
        INIT,
        ".scores import f1, recall",
        ".losses import f1, recall",
        True,
    ),
    (
        "what a module hands on",
        "lextables/a/raw.py",
        "tools import split",
        "fast import cut",
        True,
    ),
    (
        "a parameter's name",
        TOOLS,
        "measures import losses",
        "measures import scores as losses",
        True,
    ),
    ("a library that is not used", SCRIPT, "room =", "import readline\nroom =", True),
]
# (id, function that changes the folder, whether the fingerprint changes)
MOVES = [
    *(
        (name, rewritten(file, (old, new)), reruns)
        for name, file, old, new, reruns in REPLACED
    ),
    (
        "a module is renamed",
        renamed("lextables.text.reading", "lextables.text.reader"),
        False,
    ),
    (
        "a module that is used by its name",
        renamed("lextables.text.tools", "lextables.text.cutting"),
        False,
    ),
    (
        "a module that is a parameter",
        renamed("lextables.measures.losses", "lextables.lost"),
        False,
    ),
    (
        "a module is moved",
        renamed("lextables.text.fast", "lextables.quick.text.fast"),
        False,
    ),
    (
        "a package is moved",
        renamed("lextables.text", "lextables.documents.text"),
        False,
    ),
    ("what is imported by a name put together", package_moved, False),
    (
        "a module goes where code runs",
        renamed("lextables.text.fast", "lextables.coded.fast"),
        True,
    ),
    (
        "another order of imports",
        rewritten(
            SCRIPT,
            ("import numpy as np\nfrom scipy", "from scipy"),
            ("import read\n", "import read\nimport numpy as np\n"),
            ("from lextables.text import tools\n", ""),
            ("room = ", "from lextables.text import tools\n\nroom = "),
        ),
        False,
    ),
    (
        "another name",
        rewritten(SCRIPT, ("import read", "import read as get"), ("(read)", "(get)")),
        False,
    ),
    (
        "a module in place of its function",
        rewritten(
            SCRIPT,
            ("text.reading import read", "text import reading"),
            ("(read)", "(reading.read)"),
        ),
        False,
    ),
    (
        "what an __init__ hands on, from where it is",
        rewritten(
            SCRIPT,
            (
                SEVERAL,
                "measures.scores import f1, recall\nfrom lextables.measures.losses import loss",
            ),
            ("\nroom", "import lextables.measures\n\nroom"),
        ),
        False,
    ),
    (
        "an import goes into a function",
        rewritten(
            TOOLS,
            ("from lextables.measures import losses\n", ""),
            ("losses=losses", "losses=0"),
            ("    from", "    from lextables.measures import losses as of\n    from"),
            ("losses, reading", "losses or of, reading"),
        ),
        True,
    ),
    ("two modules become one", merged, True),
    (
        "the same name of another module",
        rewritten(
            SCRIPT,
            (
                SEVERAL,
                "measures import f1, loss\nfrom lextables.measures.losses import recall",
            ),
        ),
        True,
    ),
    (
        "a module by its long name",
        rewritten(
            "lextables/text/reading.py",
            ("scores.f1", "losses.f1"),
            ("measures.scores", "measures.losses"),
        ),
        True,
    ),
    (
        "which is tried first",
        rewritten(TOOLS, ("fast", "first"), ("slow", "fast"), ("first", "slow")),
        True,
    ),
    (
        "names change places",
        rewritten(SCRIPT, ("raw", "x"), ("schema", "raw"), ('x"', 'schema"')),
        True,
    ),
    (
        "which of two comes last",
        rewritten(
            "lextables/a/schema.py",
            ("late = None\n", ""),
            ("as late\n", "as late\nlate = None\n"),
        ),
        True,
    ),
]


@pytest.fixture
def used(tmp_path, monkeypatch):
    """Create a folder with a script that uses a package in all possible ways."""
    for name, text in MOVED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("change", "reruns"), [move[1:] for move in MOVES], ids=[move[0] for move in MOVES]
)
def test_fingerprints_depend_on_imported_code_and_not_on_its_location(
    used, change, reruns
):
    before = fingerprint(str(used / SCRIPT), *NAMED)
    named = change(used) or NAMED
    for path in used.rglob("*.py"):
        compile(path.read_text(), path, "exec")
    assert (fingerprint(str(used / SCRIPT), *named) != before) == reruns


def test_a_module_imported_by_a_string_is_part_of_the_fingerprint(used):
    rewritten(SCRIPT, ("(read)", '(import_module("lextables.text.fast").cut)'))(used)
    before = fingerprint(str(used / SCRIPT), *NAMED)
    renamed("lextables.text.fast", "lextables.text.quick")(used)
    assert fingerprint(str(used / SCRIPT), *NAMED) == before
    rewritten("lextables/text/quick.py", ("return text", "return text[1:]"))(used)
    assert fingerprint(str(used / SCRIPT), *NAMED) != before


def test_the_fingerprint_does_not_depend_on_the_order_of_sets(used):
    """The order of sets differs between processes."""
    program = (
        "import sys; from pathlib import Path; from lextables.pipeline import fingerprint as f\n"
        "f.ROOT = Path(sys.argv[1]); print(f.fingerprint(*sys.argv[2:]))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program, used, used / SCRIPT, *NAMED],
            env={
                **os.environ,
                "PYTHONPATH": str(REPOSITORY / "workflow"),
                "PYTHONHASHSEED": seed,
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(found) == 1


def test_moving_modules_of_the_package_changes_no_fingerprint(tmp_path, monkeypatch):
    """Modules that are moved or renamed without other changes cause no reruns."""
    shutil.copytree(
        REPOSITORY / "workflow",
        tmp_path / "workflow",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    monkeypatch.setattr(module, "ROOT", tmp_path / "workflow")
    scripts = {
        "spans_train": [],
        "retrieval_train": ["lextables.tasks.retrieval.bi_encoder_tuning"],
        "table": [
            *("lextables.papers.cuad.registry", "lextables.papers.cuad.tables"),
            *(f"lextables.tasks.{task}.plan" for task in ("spans", "classification")),
        ],
    }

    def found(named):
        folder = tmp_path / "workflow/scripts"
        return {
            name: fingerprint(str(folder / f"{name}.py"), *named[name])
            for name in scripts
        }

    before = found(scripts)
    for old, new in {
        "lextables.tasks": "lextables.work",
        "lextables.pipeline.atomic": "lextables.pipeline.writes",
        "lextables.pipeline.dataset": "lextables.data.dataset",
        "lextables.pipeline.content": "lextables.pipeline.digests",
        "lextables.tables.render": "lextables.tables.writing",
        "lextables.models.loading": "lextables.models.weights_loading",
    }.items():
        renamed(old, new)(tmp_path / "workflow")
        for name, named in scripts.items():
            scripts[name] = [module.replace(f"{old}.", f"{new}.") for module in named]
    assert found(scripts) == before


@pytest.mark.parametrize(
    "name", ["lextables.used", "lextables.metrics", "lextables.metrics.scores"]
)
def test_a_module_can_be_given_by_its_dotted_name(project, name):
    before = fingerprint(name)
    (project / "lextables/metrics/scores.py").write_text("f1 = 2\nprecision = 2\n")
    assert fingerprint(name) != before


@pytest.mark.parametrize(
    "name", ["lextables.nothing", "lextables.metrics.scores.f1", "nothing"]
)
def test_a_missing_module_raises_an_error(project, name):
    with pytest.raises(ModuleNotFoundError, match=name):
        fingerprint(name)


def test_modules_imported_by_an_f_string_must_be_given_by_name(project):
    script = project / "script.py"
    script.write_text(
        'import importlib\n\nimportlib.import_module(f"lextables.metrics.{kind}")\n'
    )
    with pytest.raises(ModuleNotFoundError, match=r"script\.py imports"):
        fingerprint(str(script), "lextables.used")
    before = fingerprint(str(script), "lextables.metrics.recall")
    (project / "lextables/metrics/recall.py").write_text("recall = 4\n")
    assert fingerprint(str(script), "lextables.metrics.recall") != before


@pytest.fixture
def restart(monkeypatch):
    """Return a function that empties the caches, as in a new process."""

    def empty():
        for name in ("_modules", "_saved"):
            monkeypatch.setattr(module, name, type(getattr(module, name))())

    empty()
    return empty


def test_modules_are_parsed_once(project, tmp_path, restart, monkeypatch):
    before, cached = fingerprint(str(project / "script.py")), tmp_path / "modules.json"
    module.save_cache(cached)
    written = cached.stat().st_mtime_ns
    restart()
    module.load_cache(cached)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_parsed", None)
        assert fingerprint(str(project / "script.py")) == before
    module.save_cache(cached)
    assert cached.stat().st_mtime_ns == written
    (project / USED).write_text(
        (project / USED).read_text().replace("parse(f1", "parse(2")
    )
    assert fingerprint(str(project / "script.py")) != before
    module.save_cache(cached)
    assert cached.stat().st_mtime_ns != written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": "other code", "modules": {"a": ["b"]}}',
        '{"version": ',
    ],
)
def test_outdated_or_damaged_caches_are_ignored(project, tmp_path, restart, text):
    before, cached = fingerprint(str(project / "script.py")), tmp_path / "modules.json"
    cached.write_text(text)
    restart()
    module.load_cache(cached)
    assert fingerprint(str(project / "script.py")) == before
    assert not module._saved
    module.save_cache(cached / "below a file")  # cannot be written


# Python 3.12 and 3.13 build slightly different syntax trees; the same code must have one fingerprint.
SAME_CODE = '''
"""Doc."""
def plain(a, /, b=None, *c, d=1, **e): return {**e, "k": f"{a=}{b!r:>{d}}" "x" f"{a:}"}
async def waiting(): return [x async for x in y if x]
class K(A, metaclass=M):
    x: int = 1
    def f(self): "doc"
def none(): return None
match p:
    case {"a": [1, *rest]}: del rest
'''
ITS_FINGERPRINT = "43ee28fed8063081"


def test_all_python_versions_give_the_same_fingerprint(tmp_path):
    (tmp_path / "same.py").write_text(SAME_CODE)
    assert fingerprint(str(tmp_path / "same.py")) == ITS_FINGERPRINT
