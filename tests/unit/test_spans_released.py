"""The released weights are unpacked from their zip; other pickles in it are not."""

import json
import zipfile

import pytest

from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.released import archive_record, pin_notes, unpack


def packed(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, name)
    return path


def test_only_files_that_loading_needs_are_unpacked(tmp_path):
    names = (
        "roberta-base/config.json",
        "roberta-base/pytorch_model.bin",
        "roberta-base/vocab.json",
    )
    pickles = (
        "roberta-base/training_args.bin",
        "roberta-base/optimizer.pt",
        "__MACOSX/roberta-base/._vocab.json",
    )
    archive = packed(tmp_path / "roberta-base.zip", *names, *pickles)
    kept = unpack(archive, tmp_path / "model")
    assert kept == ["config.json", "pytorch_model.bin", "vocab.json"]
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == kept
    assert (tmp_path / "model/config.json").read_text() == "roberta-base/config.json"


@pytest.mark.parametrize(
    ("variant", "pinned", "notes"),
    [
        ("release", True, []),
        (
            "unverified",
            False,
            [
                "the authors' weights are not pinned: roberta-base.zip had sha256:ab "
                "when it was read"
            ],
        ),
    ],
)
def test_weights_without_a_registered_digest_are_not_pinned(
    tmp_path, variant, pinned, notes
):
    provenance = {
        "source": "cuad_checkpoints",
        "file": "roberta-base.zip",
        "variant": variant,
        "comparable": pinned,
        "digest": "sha256:ab",
    }
    (tmp_path / "roberta-base.zip.json").write_text(json.dumps(provenance))
    archive = archive_record(tmp_path / "roberta-base.zip")
    assert archive == {
        "file": "roberta-base.zip",
        "digest": "sha256:ab",
        "pinned": pinned,
    }
    assert pin_notes(archive) == notes


@pytest.mark.parametrize("names", [("vocab.json",), ("a/config.json", "b/config.json")])
def test_a_zip_with_zero_or_two_models_raises(tmp_path, names):
    with pytest.raises(
        BadInput,
        match=rf"^model.zip: the zip holds {len(names) // 2 * 2} files config.json",
    ):
        unpack(packed(tmp_path / "model.zip", *names), tmp_path / "model")
    assert not (tmp_path / "model").exists()
