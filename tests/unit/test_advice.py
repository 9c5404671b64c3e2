"""Messages that say what to do: what they say is done, and then the input is good."""

import gzip
import zipfile
from io import BytesIO

import pytest

from lextables.metrics import ranking
from lextables.models import prompts
from lextables.pipeline import entries
from lextables.pipeline.config import Config
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput
from lextables.planning import command_line
from lextables.review.contract import check_file
from lextables.review.contract_text import read_contract
from lextables.sources import archives, records
from lextables.tasks import submitted

TEXT = "query_id,document_id,score\n" + "1,2,0.5\n" * 3
TERMS = "This agreement is made by the parties.\n"


def zipped(content):
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.csv", content)
    return file.getvalue()


def predictions(data):
    return submitted.text_of(data, "a.csv")


def contract(path, data):
    path.write_bytes(data)
    return read_contract(path).text


def configured(path, text):
    path.write_text(text)
    return entries.mapping(path)


def command(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["bin/snakemake", *words])
    command_line.check_options(False)


def config(**values):
    return load_config({"papers": ["acord"], **values}, ["acord"], command_line.Path())


def csv_rows(text):
    return list(records.csv_rows(text.encode().splitlines(keepends=True), "a.csv"))


def size_checked(path, data, monkeypatch):
    monkeypatch.setattr(submitted, "SINGLE_FILE", archives.Bounds(member=100))
    path.write_bytes(data)
    submitted.check_size(path)


BOMB = gzip.compress(bytes([97]) * (300 << 20), 9)
# (advice, function, faulty input, what the advice makes of it)
PREDICTIONS = [
    ("decompress it", predictions, BOMB, TEXT.encode()),
    (
        "compress it again",
        predictions,
        gzip.compress(TEXT.encode())[:-5],
        gzip.compress(TEXT.encode()),
    ),
    (
        "save it as csv or JSON lines, or unpack it",
        predictions,
        zipped(TEXT),
        TEXT.encode(),
    ),
    ("save it as UTF-8", predictions, TEXT.encode("utf-16-le"), TEXT.encode()),
    ("save it as UTF-8", predictions, b"a\xe9,b", "aé,b".encode()),
    ("write it again", predictions, b" \n", TEXT.encode()),
    (
        "divide per cent by 100",
        lambda value: submitted.probability(value, "a"),
        "55",
        "0.55",
    ),
    ("correct it", lambda value: submitted.probability(value, "a"), "1_0", "0.10"),
    ("quote the cells that hold a comma", csv_rows, "a,b\n1,2,3\n", 'a,b\n1,"2,3"\n'),
    (
        "close its quotes, and double those inside",
        csv_rows,
        'a,b\n1,"2',
        'a,b\n1,"2"\n',
    ),
    ("fetch it again", csv_rows, "", "a,b\n"),
]


@pytest.mark.parametrize(("advice", "function", "faulty", "corrected"), PREDICTIONS)
def test_advice_about_a_file_of_records_works(advice, function, faulty, corrected):
    with pytest.raises(BadInput, match=advice):
        function(faulty)
    function(corrected)


CONTRACTS = [
    ("save the contract as .docx, PDF or plain text", b"{\\rtf1 A", TERMS.encode()),
    (
        "save the contract as .docx, PDF or plain text",
        b"<?xml version='1.0'?><a/>",
        TERMS.encode(),
    ),
    ("save the contract as UTF-8", b"This\0 is", TERMS.encode()),
    ("save it as UTF-8", b"\xff\xfeT", TERMS.encode()),
    (
        "save the contract as .docx, PDF or UTF-8",
        bytes(range(1, 32)) * 9,
        TERMS.encode(),
    ),
    (
        "save the contract as .docx or PDF",
        b"<html><body></body></html>",
        b"<html><p>This is the agreement",
    ),
]


@pytest.mark.parametrize(("advice", "faulty", "corrected"), CONTRACTS)
def test_advice_about_a_contract_works(tmp_path, advice, faulty, corrected):
    with pytest.raises(BadInput, match=advice):
        contract(tmp_path / "a", faulty)
    assert "greement" in contract(tmp_path / "a", corrected)


SETTINGS = [
    ("put it in quotes, or write a decimal number", "a: 0123", ["a: '0123'", "a: 83"]),
    ("put it in quotes, or write a decimal number", "a: 1:30", ["a: '1:30'", "a: 90"]),
]


@pytest.mark.parametrize(("advice", "faulty", "corrected"), SETTINGS)
def test_advice_about_a_number_in_yaml_works(tmp_path, advice, faulty, corrected):
    with pytest.raises(BadInput, match=advice):
        configured(tmp_path / "a.yaml", faulty)
    for text in corrected:
        configured(tmp_path / "a.yaml", text)


COMMANDS = [
    (
        "put all keys after one --config",
        ["--config=a=1", "--config=b=2"],
        ["--config", "a=1", "b=2"],
    ),
    (
        "with the digits 0 to 9",
        ["--config", "max_runtime=\u0663"],
        ["--config", "max_runtime=3"],
    ),
]


@pytest.mark.parametrize(("advice", "faulty", "corrected"), COMMANDS)
def test_advice_about_a_command_works(monkeypatch, advice, faulty, corrected):
    with pytest.raises(SystemExit, match=advice):
        command(monkeypatch, *faulty)
    command(monkeypatch, *corrected)


KEYS = [
    ("put quotes around", {"encoder": 12}, {"encoder": "12"}),
    (
        "name an existing folder or leave mirror empty",
        {"mirror": "absent"},
        {"mirror": ""},
    ),
    (
        "name an existing file or leave it empty",
        {"traffic_ranks": "/dev/zero"},
        {"traffic_ranks": ""},
    ),
    ("choose from acord", {"papers": ["acrod"]}, {"papers": ["acord"]}),
    ("leave it out", {"contract": "http://a:b@c.org/x"}, {}),
]


@pytest.mark.parametrize(("advice", "faulty", "corrected"), KEYS)
def test_advice_about_a_key_works(advice, faulty, corrected):
    with pytest.raises(BadInput, match=advice):
        config(**faulty)
    assert isinstance(config(**corrected), Config)


def test_advice_about_a_file_that_is_too_large_works(tmp_path, monkeypatch):
    with pytest.raises(BadInput, match="leave out columns and rows"):
        size_checked(tmp_path / "a", bytes(101), monkeypatch)
    size_checked(tmp_path / "a", bytes(100), monkeypatch)


def prompt(text, path):
    path.write_text(text)
    return prompts.load(path)


def contract_file(name, path):
    path.write_text(TERMS)
    (path.parent / "empty.txt").touch()
    check_file(path.parent / name)


FILES = [
    ("put one line --- between them", prompt, "a\n---\nb\n---\nc\n", "a\n---\nb\n"),
    (r"write \${name}, or \$\$ for the sign itself", prompt, "a $ b", "a $$ ${b}"),
    ("set config key contract to the path of a contract", contract_file, "", "a"),
    (
        "set config key contract to the path of a contract",
        contract_file,
        "absent.txt",
        "a",
    ),
    (
        "set config key contract to the path of a contract",
        contract_file,
        "empty.txt",
        "a",
    ),
]


@pytest.mark.parametrize(("advice", "function", "faulty", "corrected"), FILES)
def test_advice_about_other_files_works(tmp_path, advice, function, faulty, corrected):
    with pytest.raises(BadInput, match=advice):
        function(faulty, tmp_path / "a")
    function(corrected, tmp_path / "a")


METRICS = [
    ("write it as NDCG@10", "NDCG", "NDCG@10"),
    ("choose from NDCG@k, Recall@k and <n>-star precision@k", "MAP@5", "Recall@5"),
    (
        "choose from NDCG@k, Recall@k and <n>-star precision@k",
        "0-star precision@5",
        "4-star precision@5",
    ),
]


@pytest.mark.parametrize(("advice", "faulty", "corrected"), METRICS)
def test_advice_about_a_metric_works(advice, faulty, corrected):
    with pytest.raises(BadInput, match=advice):
        ranking.by_name(faulty)
    assert ranking.by_name(corrected) is not None
