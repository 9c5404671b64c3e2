"""Code fingerprints: they follow what runs, and nothing that does not."""

import pytest

from lextables import fingerprint as module
from lextables.fingerprint import fingerprint

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
FILES |= dict.fromkeys(module.AROUND, "TEXT = 1\n")
FILES["lextables/inner.py"] += "from lextables.job import job\n"
USED = "lextables/used.py"
# (what is edited, in which file, the text there, the text instead, whether the fingerprint changes)
EDITS = [
    ("a comment goes", USED, "  # only where it is needed", "", False),
    ("a comment comes", USED, "def read", "# Reads.\ndef read", False),
    ("a docstring of the script", "script.py", "What it does", "What it is for", False),
    ("a docstring of a module", USED, "A module.", "One module.", False),
    ("a docstring of a function", USED, "Read a table.", "Read one table.", False),
    ("a docstring becomes pass", USED, '"""Nothing there."""', "pass", False),
    ("blank lines", USED, "\n\n\n", "\n\n", False),
    ("formatting", USED, "(f1, path, sep, ", "(\n        f1,\n        path,\n        sep,\n        ", False),
    ("quotes", USED, '","', "','", False),
    ("a string in two parts", "lextables/inner.py", '"style.css"', '"style" ".css"', False),
    ("line ends", "lextables/inner.py", "\n", "\r\n", False),
    ("a module that nothing imports", "lextables/other.py", "1", "2", False),
    ("a sibling of an imported module", "lextables/metrics/recall.py", "3", "4", False),
    ("an import for types alone", USED, "import Shape", "import Shape, Size", False),
    ("what is imported for types alone", "lextables/typed.py", "1", "2", False),
    ("a file that no module names", "lextables/other.css", "red", "blue", False),
    ("what stands around the work of a rule", "lextables/job.py", "1", "2", False),
    ("code of the script", "script.py", '"a"', '"b"', True),
    ("code of a module", USED, "path, sep,", "sep, path,", True),
    ("a string that is no docstring", USED, '","', '";"', True),
    ("a conversion in an f-string", USED, "!r", "!s", True),
    ("a width in an f-string", USED, ":>{2}", ":>{3}", True),
    ("a keyword-only argument", USED, ", *, sep", ", sep", True),
    ("a constant's type", "lextables/metrics/scores.py", "f1 = 1", "f1 = 1.0", True),
    ("none for nothing", USED, "return parse", "return None\n    parse", True),
    ("an import in a function", "lextables/inner.py", "return parts", "return parts[0]", True),
    (
        "what an __init__ imports",
        "lextables/metrics/scores.py",
        "precision = 2",
        "precision = 3",
        True,
    ),
    ("code of an __init__", "lextables/metrics/__init__.py", "f1, precision", "f1", True),
    ("code of the outermost __init__", "lextables/__init__.py", '"""\n', '"""\nX = 1\n', True),
    ("a file that a module names", "lextables/style.css", "black", "blue", True),
    ("type checking turned round", USED, "if TYPE_CHECKING", "if not TYPE_CHECKING", True),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a script and a package like ours."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("name", "old", "new", "changes"), [e[1:] for e in EDITS], ids=[e[0] for e in EDITS])
def test_what_changes_a_fingerprint(project, name, old, new, changes):
    before = fingerprint(str(project / "script.py"))
    text = (project / name).read_text()
    assert old in text
    (project / name).write_bytes(text.replace(old, new).encode())
    assert (fingerprint(str(project / "script.py")) != before) == changes


@pytest.mark.parametrize("name", ["lextables.used", "lextables.metrics", "lextables.metrics.scores"])
def test_a_module_is_named_by_dots(project, name):
    before = fingerprint(name)
    (project / "lextables/metrics/scores.py").write_text("f1 = 2\nprecision = 2\n")
    assert fingerprint(name) != before


@pytest.mark.parametrize("name", ["lextables.nothing", "lextables.metrics.scores.f1", "nothing"])
def test_a_module_that_is_not_there_is_an_error(project, name):
    with pytest.raises(ModuleNotFoundError, match=name):
        fingerprint(name)


def test_a_module_that_is_imported_by_a_name_put_together_is_named(project):
    script = project / "script.py"
    script.write_text('import importlib\n\nimportlib.import_module(f"lextables.metrics.{kind}")\n')
    with pytest.raises(ModuleNotFoundError, match=r"script\.py imports"):
        fingerprint(str(script), "lextables.used")
    before = fingerprint(str(script), "lextables.metrics.recall")
    (project / "lextables/metrics/recall.py").write_text("recall = 4\n")
    assert fingerprint(str(script), "lextables.metrics.recall") != before


def test_a_fingerprint_is_the_same_in_any_folder(tmp_path, monkeypatch):
    prints = []
    for folder in ("one", "two"):
        (tmp_path / folder / "lextables").mkdir(parents=True)
        (tmp_path / folder / "lextables/__init__.py").write_text("Z = 1\n")
        (tmp_path / folder / "s.py").write_text("import lextables\n")
        monkeypatch.setattr(module, "ROOT", tmp_path / folder)
        prints.append(fingerprint("lextables", str(tmp_path / folder / "s.py")))
    assert prints[0] == prints[1]


@pytest.fixture
def forgotten(monkeypatch):
    """What begins as a new process does: with no module read."""

    def forget():
        for name in ("_modules", "_asked", "_recalled"):
            monkeypatch.setattr(module, name, type(getattr(module, name))())

    forget()
    return forget


def test_what_was_read_of_a_module_is_not_read_again(project, tmp_path, forgotten, monkeypatch):
    before, kept = fingerprint(str(project / "script.py")), tmp_path / "kept.json"
    module.remember(kept)
    first = kept.stat().st_mtime_ns
    forgotten()
    module.recall(kept)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_parsed", None)
        assert fingerprint(str(project / "script.py")) == before
    module.remember(kept)
    assert kept.stat().st_mtime_ns == first
    (project / USED).write_text((project / USED).read_text().replace("parse(f1", "parse(2"))
    assert fingerprint(str(project / "script.py")) != before
    module.remember(kept)
    assert kept.stat().st_mtime_ns != first


@pytest.mark.parametrize("held", ["", "[]", "{}", '{"by": "other code", "modules": {"a": ["b"]}}', '{"by": '])
def test_what_is_kept_of_other_code_or_cut_short_counts_for_nothing(project, tmp_path, forgotten, held):
    before, kept = fingerprint(str(project / "script.py")), tmp_path / "kept.json"
    kept.write_text(held)
    forgotten()
    module.recall(kept)
    assert fingerprint(str(project / "script.py")) == before
    assert not module._recalled
    module.remember(kept / "below a file")  # a place that cannot be written to


# What 3.12 and 3.13 write into a tree, or leave out of it, is no change: the same code has one fingerprint.
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
ITS_FINGERPRINT = "c08e6b1b326e083f"


def test_every_version_of_python_gives_the_same(tmp_path):
    (tmp_path / "same.py").write_text(SAME_CODE)
    assert fingerprint(str(tmp_path / "same.py")) == ITS_FINGERPRINT
