"""The ID file and the filter file of the released LawngNLI, in the format of pandas
1.2, for tests.
"""

import base64
import copyreg
import lzma
import pickle
import sys
import types
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pandas  # noqa: F401  # imported before its modules are replaced

# Modules whose names are in the pickles.
NAMES = (
    "numpy.core.multiarray",
    "numpy.core.numeric",
    "pandas.core.frame",
    "pandas.core.internals.managers",
    "pandas.core.indexes.base",
    "pandas.core.indexes.numeric",
    "pandas.core.indexes.range",
)


class Calls:
    """Object that is pickled as a call of ``function`` with ``parts``."""

    def __init__(self, function, *parts):
        self.call = function, parts

    def __reduce__(self):
        return self.call


@contextmanager
def old_pandas():
    """Yield classes that are pickled with the names and structure of pandas 1.2.4 and
    numpy 1.19.
    """
    with patch.dict(sys.modules):
        yield _classes()


def _classes():
    """Return the classes of `old_pandas`, whose modules replace those of ``NAMES``.

    Pickle stores a class or function by its name, which it looks up in these modules.
    """
    modules = {}
    for name in NAMES:
        modules[name] = types.ModuleType(name)
        sys.modules[name] = modules[name]

    def put(name, thing):
        """Give a class or function this name, and its place in the module."""
        module, _, own_name = name.rpartition(".")
        thing.__module__ = module
        thing.__qualname__ = own_name
        thing.__name__ = own_name
        setattr(modules[module], own_name, thing)
        return thing

    # Only names and structure are pickled, so these functions do nothing.
    reconstruct = put("numpy.core.multiarray._reconstruct", lambda *parts: None)
    from_buffer = put("numpy.core.numeric._frombuffer", lambda *parts: None)
    scalar = put("numpy.core.multiarray.scalar", lambda *parts: None)
    new_index = put("pandas.core.indexes.base._new_Index", lambda *parts: None)
    index = put("pandas.core.indexes.base.Index", type("Index", (), {}))
    ints = put("pandas.core.indexes.numeric.Int64Index", type("Int64Index", (), {}))
    ranges = put("pandas.core.indexes.range.RangeIndex", type("RangeIndex", (), {}))
    # Classes whose instances are pickled as a new object with a state.
    stated = {
        "__init__": lambda self, state: vars(self).update(state=state),
        "__getstate__": lambda self: self.state,
    }
    stated["__reduce_ex__"] = lambda self, protocol: (
        copyreg.__newobj__,
        (type(self),),
        self.state,
    )
    frame = put("pandas.core.frame.DataFrame", type("DataFrame", (), dict(stated)))
    manager = put(
        "pandas.core.internals.managers.BlockManager",
        type("BlockManager", (), dict(stated)),
    )

    class Array:
        """An array, pickled as numpy 1.19 does; ``buffered`` as with protocol 5."""

        def __init__(self, array, buffered=False):
            self.array = array
            self.buffered = buffered

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
        """A scalar of numpy."""

        def __init__(self, value):
            self.value = value

        def __reduce__(self):
            return scalar, (self.value.dtype, self.value.tobytes())

    def make_frame(columns, blocks, rows):
        """Return a frame; ``blocks`` are (values of some columns, their places)."""
        labels = Calls(
            new_index,
            index,
            {"data": Array(np.array(columns, dtype=object)), "name": None},
        )
        axes = [labels, rows]
        pieces = [{"values": values, "mgr_locs": where} for values, where in blocks]
        state = (axes, [], [], {"0.14.1": {"axes": axes, "blocks": pieces}})
        return frame(
            {
                "_mgr": manager(state),
                "_typ": "dataframe",
                "_metadata": [],
                "attrs": {},
                "_flags": {"a": True},
            }
        )

    return types.SimpleNamespace(
        Array=Array,
        Value=Value,
        frame=make_frame,
        int_index=lambda values: Calls(
            new_index, ints, {"data": Array(np.array(values)), "name": None}
        ),
        range_index=lambda n: Calls(
            new_index, ranges, {"name": None, "start": 0, "stop": n, "step": 1}
        ),
    )


def id_row(**changes):
    """Return a row of the ID file: the parenthetical in case 2 (`CITING`) on page 12 of
    case 1 (`CITED`).
    """
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
        "label": 0,
        "negation": "negation",
        "flip": False,
        "e": False,
        "h": False,
        "sample": 1,
        "split": "train",
    }
    return {**row, **changes}


def twin_rows(index, label=0, **changes):
    """Return a row and its twin, which has the contradicted hypothesis."""
    twin = {
        "index": index + 1,
        "label": {0: 2, 1: 1, 2: 0}[label],
        "flip": True,
        "negation": "nonnegation",
    }
    row = id_row(index=index, label=label, **changes)
    return [row, row | twin]


def page(number, markup):
    """Return the mark of a page."""
    if markup == "xml":
        return f'<page-number label="{number}">*{number}</page-number>'
    attributes = f'id="p{number}" href="#p{number}" data-label="{number}" data-citation-index="1"'
    return f'<a {attributes} class="page-label">*{number}</a>'


CITED = (
    "majority",
    "Hill, J.",
    "The lessee can't  hold over &amp; pay.",
    "A later ¶12¶ page: he may not hold over.",
)
CITING = (
    "majority",
    "Poe, J.",
    "See Roe (lessee wouldn't hold over). The end¶13¶.",
    "So ordered____.",
)
DISSENT = ("dissent", "Doe, J.", "I would affirm.")


def body(*opinions, markup="html", note=""):
    """Return the body of a case in the layout of static.case.law or of the bulk
    export.

    ``opinions`` are (type, author, *paragraphs); ``¶12¶`` in a paragraph is the mark of
    page 12.  Each opinion has the footnote ``note``, if it is not empty.
    """
    content = ""
    for kind, author, *paragraphs in opinions:
        content += _opinion(kind, author, paragraphs, markup, note)
    if markup == "xml":
        return f"<casebody>\n{content}</casebody>\n"
    head = '  <section class="head-matter">\n  </section>\n'
    return f'<section class="casebody">\n{head}{content}</section>\n'


def _opinion(kind, author, paragraphs, markup, note):
    """Return the element of an opinion."""
    is_html = markup == "html"
    lines = [f'<author id="a">{author}</author>']
    if is_html:
        lines = [f'<p class="author" id="a">{author}</p>']
    for paragraph in paragraphs:
        text = ""
        for place, piece in enumerate(paragraph.split("¶")):
            text += page(piece, markup) if place % 2 else piece
        lines.append(f'<p id="b">{text}</p>')
    if note:
        lines.append(_footnote(note, is_html))
    content = "".join(f"    {line}\n" for line in lines)
    if is_html:
        opening = f'<article class="opinion" data-type="{kind}">'
        return f"  {opening}\n{content}  </article>\n"
    return f'  <opinion type="{kind}">\n{content}  </opinion>\n'


def _footnote(note, is_html):
    """Return the element of a footnote; that of HTML begins with a link."""
    text = f"<p>{note}</p>\n    "
    if is_html:
        link = '<a href="#ref_footnote_1_1">1</a>'
        opening = '<aside data-label="1" class="footnote" id="f">'
        return f"{opening}\n      {link}\n      {text}</aside>"
    return f'<footnote label="1">\n      {text}</footnote>'


def write_ids(path, rows):
    """Write the ID file with ``rows`` (`id_row`); columns may be missing."""
    columns = list(rows[0])
    values = np.empty((len(columns), len(rows)), dtype=object)
    for place, column in enumerate(columns):
        values[place] = [row[column] for row in rows]
    with old_pandas() as old:
        blocks = [(old.Array(values), slice(0, len(columns), 1))]
        frame = old.frame(columns, blocks, old.range_index(len(rows)))
        pickled = pickle.dumps(frame, protocol=5)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(pickled))
    return path


def write_masks(path, long, short):
    """Write the filter file with the digits of all long and of all short premises."""
    masks = {}
    for name, digits in (("long", long), ("short", short)):
        masks[name] = base64.b64encode(digits.encode())
    path.write_bytes(pickle.dumps(masks))
    return path
