import base64
import copyreg
import lzma
import os
import pickle
import sys
import types

import numpy as np
import pytest

from lextables.papers.lawngnli.released_ids import (
    ID_COLUMNS,
    Mask,
    ReleasedOpinion,
    load,
    read_ids,
    read_masks,
    rebuild,
    released_majority,
    released_opinions,
    released_short_premise,
)
from lextables.pipeline.errors import BadInput


def write(path, value, protocol=pickle.HIGHEST_PROTOCOL):
    path.write_bytes(pickle.dumps(value, protocol))
    return path


# Pickles that were meant to do harm ------------------------------------------------------------


class Calls:
    """Pickles as a call of ``function`` with ``parts``."""

    def __init__(self, function, *parts):
        self.call = function, parts

    def __reduce__(self):
        return self.call


def global_opcode(module, name):
    return f"c{module}\n{name}\n".encode()


def stack_global(module, name):
    short = [b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name)]
    return short[0] + short[1] + b"\x93"


TOUCH = "touch {}"
HOSTILE = {
    "os.system": lambda mark: pickle.dumps(Calls(os.system, TOUCH.format(mark))),
    "builtins.eval": lambda mark: pickle.dumps(Calls(eval, f"open({str(mark)!r}, 'w')")),
    "dotted name through an expected module": lambda mark: (
        b"\x80\x04" + stack_global("numpy", "dtype.__class__.__base__") + b"."
    ),
    "copyreg._reconstructor": lambda mark: pickle.dumps(Calls(copyreg._reconstructor, dict, object, None)),
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
        b"\x80\x04" + global_opcode("numpy", "ndarray") + b"N}\x8c\x04rows\x8c\x01xs\x86b."
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
def test_hostile_pickles_are_refused_and_do_nothing(name, packed, tmp_path):
    mark = tmp_path / "touched"
    data = HOSTILE[name](mark)
    path = tmp_path / "LawngNLI_filter.xz"
    path.write_bytes(lzma.compress(data) if packed else data)
    with pytest.raises(BadInput, match="LawngNLI_filter.xz: the pickle is refused"):
        load(path)
    assert not mark.exists()


def test_the_sentence_names_what_was_asked_for(tmp_path):
    path = write(tmp_path / "ids.xz", Calls(os.system, "true"))
    with pytest.raises(BadInput) as error:
        load(path)
    assert f"{path}: the pickle is refused: it asks for {os.system.__module__}.system, which is not" in str(
        error.value
    )


@pytest.mark.parametrize("packed", [False, True])
def test_what_unpacks_to_too_much_is_refused(packed, tmp_path):
    data = pickle.dumps({"long": "0" * 5_000_000})
    path = tmp_path / "filter.xz"
    path.write_bytes(lzma.compress(data) if packed else data)
    assert load(path) == {"long": "0" * 5_000_000}
    with pytest.raises(BadInput, match="more than 1,000,000 bytes"):
        load(path, limit_bytes=1_000_000)


def test_a_missing_file(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        load(tmp_path / "ids.xz")


# A frame as pandas 1.2 pickled it ----------------------------------------------------------------


@pytest.fixture
def old_pandas(monkeypatch):
    """Classes that pickle under the names and in the shapes of pandas 1.2.4 and numpy 1.19."""
    module = {}
    for name in (
        "numpy.core.multiarray",
        "numpy.core.numeric",
        "pandas.core.frame",
        "pandas.core.internals.managers",
        "pandas.core.indexes.base",
        "pandas.core.indexes.numeric",
        "pandas.core.indexes.range",
    ):
        module[name] = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module[name])

    def put(name, thing):
        at, _, own = name.rpartition(".")
        thing.__module__, thing.__qualname__, thing.__name__ = at, own, own
        setattr(module[at], own, thing)
        return thing

    reconstruct = put("numpy.core.multiarray._reconstruct", lambda *parts: None)
    from_buffer = put("numpy.core.numeric._frombuffer", lambda *parts: None)
    scalar = put("numpy.core.multiarray.scalar", lambda *parts: None)
    new_index = put("pandas.core.indexes.base._new_Index", lambda *parts: None)
    index = put("pandas.core.indexes.base.Index", type("Index", (), {}))
    ints = put("pandas.core.indexes.numeric.Int64Index", type("Int64Index", (), {}))
    ranges = put("pandas.core.indexes.range.RangeIndex", type("RangeIndex", (), {}))
    stated = {
        "__init__": lambda self, state: vars(self).update(state=state),
        "__getstate__": lambda self: self.state,
    }
    stated["__reduce_ex__"] = lambda self, protocol: (copyreg.__newobj__, (type(self),), self.state)
    frame = put("pandas.core.frame.DataFrame", type("DataFrame", (), dict(stated)))
    manager = put("pandas.core.internals.managers.BlockManager", type("BlockManager", (), dict(stated)))

    class Array:
        def __init__(self, array, buffered=False):
            self.array, self.buffered = array, buffered

        def __reduce__(self):
            _, parts, state = self.array.__reduce__()
            if not self.buffered:
                return reconstruct, parts, state
            order = "C" if self.array.flags.c_contiguous else "F"
            return from_buffer, (
                bytearray(self.array.tobytes("A")),
                self.array.dtype,
                self.array.shape,
                order,
            )

    class Value:
        def __init__(self, value):
            self.value = value

        def __reduce__(self):
            return scalar, (self.value.dtype, self.value.tobytes())

    def make_frame(columns, blocks, rows):
        labels = Calls(new_index, index, {"data": Array(np.array(columns, dtype=object)), "name": None})
        axes = [labels, rows]
        pieces = [{"values": values, "mgr_locs": where} for values, where in blocks]
        state = (axes, [], [], {"0.14.1": {"axes": axes, "blocks": pieces}})
        return frame(
            {"_mgr": manager(state), "_typ": "dataframe", "_metadata": [], "attrs": {}, "_flags": {"a": True}}
        )

    return types.SimpleNamespace(
        Array=Array,
        Value=Value,
        frame=make_frame,
        int_index=lambda values: Calls(new_index, ints, {"data": Array(np.array(values)), "name": None}),
        range_index=lambda n: Calls(new_index, ranges, {"name": None, "start": 0, "stop": n, "step": 1}),
    )


@pytest.mark.parametrize("buffered", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_frame_of_pandas_1_2_is_read(old_pandas, order, buffered, packed, tmp_path):
    old = old_pandas
    objects = np.empty((2, 3), dtype=object, order=order)
    objects[:] = [["a", None, "c"], [frozenset({"12"}), frozenset(), 5]]
    numbers = np.asarray(np.array([[1, 2, 3], [40, 50, 60]]), order=order)
    blocks = [
        (old.Array(objects), old.Array(np.array([0, 3]))),
        (old.Array(numbers, buffered), slice(1, 3, 1)),
        (old.Array(np.array([[True, False, True]]), buffered), slice(4, 5, 1)),
        (old.Array(np.array([[0.5, np.inf, -1.0]]), buffered), slice(5, 6, 1)),
    ]
    frame = old.frame(["s", "n", "m", "pages", "flag", "x"], blocks, old.int_index([7, 8, 9]))
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


def test_numpy_values_inside_an_object_column(old_pandas, tmp_path):
    column = np.empty((1, 2), dtype=object)
    column[:] = [[old_pandas.Value(np.int64(12)), old_pandas.Value(np.bool_(True))]]
    frame = old_pandas.frame(["v"], [(old_pandas.Array(column), slice(0, 1, 1))], old_pandas.range_index(2))
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
def test_a_frame_whose_blocks_do_not_fit_is_refused(old_pandas, blocks, tmp_path):
    frame = old_pandas.frame(["v"], blocks(old_pandas), old_pandas.range_index(2))
    with pytest.raises(BadInput, match="refused"):
        load(write(tmp_path / "p", frame))


# What the rows say --------------------------------------------------------------------------------


CASEBODY = """<casebody firstpage="11" lastpage="13" xmlns="http://example.org/">
  <parties id="p">Roe &amp; Co. v. Doe</parties>
  <opinion type="majority">
    <author id="a">Hill, J.</author>
    <p id="b1">The lessee of Roe &amp; Co. can't  hold over.</p>
    <p id="b2">A later paragraph <page-number label="12">*12</page-number>runs over the page.</p>
    <p id="b3">The end<page-number citation-index="1" label="13">*13</page-number> is here: a|b.</p>
  </opinion>
  <opinion type="dissent">
    <author id="c">Poe, J.</author>
    <p id="b4">I would affirm____.</p>
  </opinion>
</casebody>
"""
MAJORITY = (
    "The lessee of Roe & Co. can't hold over.\n A later paragraph @12@runs over the page.\n"
    " The end@13@ is here: a|b.\n "
)


def test_released_opinions():
    majority, dissent = released_opinions(CASEBODY)
    assert majority == ReleasedOpinion("majority", MAJORITY)
    assert dissent == ReleasedOpinion("dissent", "I would affirm.\n \n")
    assert majority.unpaged == MAJORITY.replace("@12@", "").replace("@13@", "")
    assert released_opinions("<casebody></casebody>\n") == []
    assert released_majority([majority, dissent]) == MAJORITY
    assert released_majority([dissent]) is None
    assert released_majority([majority, majority]) is None


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (["12"], "A later paragraph @12@runs over the page.\n The end@13@ is here: a|b."),
        (["11"], "The lessee of Roe & Co. can't hold over.\n A later paragraph @12@runs over the page."),
        (["13"], "The end@13@ is here: a|b.\n "),
        (["99"], None),
    ],
)
def test_released_short_premise(pages, expected):
    found = released_short_premise(MAJORITY, pages)
    assert (found if found is None else found.rstrip("\n")) == expected


def id_row(**changes):
    row = {
        "index": 41,
        "caseid": 2,
        "cited_case": 1,
        "cited_pages": frozenset({"12"}),
        "i": 0,
        "start_index": 9,
        "end_index": 35,
        "clause_id": "0",
        "sent_id": 0,
        "label": 2,
        "negation": "negation",
        "flip": True,
        "e": False,
        "h": True,
        "sample": 1,
        "split": "val",
    }
    return {**row, **changes}


CITING = ReleasedOpinion("majority", "See @3@Roe (lessee wouldn't hold over).")
CASES = {1: released_opinions(CASEBODY), 2: [CITING]}


def masks_for(rows, cut):
    """Masks, as the file holds them, that take ``cut`` out of each premise."""
    out = {}
    for name in ("long", "short"):
        digits = ""
        for row in rebuild(rows, CASES.get):
            text = (row[f"{name}_premise_with_citations"] or "").replace("|", "")
            at = text.find(cut)
            digits += "".join("0" if at >= 0 and at <= i < at + len(cut) else "1" for i in range(len(text)))
        out[name] = base64.b64encode(digits.encode())
    return out


def test_rebuild():
    (row,) = rebuild([id_row()], CASES.get)
    assert row["parenthetical"] == "lessee would not hold over"
    assert row["long_premise_with_citations"] == MAJORITY.replace("@12@", "").replace("@13@", "")
    assert row["short_premise_with_citations"].startswith(
        "A later paragraph runs over the page.\n The end is"
    )
    assert (row["example_id"], row["citing_case_id"], row["cited_case_id"], row["pages"]) == (
        41,
        2,
        1,
        ["12"],
    )
    assert (row["label"], row["negated"], row["analysis"], row["split"]) == ("contradict", True, True, "val")
    assert row["released"] == id_row()
    assert "long_premise" not in row


@pytest.mark.parametrize("pages", [frozenset(), None, float("nan"), frozenset({"99"})])
def test_rows_without_pages_have_no_short_premise(pages):
    (row,) = rebuild([id_row(cited_pages=pages)], CASES.get)
    assert row["short_premise_with_citations"] is None


def test_cases_outside_the_corpus_are_passed_over():
    rows = [id_row(cited_case=99), id_row(index=42), id_row(caseid=98), id_row(i=3)]
    assert [row["example_id"] for row in rebuild(rows, CASES.get)] == [42]


def test_masks_cut_the_premises_one_after_the_other(tmp_path):
    rows = [
        id_row(),
        id_row(index=42, cited_pages=frozenset()),
        id_row(index=43, cited_pages=frozenset({"13"})),
    ]
    path = write(tmp_path / "LawngNLI_filter.xz", masks_for(rows, "The end "))
    rebuilt = list(rebuild(rows, CASES.get, read_masks(path)))
    for row in rebuilt:
        assert row["long_premise"] == row["long_premise_with_citations"].replace("|", "").replace(
            "The end ", ""
        )
    assert [row["short_premise"] and row["short_premise"][:9] for row in rebuilt] == [
        "A later p",
        None,
        "is here: ",
    ]


def test_masks_that_do_not_fit_say_by_how_much():
    rows = [id_row()]
    masks = {name: Mask(encoded, name) for name, encoded in masks_for(rows * 2, "x").items()}
    with pytest.raises(BadInput, match="the long premises have 103 characters and the mask has 206"):
        next(rebuild(rows, CASES.get, masks))
    with pytest.raises(BadInput, match="index 41: the masks need every case; case 2 or 99 is not"):
        next(rebuild([id_row(cited_case=99)], CASES.get, masks))


@pytest.mark.parametrize("digits", ["", "0", "01", "011", "0110", "1" * 1000])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.encodebytes])
def test_mask_lengths_and_pieces(digits, encode):
    mask = Mask(encode(digits.encode()), "here")
    assert len(mask) == len(digits)
    assert b"".join(mask.pieces(size=3)) == digits.encode()


@pytest.mark.parametrize(
    ("encoded", "message"),
    [(b"abc", "not whole base64"), (b"a*b=", "not base64"), (base64.b64encode(b"012"), "other than 0 and 1")],
)
def test_bad_masks(encoded, message):
    with pytest.raises(BadInput, match=message):
        b"".join(Mask(encoded, "here").pieces())


@pytest.mark.parametrize("value", [["long"], {"long": "MQ=="}, {"long": "MQ==", "short": 1}])
def test_a_filter_file_of_another_shape_is_refused(value, tmp_path):
    with pytest.raises(BadInput, match="filter.xz"):
        read_masks(write(tmp_path / "filter.xz", value))


def test_read_ids(old_pandas, tmp_path):
    rows = [id_row(), id_row(index=42, cited_pages=frozenset({"12", "13"}))]
    values = np.empty((len(ID_COLUMNS), 2), dtype=object)
    for at, column in enumerate(ID_COLUMNS):
        values[at] = [row[column] for row in rows]
    frame = old_pandas.frame(
        list(ID_COLUMNS),
        [(old_pandas.Array(values), slice(0, len(ID_COLUMNS), 1))],
        old_pandas.range_index(2),
    )
    path = tmp_path / "ids.xz"
    path.write_bytes(lzma.compress(pickle.dumps(frame)))
    assert read_ids(path) == rows
    short = old_pandas.frame(
        list(ID_COLUMNS[1:]),
        [(old_pandas.Array(values[1:]), slice(0, len(ID_COLUMNS) - 1, 1))],
        old_pandas.range_index(2),
    )
    with pytest.raises(BadInput, match="lacks the column 'index'"):
        read_ids(write(tmp_path / "short", short))
    with pytest.raises(BadInput, match="holds a dict, not a frame"):
        read_ids(write(tmp_path / "dict", {}))
