"""Malicious files: paths outside of a folder, zip bombs, XML entities.

The zip bombs are real: a few megabytes that expand to gigabytes. They are read under a
memory limit.
"""

import ast
import gzip
import json
import lzma
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, NameObject, StreamObject

from helpers.caselaw_volume import html
from helpers.word_file import package, paragraph, root, run
from lextables import ROOT
from lextables.corpora.caselaw import casebody
from lextables.pipeline.errors import BadInput
from lextables.review.contract_text import read_contract
from lextables.sources import archives
from lextables.tasks.spans.released import unpack

PACKAGE = ROOT / "workflow/lextables"
GIB = 1 << 30
# File names that point outside the folder or contain invisible characters.
CLIMBING = (
    "../stray.json",
    "m/../../stray.json",
    "/tmp/lextables-stray.json",
    "m/..\\stray.json",
    "C:\\stray.json",
    "m/stray\n.json",
    "m/stray\0.json",
    "./../stray.json",
)
MAIN_PART = "word/document.xml"
DOCUMENT = root("w:document", f"<w:body>{paragraph(run('Rent.'))}</w:body>")
SYMLINK, DEVICE = 0o120777 << 16, 0o020666 << 16


# Paths


def test_a_model_zip_writes_no_file_outside_its_folder(tmp_path):
    """Nor is an archive in it unpacked, or a link made."""
    inner = package({"../stray.json": "stray"})
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr("m/config.json", "{}")
        archive.writestr("m/vocab.json", inner)
        for name in CLIMBING:
            archive.writestr(zipfile.ZipInfo(name), "stray")
        for name, kind in (("m/link.json", SYMLINK), ("m/device.json", DEVICE)):
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, kind
            archive.writestr(info, "/etc/passwd")
    model = tmp_path / "in/model"
    model.parent.mkdir()
    unpack(tmp_path / "model.zip", model)
    written = {path for path in tmp_path.rglob("*") if not path.is_dir()}
    written.remove(tmp_path / "model.zip")
    assert {path.parent for path in written} == {model}
    assert not Path("/tmp/lextables-stray.json").exists()
    assert (model / "vocab.json").read_bytes() == inner
    # A symbolic link becomes a text file that contains the path of its target.
    assert (model / "link.json").read_text() == "/etc/passwd"
    assert all(path.is_file() and not path.is_symlink() for path in written)


# Zip bombs


def deflated(size: int) -> bytes:
    """Return ``size`` zeros compressed with deflate: fast, and a thousandth of the
    size.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    piece = packer.compress(bytes(64 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * (size // (64 << 20)) + packer.flush()


def zipped(
    path: Path, name: str, packed: bytes, claimed: int, others: Mapping[str, str]
) -> None:
    """Write a zip with ``others`` and a member of the given compressed bytes and
    claimed size.
    """
    path.write_bytes(package(others))
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo(name)
        archive.writestr(info, packed)
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, claimed


def write_pdf(path: Path, packed: bytes) -> None:
    """Write a PDF with one page whose content is ``packed``, which is compressed with
    zlib.
    """
    writer, content = PdfWriter(), StreamObject()
    content[NameObject("/Filter")], content._data = NameObject("/FlateDecode"), packed
    page = writer.add_blank_page(9, 9)
    page[NameObject("/Contents")] = writer._add_object(content)
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject()}
    )
    writer.write(path)


READ = """
import json, resource, sys
from pathlib import Path
from lextables.papers.acord.raw import read_release
from lextables.review.contract_text import read_contract
from lextables.pipeline.errors import BadInput
from lextables.corpora.caselaw.volume import bodies
from lextables.tasks.submitted import text_of
from lextables.tasks.spans.released import unpack

folder = Path(sys.argv[1])
readers = {
    "release.zip": lambda path: read_release(path, {}, {}),
    "model.zip": lambda path: unpack(path, folder / "model"),
    "liar.zip": lambda path: unpack(path, folder / "liar"),
    "run.csv.gz": lambda path: text_of(path.read_bytes(), path.name),
    "twice.csv.gz": lambda path: text_of(path.read_bytes(), path.name),
    "bulk.jsonl.xz": lambda path: list(bodies(path, {1})),
    "many.docx": read_contract,
    "contract.docx": read_contract,
    "contract.pdf": read_contract,
}
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[2]), -1))
for name, read in readers.items():
    try:
        read(folder / name)
        said = "was read"
    except BadInput as error:
        said = str(error)
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
    print(json.dumps([name, said.replace(f"{folder}/", "")]))
"""
WANTED = {
    "release.zip": r"release.zip: it claims to expand to 4,294,967,296 bytes, 1,\d{3} times its size; take",
    "model.zip": r"model.zip: it claims to expand to 4,294,967,298 bytes, 1,\d{3} times its size; take",
    "liar.zip": r"liar.zip: the zip is cut short or damaged \(Bad CRC-32",
    "run.csv.gz": r"run.csv.gz: it expands beyond \d{3},\d{3},\d{3} bytes; decompress it",
    "twice.csv.gz": r"twice.csv.gz: it expands beyond 1,048,576 bytes; decompress it",
    "bulk.jsonl.xz": r"bulk.jsonl.xz: the volume .* \(OverBounds\(.a line is longer than 67,108,864 bytes",
    "many.docx": "was read",  # only the text is
    "contract.docx": r"contract.docx: a part of the Word file is too large \(it claims 100,000,000 bytes",
    "contract.pdf": r"contract.pdf: the PDF is damaged: none of its pages can be read",
}


@pytest.fixture(scope="module")
def bombs(tmp_path_factory) -> Path:
    """Write files of a few megabytes that expand to gigabytes, with the names used in
    `READ`.
    """
    folder = tmp_path_factory.mktemp("bombs")
    zeros = deflated(4 * GIB)
    assert len(zeros) < 5 << 20
    model = {"config.json": "{}"}
    zipped(folder / "release.zip", "corpus.jsonl", zeros, 4 * GIB, {})
    zipped(folder / "model.zip", "model.safetensors", zeros, 4 * GIB, model)
    zipped(folder / "liar.zip", "vocab.json", zeros, 1000, model)
    document = {MAIN_PART: DOCUMENT}
    zipped(folder / "many.docx", "word/media/a.bin", zeros, 4 * GIB, document)
    zipped(folder / "contract.docx", MAIN_PART, zeros, 10**8, {})
    one = gzip.compress(bytes(64 << 20))
    (folder / "run.csv.gz").write_bytes(one * 32)
    (folder / "twice.csv.gz").write_bytes(gzip.compress(one * 32))
    (folder / "bulk.jsonl.xz").write_bytes(
        lzma.compress(bytes(64 << 20), preset=0) * 32
    )
    write_pdf(folder / "contract.pdf", b"\x78\x9c" + zeros)
    return folder


def test_zip_bombs_are_rejected_within_the_memory_limit(bombs):
    run = subprocess.run(
        [sys.executable, "-c", READ, str(bombs), str(GIB)],
        env={
            "PYTHONPATH": str(ROOT / "workflow"),
            "OMP_NUM_THREADS": "1",
            "PATH": "/usr/bin",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    said = dict(map(json.loads, run.stdout.splitlines()))
    assert said.keys() == WANTED.keys()
    for name, pattern in WANTED.items():
        assert re.match(pattern, said[name]), said[name]
    # No unpacked folder is left on the disk.
    assert not {"model", "liar"} & {path.name for path in bombs.iterdir()}


def test_usual_archives_are_not_rejected_as_zip_bombs(tmp_path):
    """Text usually compresses to a tenth of its size; small files may compress more."""
    for name, text in (
        ("small.zip", "word " * 20_000),
        ("large.zip", "".join(map(str, range(200_000))) * 3),
    ):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("text", text)
        with archives.opened(tmp_path / name) as archive:
            assert archive.read("text").decode() == text


# XML

LAUGHS = '<!DOCTYPE d [<!ENTITY a "lol">'
for one, other in pairwise("abcdefghij"):
    LAUGHS += f'<!ENTITY {other} "{f"&{one};" * 10}">'
LAUGHS += "]>"
OUTSIDE = '<!DOCTYPE d [<!ENTITY j SYSTEM "{}">]>'
SECRET = "what only this machine may know"


def entities(tmp_path: Path) -> list[str]:
    """Return document types that expand to gigabytes or that load a local or a remote
    file.
    """
    (tmp_path / "secret").write_text(SECRET)
    local = (tmp_path / "secret").as_uri()
    remote = OUTSIDE.format("http://127.0.0.1:9/never")
    parameter = (
        f'<!DOCTYPE d [<!ENTITY % p SYSTEM "{local}"> %p; <!ENTITY j "{SECRET[:9]}">]>'
    )
    return [
        LAUGHS,
        OUTSIDE.format(local),
        remote,
        parameter,
        f'<!DOCTYPE d SYSTEM "{local}">',
    ]


def test_xml_entities_in_word_files_are_not_expanded(tmp_path):
    content = DOCUMENT.replace("Rent.", "Before &j; after.")
    path = tmp_path / "a.docx"
    read = []
    for doctype in entities(tmp_path):
        path.write_bytes(package({MAIN_PART: doctype + content}))
        with suppress(BadInput):  # a file that cannot be parsed is not read either
            read.append(read_contract(path).text)
    assert read and set(read) <= {"Before \n", "Before  after.\n"}


def test_xml_entities_in_case_law_are_rejected_or_not_expanded(tmp_path):
    body = "<casebody><opinion type='majority'><p>Before &j; after.</p></opinion></casebody>"
    page = html(("majority", ["Before &j; after."]))
    for doctype in entities(tmp_path):
        with pytest.raises(casebody.Unreadable, match="entities"):
            casebody.from_xml(doctype + body)
        text = casebody.from_html(doctype + page).parts[0].text
        assert "lol" not in text and SECRET[:9] not in text


# Unsafe calls

# Modules that may open zip files: they limit the expanded size, check a pinned digest
# or unpack nothing.
OPEN_ZIPS = {
    "sources/archives.py",
    "corpora/caselaw/volume.py",
    "sources/fetch.py",
    "review/contract_word.py",
    "models/weights.py",
    "models/tiny.py",  # writes one
}
# Calls that can execute the content of a file or unpack it to any path.
NEVER = {
    "pickle.load",
    "pickle.loads",
    "joblib.load",
    "torch.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "eval",
    "exec",
    "shutil.unpack_archive",
    "extract",
    "extractall",
    "etree.parse",
    "minidom.parse",
}

WORDS = re.compile(
    "pickle|joblib|load|eval|exec|extract|unpack|parse|ZipFile|shell|trust_remote|from_pretrained"
)


def test_tests_named_in_the_security_documentation_exist():
    paths = list((ROOT / "tests").rglob("test_*.py"))
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    existing = {path.name for path in paths} | set(
        re.findall(r"def (test_\w+)\(", text)
    )
    page = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    section = page.partition("\n## Security\n")[2]
    named = set(re.findall(r"`(test_\w+(?:\.py)?)`", section))
    assert named and named <= existing


def calls(path: Path) -> Iterator[tuple[str, str, ast.Call]]:
    """Yield the called function, its last name and the call."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)) if WORDS.search(source) else ():
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            yield function, function.rpartition(".")[2], node


def test_no_code_reads_untrusted_files_in_an_unsafe_way():
    found = []
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "workflow/scripts").glob("*.py")]:
        name = path.as_posix().removeprefix(f"{PACKAGE.as_posix()}/")
        for function, last, call in calls(path):
            options = {each.arg: ast.unparse(each.value) for each in call.keywords}
            unsafe = (
                function in NEVER
                or (last in ("extract", "extractall") and "archive" in function)
                or (last == "ZipFile" and name not in OPEN_ZIPS)
                or options.get("allow_pickle") == "True"
                or (function == "yaml.load" and options.get("Loader") != "_UniqueKeys")
                or options.get("shell") == "True"
                or options.get("trust_remote_code") == "True"
                # Without this option, transformers asks the user whether to run the
                # model's code.
                or (
                    last == "from_pretrained"
                    and not {"trust_remote_code", None} & options.keys()
                )
            )
            if unsafe:
                found.append(f"{name}, line {call.lineno}: {function}")
    assert found == []
