"""ContractEval's reader: CUAD's questions, with the released test split."""

from helpers.registered import read, written
from lextables.pipeline.dataset import read as rows_of


def test_the_sample_gives_the_registered_tables(tmp_path):
    rows = read("contracteval", "contracteval")
    written("contracteval", "contracteval", tmp_path, rows)
    cuad = list(read("cuad", "cuad").of["training_examples"])
    assert [*rows_of(tmp_path / "training_examples.parquet")] == cuad
