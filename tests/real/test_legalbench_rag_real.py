"""LegalBench-RAG on the real files: the authors' sample of MAUD, and the queries made from CUAD."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from lextables.papers.legalbench_rag import raw
from lextables.papers.legalbench_rag.schema import TABLES
from lextables.papers.packages import load
from lextables.pipeline.dataset import Published, check_census, read, write_all

ROOT = Path(__file__).parents[2]
PAPER = load(ROOT / "resources/papers/legalbench_rag.yaml")
# Digest of the queries, which are equal for both ways of splitting documents, and the passages of each way.
QUERIES = "c319b144714c16e89e421ec1bc9213397ca4eb84e934509f85b6ed4c7e443da9"
PASSAGES = {
    "legalbench_rag": (16_501, "decc2b68ab95a1f45b06af5cebfa45c5e33a72964d8ea7b79a699c4d6f345c99"),
    "legalbench_rag_rcts": (32_833, "a92e8951f4429de201550e4651b34ee29e1111259b83f7a68a89d23b78cccfee"),
}
FILES = {"maud": "maud/extraction_spans.json", "agreements": "maud/maud_v1.zip", "cuad": "cuad/data.zip"}


@pytest.fixture(scope="module", params=list(PAPER.data))
def made(request, mirror, tmp_path_factory):
    """Name, folder, census and notes of a data set."""
    files = {kind: [mirror / file] for kind, file in FILES.items()}
    if missing := [path for (path,) in files.values() if not path.is_file()]:
        pytest.skip(f"no real data: there is no file {missing[0]}")
    given = {name: getattr(PAPER, name) for name in PAPER.data[request.param].given}
    found, folder = raw.read(request.param, Published(files, {}, given)), tmp_path_factory.mktemp("data")
    return request.param, folder, write_all(TABLES[request.param], found.of, folder), found.notes


def test_the_data_sets_match_the_registered_census(made):
    name, _, census, notes = made
    check_census(census, PAPER.data[name].census["legalbench_rag"], name)
    assert census["queries"]["rows_sha256"] == QUERIES
    assert (census["documents"]["rows"], census["documents"]["rows_sha256"]) == PASSAGES[name]
    assert notes == {
        "contracts_without_a_title": 1, "contracts_of_one_title": 2, "questions_with_repeated_answers": 51,
        "files": 45, "characters": 8_237_963,
    }  # fmt: skip


def test_number_of_queries_from_all_of_cuad(mirror):
    path = mirror / FILES["cuad"]
    if not path.is_file():
        pytest.skip(f"no real data: there is no file {path}")
    queries, texts, _ = raw.cuad(path, PAPER.unasked, PAPER.titles)
    assert (len(queries), len({query.file for query in queries}), len(texts)) == (4_685, 478, 507)


def test_mauds_files_are_the_eighteen_of_the_authors_sample(made):
    _, folder, _, _ = made
    characters = defaultdict(int)
    for row in read(folder / "documents.parquet", ["file", "start", "end"]):
        characters[row["file"]] += row["end"] - row["start"]
    of_maud = [size for file, size in characters.items() if file.startswith("maud/")]
    assert (len(of_maud), sum(of_maud)) == (18, 7_109_200)
    queries = Counter(row["benchmark"] for row in read(folder / "queries.parquet"))
    assert queries == {"cuad": 194, "maud": 194}
