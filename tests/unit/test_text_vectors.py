"""Vectors of texts in a file, and the progress of the job that encodes them."""

import json
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from helpers import tiny_encoders
from lextables.models.text_progress import CHARACTERS_OF_TOKEN, TextProgress
from lextables.models.text_vectors import (
    DOCUMENT,
    QUERY,
    VECTORS,
    TextVectors,
    about_of,
    write_text_vectors,
)
from lextables.pipeline import job_files
from lextables.pipeline.errors import BadInput
from lextables.pipeline.job import job
from lextables.pipeline.job_files import Progress, progress_file
from lextables.pipeline.run import recorded
from lextables.tasks.classification.actions import encode as encode_pieces
from lextables.tasks.classification.vectors import read_vectors as read_pieces
from lextables.tasks.job import Job
from lextables.tasks.spans.actions import encode as encode_segments
from lextables.tasks.spans.segment_vectors import read_vectors as read_segments
from lextables.tasks.vectors import write_vectors
from snakemake_logger_plugin_lextables import Started
from snakemake_logger_plugin_lextables.remaining import Running

ABOUT = {"device": "cpu", "similarity": "cosine"}


def lengths(texts):
    return np.array([[len(text), hash(text) % 97] for text in texts], dtype=np.float32)


def negative(texts):
    return -lengths(texts)


@pytest.fixture
def file(tmp_path):
    """Return a function that writes queries and documents, and the reported texts."""

    def write(queries, documents, encode=lengths):
        path = tmp_path / "256.parquet"
        reported = []
        write_text_vectors(
            {QUERY: queries, DOCUMENT: documents},
            {QUERY: negative, DOCUMENT: encode},
            ABOUT,
            path,
            reported.extend,
        )
        return path, reported

    return write


def test_texts_have_the_vectors_of_their_part(file):
    documents = [f"document {number}" for number in range(3 * VECTORS.row_group)]
    path, reported = file(["same", "query"], ["same", *documents, "same"])
    assert reported == ["same"]  # the encoders report the others
    assert about_of(path) == ABOUT
    wanted = [documents[-1], "same", documents[0], documents[-1]]
    assert np.array_equal(TextVectors(path, DOCUMENT)(wanted), lengths(wanted))
    assert np.array_equal(TextVectors(path, QUERY)(["same"]), negative(["same"]))


def test_a_text_without_a_vector_is_an_error(file):
    path, _ = file(["query"], ["document"])
    with pytest.raises(BadInput, match=r"256\.parquet: there is no vector of .*query"):
        TextVectors(path, DOCUMENT)(["document", "query"])


def test_a_damaged_file_is_an_error(file):
    path, _ = file(["query"], ["document"])
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BadInput, match="damaged"):
        TextVectors(path, DOCUMENT)


def test_vectors_that_are_not_finite_are_not_written(file):
    with pytest.raises(BadInput, match="no finite number"):
        file(["query"], ["document"], lambda texts: np.full((1, 2), np.nan))


def test_progress_is_the_share_of_the_characters_that_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(job_files, "INTERVAL", 0)
    log = tmp_path / "log.txt"
    longest = 10 * CHARACTERS_OF_TOKEN
    texts = ["a" * longest, "b" * 10 * longest]
    report = TextProgress(log, texts, 10)
    shares = []
    for text in texts:
        report([text])
        shares.append(json.loads(progress_file(log).read_text())["share"])
    assert shares == [0.5, 1.0]


def test_the_screen_reads_the_progress_that_a_job_writes(tmp_path):
    log = tmp_path / "log.txt"
    started = Started(0.0, "Encoding.", str(log))
    assert started.running(5.0) == Running(5.0)
    Progress(log, 10)
    assert started.running(5.0) == Running(5.0, 0.0)


def test_the_pace_of_a_job_begins_after_its_first_amount(tmp_path, monkeypatch):
    """What was encoded by an earlier job, or waited for a model, has no pace."""
    times = iter([100.0, 160.0, 170.0])
    monkeypatch.setattr(job_files.time, "monotonic", lambda: next(times))
    log = tmp_path / "log.txt"
    texts = Progress(log, 100)
    started = Started(0.0, "Encoding.", str(log))
    texts.add(50)
    assert started.running(60.0) == Running(60.0, 0.5)
    texts.add(10)
    assert started.running(70.0) == Running(70.0, 0.6, left=40.0, measured=10.0)


@pytest.mark.parametrize("fails", [False, True])
def test_a_job_leaves_no_progress(tmp_path, fails):
    log = tmp_path / "log.txt"
    progress_file(log).write_text('{"share": 0.9}')  # of a killed job
    level = logging.getLogger().level
    try:
        with job(log):
            assert not progress_file(log).exists()
            Progress(log, 10)
            assert json.loads(progress_file(log).read_text())["share"] == 0.0
            if fails:
                raise BadInput("wrong")
    except SystemExit:
        assert fails
    finally:
        logging.getLogger().setLevel(level)
    assert not progress_file(log).exists()


def encode_queries(encoding):
    write_vectors(encoding, lambda: iter(["merger"]), lambda: iter(["cash"]))


def one_text(folder):
    """Write one row twice, which is a contract, an example and a text."""
    row = {"contract_id": "c", "split": "test", "text": "merger", "text_id": "t"}
    paths = [str(folder / "first.parquet"), str(folder / "second.parquet")]
    for path in paths:
        pq.write_table(pa.Table.from_pylist([row]), path)
    return paths


@pytest.mark.parametrize(
    ("encode", "read"),
    [
        (encode_queries, about_of),
        (encode_segments.run, lambda path: read_segments([path], ["c"])),
        (encode_pieces.run, read_pieces),
    ],
)
def test_runs_have_the_notes_of_the_job_that_encoded(tmp_path, encode, read):
    encoder = tmp_path / "encoder"
    body = Transformer(tiny_encoders.save(tmp_path)["bert"])
    model = SentenceTransformer(modules=[body, Pooling(32)], device="cpu")
    model.save_pretrained(str(encoder), create_model_card=False)
    path, record = str(tmp_path / "vectors.parquet"), tmp_path / "run.json"
    settings = {"model": "tiny", "weights": str(encoder), "max_length": 500}
    encode(
        Job(
            {"data": one_text(tmp_path)},
            {"vectors": [path]},
            settings,
            task={"piece": 4, "views": []},
            vectors=str(tmp_path),
            log=str(tmp_path / "log"),
        )
    )
    with recorded(record, {}):
        read(path)
    (note,) = json.loads(record.read_text())["notes"]
    assert note.startswith("texts are cut at 64 tokens")
