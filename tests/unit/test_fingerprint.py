"""Code fingerprints: they follow imports, and only those."""

from lextables import fingerprint as module
from lextables.fingerprint import fingerprint


def test_follows_imports_and_nothing_else(tmp_path, monkeypatch):
    package = tmp_path / "lextables"
    package.mkdir()
    for name, source in {
        "__init__": "",
        "used": "from lextables import deep\n",
        "deep": "X = 1\n",
        "other": "Y = 1\n",
    }.items():
        (package / f"{name}.py").write_text(source)
    script = tmp_path / "script.py"
    script.write_text("from lextables.used import deep\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)

    before = fingerprint("lextables.used", str(script))
    (package / "other.py").write_text("Y = 2\n")
    assert fingerprint("lextables.used", str(script)) == before
    (package / "deep.py").write_text("X = 2\n")
    after = fingerprint("lextables.used", str(script))
    assert after != before
    script.write_text("import lextables.used\n")
    assert fingerprint("lextables.used", str(script)) != after


def test_a_fingerprint_is_the_same_in_any_folder(tmp_path, monkeypatch):
    prints = []
    for folder in ("one", "two"):
        (tmp_path / folder / "lextables").mkdir(parents=True)
        (tmp_path / folder / "lextables/__init__.py").write_text("Z = 1\n")
        (tmp_path / folder / "s.py").write_text("import lextables\n")
        monkeypatch.setattr(module, "ROOT", tmp_path / folder)
        prints.append(fingerprint("lextables", str(tmp_path / folder / "s.py")))
    assert prints[0] == prints[1]
