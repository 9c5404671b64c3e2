"""The target `overlaps`: how much text the splits of all data sets share, as tables, a
figure and a page.
"""

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from lextables.corpora.overlaps import ALL, HALF, RUN, Split
from lextables.pipeline.dataset import Sources, read
from lextables.pipeline.files import read_json
from lextables.tables import figures, render
from lextables.tables.cells import Cell, Line, build
from lextables.tables.inputs import comparable

# A unit is a near-duplicate if this share of its n-grams is in one other unit.
NEAR = 0.8
SHOWN = 40  # units on the page
UNITS = ["dataset", "split", "unit"]
PAIR = ["dataset", "split", "other_dataset", "other_split"]
TITLE = "Text that the data sets share"


def read_texts(
    folder: Path, texts: Mapping[str, Any], *, once: bool = True
) -> Iterator[tuple[str, str, str]]:
    """Yield (split, unit, text) of the data set in ``folder``.

    ``texts`` has the fields of `registry.paper.Texts`, but ``tables``, the names of one
    or more tables, in place of ``table``.  Rows of one unit that follow each other are
    one text.  With ``once`` the same text counts once in a split.
    """
    key = texts["unit"]
    column = texts["text"]
    splits_of: dict[str, set[str]] = defaultdict(set)  # {unit: its splits}
    if texts["splits"]:
        for row in read(folder / f"{texts['splits']}.parquet", [key, "split"]):
            splits_of[row[key]].add(row["split"])
    columns = [key, column]
    if texts["split"]:
        columns.append(texts["split"])
    tables = [read(folder / f"{name}.parquet", columns) for name in texts["tables"]]
    rows = itertools.chain(*tables)
    text_keys = set()  # (split, digest of a text) that was yielded
    for unit, group in itertools.groupby(rows, key=lambda row: str(row[key])):
        first, *others = group
        text = "\n".join(row[column] for row in (first, *others))
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        splits = [first.get(texts["split"], ALL)]
        if texts["splits"]:
            splits = sorted(splits_of[unit])
        for split in splits:
            if once and (split, digest) in text_keys:
                continue
            text_keys.add((split, digest))
            yield split, unit, text


def pairs(splits: Sequence[Split], units: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each compared pair of splits, also for those that share nothing.

    ``units`` and ``words`` are numbers of the split.  ``short`` is the number of its
    excluded units, which are shorter than an n-gram of `RUN` words.  ``touched``,
    ``half`` and ``near_duplicates`` count units that share an n-gram, half of their
    words, and `NEAR` of their n-grams with one unit of the other split.  ``share`` is
    the share of the split's words that are shared.
    """
    sizes = pd.DataFrame(
        {
            "dataset": [split.dataset for split in splits],
            "split": [split.split for split in splits],
            "units": [len(split.units) for split in splits],
            "words": [sum(split.words) for split in splits],
            "short": [split.short for split in splits],
        }
    )
    others = sizes[["dataset", "split"]].add_prefix("other_")
    # Each split is compared with each other split, and with each other data set of
    # several splits as a whole.
    several = sizes.dataset.value_counts(sort=False).loc[lambda counts: counts > 1]
    whole = pd.DataFrame({"other_dataset": several.index, "other_split": ALL})
    compared = pd.concat(
        [sizes.merge(others, how="cross"), sizes.merge(whole, how="cross")]
    )
    # Within a data set, a split is compared only with the other splits.
    same = compared.dataset == compared.other_dataset
    same_split = compared.split == compared.other_split
    compared = compared[~same | (~same_split & (compared.other_split != ALL))]
    marks = units.assign(
        half=units.shared >= HALF * units.words, near=units.nearest_share >= NEAR
    )
    counts = marks.groupby(PAIR).agg(
        touched=("unit", "size"),
        half=("half", "sum"),
        near_duplicates=("near", "sum"),
        shared=("shared", "sum"),
    )
    table = compared.merge(counts.reset_index(), how="left", on=PAIR)
    numbers = ["touched", "half", "near_duplicates", "shared"]
    table[numbers] = table[numbers].fillna(0).astype("int64")
    # A split of short units has no words.
    table["share"] = (table.shared / table.words).fillna(0)
    return table.sort_values(PAIR, ignore_index=True)


def lines(table: pd.DataFrame) -> list[Line]:
    """The shares as lines of a table: rows are splits, columns the splits that they
    share text with.
    """
    cells = []
    for pair in table.to_dict("records"):
        row = f"{pair['dataset']} {pair['split']}"
        column = f"{pair['other_dataset']} {pair['other_split']}"
        cells.append(Cell(row, column, pair["share"], decimals=3))
    return build([], cells, comparable=True)


def facts(table: pd.DataFrame, data: Path) -> pd.DataFrame:
    """Return the shares of pairs of data sets in ``data`` that are as published
    (`resources/facts`).
    """
    names = []
    for name in table.dataset.unique():
        path = data / name / "census.json"
        if path.is_file() and comparable(read_json(path, Sources)["sources"]):
            names.append(name)
    published_rows = table[table.dataset.isin(names) & table.other_dataset.isin(names)]
    return published_rows[[*PAIR, "share"]].round({"share": 3})


def page(
    table: pd.DataFrame, units: pd.DataFrame, scores: pd.DataFrame, labels: pd.DataFrame
) -> tuple[str, str]:
    """Return the figure as svg, and the page with it as html.

    ``scores`` are the scores without overlap, and ``labels`` compare labels and
    relevance (`relevance.frame`).
    """
    shares = lines(table)
    svg = figures.draw("heat_map", shares, TITLE)
    notes = [
        f"Share of the words of the row's split that are in sequences of {RUN} words which also occur in the "
        "column's split. Case, punctuation and line breaks are ignored, and all numbers count as equal.",
        f"“{ALL}” is a data set without splits, or all splits of another data set together.",
    ]
    more = Markup()
    if len(scores):
        notes.append(
            "Scores without overlap are those of the finished runs on the other test units. In retrieval, "
            "these documents are removed, and queries without another relevant one. There are then fewer "
            "documents to rank, so such scores are compared with each other and not with those on all units."
        )
        more += _html("Scores on test units without overlap", scores)
    if len(labels):
        notes.append(
            "A document is relevant with at least half of the highest gain, and labelled if a quarter of its "
            "sequences of 8 words are in answers with the label. For each query the label is shown whose "
            "documents are most nearly the relevant ones. All counts are of judged documents."
        )
        more += _html("Relevant and labelled documents", labels)
    more += _html("Counts for each pair", table.drop(columns="shared"))
    # Pairs with all splits of another data set repeat those with its splits.
    with_splits = units.dataset[units.split != ALL]
    top = units[(units.other_split != ALL) | ~units.other_dataset.isin(with_splits)]
    top = top.assign(share=top.shared / top.words)
    order = ["share", "words", *PAIR, "unit"]
    top = top.sort_values(order, ascending=[False, False, *[True] * 5])
    top = top.drop_duplicates(UNITS).head(SHOWN)
    columns = [*UNITS, "words", "share", *PAIR[2:], "nearest", "nearest_share"]
    title = f"The {len(top)} longest units with the highest shares"
    more += _html(title, top[columns])
    about = render.About(TITLE, "All ordered pairs of splits", notes)
    return svg, render.html(about, shares, svg, more)


def _html(title: str, frame: pd.DataFrame) -> Markup:
    """A table under its title."""
    names = {column: str(column).replace("_", " ") for column in frame}
    text = frame.rename(columns=names).to_html(
        index=False, border=0, float_format="{:.3f}".format, na_rep="", classes="plain"
    )
    box = f'<div class="scroll" role="region" tabindex="0">{text}</div>\n'
    return Markup("<h2>{}</h2>\n{}").format(title, Markup(box))
