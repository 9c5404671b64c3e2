"""Documents are read when they are needed, a row group at a time."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_retrieval_filtered import encode

from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval import collection, documents
from lextables.tasks.retrieval.dense import retrieve
from lextables.tasks.retrieval.documents import Documents, in_order
from lextables.tasks.retrieval.filtering import read_as
from lextables.tasks.retrieval.ranking import Encoders, RankingSettings

# Not in the order of the ids, as opinions are in the order of their volumes.
TEXTS = {f"d{at * 7 % 10}": f"text {at}\u00e9" for at in range(10)}


@pytest.fixture
def path(tmp_path):
    rows = [{"document_id": name, "text": text} for name, text in TEXTS.items()]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet", row_group_size=3)
    return tmp_path / "d.parquet"


@pytest.fixture
def groups_read(monkeypatch):
    """The row groups that are read, in their order."""
    numbers = []
    read = Documents._read

    def counted(self, group):
        numbers.append(group)
        return read(self, group)

    monkeypatch.setattr(Documents, "_read", counted)
    return numbers


def test_documents_are_a_mapping_in_the_order_of_the_table(path, groups_read):
    read = Documents(path, "document_id", "text")
    assert (list(read), len(read)) == (list(TEXTS), 10)
    assert "d3" in read and "x" not in read
    assert groups_read == []
    assert dict(read) == TEXTS
    assert groups_read == [0, 1, 2, 3]
    with pytest.raises(KeyError):
        read["x"]


def test_only_the_last_row_groups_stay_in_memory(path, groups_read, monkeypatch):
    monkeypatch.setattr(documents, "KEPT_BYTES", 1)
    read = Documents(path, "document_id", "text")
    first, *_, last = TEXTS
    for name in (first, first, last, first):
        assert read[name] == TEXTS[name]
    assert groups_read == [0, 3, 0]


@pytest.mark.parametrize("how", ["whole", "filtered"])
def test_texts_of_pairs_read_each_row_group_once(path, groups_read, monkeypatch, how):
    monkeypatch.setattr(documents, "KEPT_BYTES", 1)
    names = sorted(TEXTS)
    pairs = [("text", name) for name in (*names, *names[::-1])]
    texts = read_as(how, Documents(path, "document_id", "text"), pairs)
    assert texts == [TEXTS[name] for _, name in pairs]
    assert groups_read == [0, 1, 2, 3]


def test_a_dense_first_stage_reads_each_row_group_once(path, groups_read, monkeypatch):
    monkeypatch.setattr(documents, "KEPT_BYTES", 1)
    read = Documents(path, "document_id", "text")
    queries = {f"q{at}": {"split": "test", "text": "law"} for at in range(3)}
    judged = {query: dict.fromkeys(TEXTS, 0) for query in queries}
    task = {"test": "test", "validation": "valid"}
    data = collection.Collection(read, queries, judged, task)
    hits = retrieve(data, {"a": RankingSettings(form="text")}, Encoders(encode, encode))
    assert {query: len(found) for query, found in hits["a"].items()} == dict.fromkeys(
        queries, 10
    )
    assert groups_read == [0, 1, 2, 3]


def test_a_document_that_is_not_in_the_table_is_an_error(path):
    read = Documents(path, "document_id", "text")
    assert in_order({"d9", "d0"}, read) == [
        name for name in TEXTS if name in ("d9", "d0")
    ]
    with pytest.raises(BadInput, match="'x', which is not in the table"):
        in_order({"d0", "x"}, read)


def test_a_damaged_table_is_named(path):
    read = Documents(path, "document_id", "text")
    content = bytearray(path.read_bytes())
    content[4:120] = bytes(116)
    path.write_bytes(content)
    with pytest.raises(BadInput, match="is damaged") as error:
        dict(read)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("order", "pool"), [(None, ["a", "b", "c"]), ("similarity", ["c", "a", "b"])]
)
def test_a_pool_has_the_descending_order_of_a_column(tmp_path, order, pool):
    similarities = {"a": 0.5, "b": 0.5, "c": 0.75}
    judgements = [
        {"query_id": "q", "document_id": name, "gain": 0, "similarity": value}
        for name, value in similarities.items()
    ]
    tables = {
        "documents": [{"document_id": name, "text": name} for name in similarities],
        "queries": [{"query_id": "q", "split": "test", "text": "law"}],
        "judgements": judgements,
    }
    paths = []
    for name, rows in tables.items():
        paths.append(tmp_path / f"{name}.parquet")
        pq.write_table(pa.Table.from_pylist(rows), paths[-1])
    names = {"document": "document_id", "text": "text", "gain": "gain", "order": order}
    data = collection.load(paths, {"names": names})
    assert list(data.judged["q"]) == pool
