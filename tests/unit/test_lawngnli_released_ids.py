"""The two ID files of the released LawngNLI: valid files are read, invalid files are
rejected.
"""

import base64
import copyreg
import lzma
import os
import pickle

import numpy as np
import pytest

from helpers.released_files import Calls, id_row, old_pandas, twin_rows, write_ids
from lextables.papers.lawngnli.released.ids import Mask, load, read_ids, read_masks
from lextables.pipeline.errors import BadInput


def write(path, value, protocol=pickle.HIGHEST_PROTOCOL):
    path.write_bytes(pickle.dumps(value, protocol))
    return path


# Hostile pickles
# -------------------------------------------------------------------------------


def global_opcode(module, name):
    return f"c{module}\n{name}\n".encode()


def stack_global(module, name):
    short = [b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name)]
    return short[0] + short[1] + b"\x93"


TOUCH = "touch {}"
HOSTILE = {
    "os.system": lambda mark: pickle.dumps(Calls(os.system, TOUCH.format(mark))),
    "builtins.eval": lambda mark: pickle.dumps(
        Calls(eval, f"open({str(mark)!r}, 'w')")
    ),
    "dotted name through an expected module": lambda mark: (
        b"\x80\x04" + stack_global("numpy", "dtype.__class__.__base__") + b"."
    ),
    "copyreg._reconstructor": lambda mark: pickle.dumps(
        Calls(copyreg._reconstructor, dict, object, None)
    ),
    "extension code": lambda mark: b"\x80\x02\x82\x01.",
    "persistent id": lambda mark: b"\x80\x04\x8c\x01xQ.",
    "instance opcode": lambda mark: b"(S'touch'\nios\nsystem\n.",
    "inside a list in a dict": lambda mark: pickle.dumps(
        {"long": [(1, {"x": Calls(os.system, TOUCH.format(mark))})]}
    ),
    "protocol 0": lambda mark: pickle.dumps(Calls(os.system, TOUCH.format(mark)), 0),
    "pandas.read_pickle": lambda mark: (
        b"\x80\x04" + global_opcode("pandas", "read_pickle") + b"\x8c\x01x\x85R."
    ),
    "attributes of a class": lambda mark: (
        b"\x80\x04"
        + global_opcode("numpy", "ndarray")
        + b"N}\x8c\x04rows\x8c\x01xs\x86b."
    ),
    "a bare class": lambda mark: b"\x80\x04" + global_opcode("numpy", "ndarray") + b".",
    "an array larger than its bytes": lambda mark: (
        b"\x80\x04"
        + global_opcode("numpy.core.numeric", "_frombuffer")
        + b"(C\x00"
        + global_opcode("numpy", "dtype")
        + b"\x8c\x02i8\x85R\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x0f\x85\x8c\x01CtR."
    ),
    "an array of objects from bytes": lambda mark: (
        b"\x80\x04"
        + global_opcode("numpy.core.numeric", "_frombuffer")
        + b"(C\x08AAAAAAAA"
        + global_opcode("numpy", "dtype")
        + b"\x8c\x02O8\x85RK\x01\x85\x8c\x01CtR."
    ),
    "an array of a trillion values": lambda mark: (
        b"\x80\x04"
        + global_opcode("numpy.core.multiarray", "_reconstruct")
        + b"("
        + global_opcode("numpy", "ndarray")
        + b"\x8a\x06\x00\x00\x00\x00\x00\x01\x85C\x01btR."
    ),
    "truncated": lambda mark: pickle.dumps({"long": "A" * 100})[:-20],
    "no pickle": lambda mark: b"<html>sign in to continue</html>",
    "empty": lambda mark: b"",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_rejected_and_run_no_code(name, packed, tmp_path):
    mark = tmp_path / "touched"
    data = HOSTILE[name](mark)
    path = tmp_path / "LawngNLI_filter.xz"
    path.write_bytes(lzma.compress(data) if packed else data)
    with pytest.raises(BadInput, match="LawngNLI_filter.xz: the pickle is refused"):
        load(path)
    assert not mark.exists()


@pytest.mark.parametrize("packed", [False, True])
def test_files_that_expand_beyond_the_limit_are_rejected(packed, tmp_path):
    data = pickle.dumps({"long": "0" * 5_000_000})
    path = tmp_path / "filter.xz"
    path.write_bytes(lzma.compress(data) if packed else data)
    assert load(path) == {"long": "0" * 5_000_000}
    with pytest.raises(BadInput, match="more than 1,000,000 bytes"):
        load(path, limit_bytes=1_000_000)


def test_a_missing_file_raises_an_error(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        load(tmp_path / "ids.xz")


# Data frames that were pickled by pandas 1.2
# -----------------------------------------------------


@pytest.fixture
def old():
    with old_pandas() as classes:
        yield classes


@pytest.mark.parametrize("buffered", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_data_frame_of_pandas_1_2_is_read(old, order, buffered, packed, tmp_path):
    objects = np.empty((2, 3), dtype=object, order=order)
    objects[:] = [["a", None, "c"], [frozenset({"12"}), frozenset(), 5]]
    numbers = np.asarray(np.array([[1, 2, 3], [40, 50, 60]]), order=order)
    blocks = [
        (old.Array(objects), old.Array(np.array([0, 3]))),
        (old.Array(numbers, buffered), slice(1, 3, 1)),
        (old.Array(np.array([[True, False, True]]), buffered), slice(4, 5, 1)),
        (old.Array(np.array([[0.5, np.inf, -1.0]]), buffered), slice(5, 6, 1)),
    ]
    frame = old.frame(
        ["s", "n", "m", "pages", "flag", "x"], blocks, old.int_index([7, 8, 9])
    )
    data = pickle.dumps(frame, 5)
    path = tmp_path / "ids.xz"
    path.write_bytes(lzma.compress(data) if packed else data)
    assert load(path).to_dict("list") == {
        "s": ["a", None, "c"],
        "n": [1, 2, 3],
        "m": [40, 50, 60],
        "pages": [frozenset({"12"}), frozenset(), 5],
        "flag": [True, False, True],
        "x": [0.5, float("inf"), -1.0],
    }


def test_numpy_values_in_an_object_column_are_read(old, tmp_path):
    column = np.empty((1, 2), dtype=object)
    column[:] = [[old.Value(np.int64(12)), old.Value(np.bool_(True))]]
    frame = old.frame(["v"], [(old.Array(column), slice(0, 1, 1))], old.range_index(2))
    assert load(write(tmp_path / "p", frame)).to_dict("list") == {"v": [12, True]}


@pytest.mark.parametrize(
    "blocks",
    [
        lambda old: [],
        lambda old: [(old.Array(np.arange(4).reshape(2, 2)), slice(0, 1, 1))],
        lambda old: [(old.Array(np.arange(3).reshape(1, 3)), slice(0, 1, 1))],
        lambda old: [(old.Array(np.arange(8).reshape(1, 2, 4)), slice(0, 1, 1))],
        lambda old: [("values", slice(0, 1, 1))],
    ],
)
def test_a_data_frame_with_invalid_blocks_is_rejected(old, blocks, tmp_path):
    frame = old.frame(["v"], blocks(old), old.range_index(2))
    with pytest.raises(BadInput, match="refused"):
        load(write(tmp_path / "p", frame))


# Content of the rows and the masks
# ----------------------------------------------------------------


def test_rows_and_their_twins_are_read(tmp_path):
    alone = id_row(
        index=7,
        caseid=3.0,
        cited_pages=float("nan"),
        e=True,
        h=True,
        clause_id=None,
        sent_id=None,
    )
    first, twin, other = read_ids(
        write_ids(tmp_path / "ids.xz", [*twin_rows(41, sample=0), alone])
    )
    assert first == {
        "example_id": "000041",
        "is_twin": False,
        "index": 41,
        "citing_case_id": 2,
        "opinion": 0,
        "start": 9,
        "end": 35,
        "cited_case_id": 1,
        "pages": ["12"],
        "label": "entail",
        "negated": True,
        "analysis": False,
        "split": "train",
        "expanded": False,
        "contradicted": True,
        "flipped": False,
        "sentence": 0,
        "clause": [0],
    }
    changed = {
        "is_twin": True,
        "index": 42,
        "label": "contradict",
        "negated": False,
        "flipped": True,
    }
    assert twin == first | changed
    assert (other["example_id"], other["pages"], other["citing_case_id"]) == (
        "000007",
        [],
        3,
    )
    assert (
        other["expanded"],
        other["contradicted"],
        other["sentence"],
        other["clause"],
    ) == (True, False, None, [])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [id_row(), id_row()],
            r"ids\.xz, row 2: the index 41 repeats; download the file again",
        ),
        ([id_row(label=3)], r"ids\.xz, row 1: a value cannot be read \(IndexError"),
        ([id_row(split="dev")], "row 1: a value cannot be read"),
        ([id_row(start_index=-1)], "row 1: a value cannot be read .*-1 is no number"),
        ([id_row(caseid=float("nan"))], "row 1: a value cannot be read"),
        ([id_row(cited_pages={"xii"})], "row 1: a value cannot be read"),
        ([id_row(), id_row(index=43, i=1 << 70)], "row 2: a value cannot be read"),
        ([{"index": 41}], "ids.xz: lacks the column 'caseid'"),
    ],
)
def test_invalid_rows_raise_an_error(rows, sentence, tmp_path):
    with pytest.raises(BadInput, match=sentence):
        list(read_ids(write_ids(tmp_path / "ids.xz", rows)))


def test_a_truncated_id_file_raises_an_error(tmp_path):
    path = write_ids(tmp_path / "ids.xz", [id_row()])
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(
        BadInput, match=r"ids\.xz: the pickle is refused: .*; download the file again"
    ):
        list(read_ids(path))
    with pytest.raises(BadInput, match="holds a dict, not a frame"):
        list(read_ids(write(tmp_path / "dict", {})))


@pytest.mark.parametrize("encode", [base64.b64encode, base64.encodebytes])
@pytest.mark.parametrize("start", range(5))
def test_a_mask_can_be_applied_at_any_position(start, encode):
    mask = Mask(encode(b"0" * start + b"1101" + b"0" * 300), "here")
    assert len(mask) == start + 304
    assert mask.cut("a|bcd", start) == "abd"
    with pytest.raises(
        BadInput, match="here: the mask holds anything but 0 and 1, or ends"
    ):
        mask.cut("a" * 400, start)


@pytest.mark.parametrize(
    ("encoded", "message"),
    [
        (b"abc", "not whole base64"),
        (b"a*b=", "not base64"),
        (base64.b64encode(b"012"), "anything but 0 and 1"),
    ],
)
def test_invalid_masks_raise_an_error(encoded, message):
    with pytest.raises(BadInput, match=message):
        Mask(encoded, "here").cut("abc", 0)


@pytest.mark.parametrize(
    "value", [["long"], {"long": "MQ=="}, {"long": "MQ==", "short": 1}]
)
def test_a_filter_file_with_another_structure_is_rejected(value, tmp_path):
    with pytest.raises(BadInput, match="filter.xz"):
        read_masks(write(tmp_path / "filter.xz", value))
