"""Labels and n-best spans on real contracts, compared with those of transformers
4.57.6.

The counts and digests of the released code were computed by

    PYTHONPATH=workflow python bench/measure_released_spans.py \
        ../shared/mirror/cuad/data.zip \
        --released <python with transformers 4.57.6>

which also compares the pipeline with the released code.
"""

import pytest

from bench.measure_released_spans import (
    counts_and_digests,
    draw,
    make_tokenizers,
    our_side,
)

RELEASED = {
    "wordpiece": {
        "windows": 440,
        "answered": 32,
        "lists": 82,
        "spans": 1722,
        "labels_sha256": "baa9b0b4e689c8a9d99ac00769c5b4dcb1a8c15b9f24612cdf072cddaebff7b2",
        "nbest_sha256": "f48c1606161848c659b54f0e31f3f2e8998925fbc83d58642660b1f48188a334",
    },
    "byte-level": {
        "windows": 444,
        "answered": 33,
        "lists": 82,
        "spans": 1722,
        "labels_sha256": "f65ca72ad8e02e67f534891a2dce82c88989853e1b690173f4c270959210aa4f",
        "nbest_sha256": "bc1f4300f09b853ebdf12173819ab9312ed79c886b44258b359c3e2ef9a6e1eb",
    },
}


@pytest.fixture(scope="module")
def archive(mirror):
    path = mirror / "cuad/data.zip"
    if not path.is_file():
        pytest.skip(f"no real data: there is no file {path}")
    return path


@pytest.mark.parametrize("kind", RELEASED)
def test_labels_and_spans_equal_those_of_the_released_code(kind, archive, tmp_path):
    make_tokenizers(tmp_path, [kind])
    documents = draw(archive, 2)
    ours = our_side(tmp_path, documents, kind, n_best=20)
    assert counts_and_digests(ours) == RELEASED[kind]
