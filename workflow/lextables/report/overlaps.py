"""The target `overlaps`: how much text the splits of all data sets share, as tables, a figure and a page."""

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
from lextables.tables.cells import Line
from lextables.tables.inputs import comparable

NEAR = 0.8  # of a unit's n-grams in one other unit: a near-duplicate
SHOWN = 40  # units on the page
UNITS = ["dataset", "split", "unit"]
PAIR = ["dataset", "split", "other_dataset", "other_split"]
TITLE = "Text that the data sets share"


def read_texts(
    folder: Path, texts: Mapping[str, Any], *, once: bool = True
) -> Iterator[tuple[str, str, str]]:
    """Yield (split, unit, text) of a data set, as `papers.registry.Texts` describes it.

    Rows of one unit that follow each other are one text.  With ``once`` the same text counts once in a split.
    """
    splits_of = defaultdict(set)
    if texts["splits"]:
        for row in read(
            folder / f"{texts['splits']}.parquet", [texts["unit"], "split"]
        ):
            splits_of[row[texts["unit"]]].add(row["split"])
    columns = [
        texts["unit"],
        texts["text"],
        *([texts["split"]] if texts["split"] else []),
    ]
    rows = itertools.chain.from_iterable(
        read(folder / f"{table}.parquet", columns) for table in texts["tables"]
    )
    seen = set()
    for unit, group in itertools.groupby(rows, key=lambda row: str(row[texts["unit"]])):
        parts = list(group)
        text = "\n".join(part[texts["text"]] for part in parts)
        split = parts[0].get(texts["split"], ALL)
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        for name in sorted(splits_of[unit]) if texts["splits"] else [split]:
            if not once or (name, digest) not in seen:
                seen.add((name, digest))
                yield name, unit, text


def pairs(splits: Sequence[Split], units: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each compared pair of splits, also for those that share nothing.

    ``units`` and ``words`` are those of the split, ``short`` its excluded units, which are shorter than an
    n-gram.  ``touched``, ``half`` and ``near_duplicates`` count units that share an n-gram, half of their
    words, and `NEAR` of their n-grams with one unit of the other split.  ``share`` is the share of words.
    """
    sizes = pd.DataFrame(
        [
            (
                split.dataset,
                split.split,
                len(split.units),
                sum(split.words),
                split.short,
            )
            for split in splits
        ],
        columns=["dataset", "split", "units", "words", "short"],
    )
    compared = sizes.merge(
        sizes[["dataset", "split"]], how="cross", suffixes=("", "_2")
    )
    compared = compared.rename(
        columns={"dataset_2": "other_dataset", "split_2": "other_split"}
    )
    together = (
        sizes.groupby("dataset").filter(lambda group: len(group) > 1).dataset.unique()
    )
    with_whole = sizes.merge(
        pd.DataFrame({"other_dataset": together, "other_split": ALL}), how="cross"
    )
    compared = pd.concat(
        [compared, with_whole[with_whole.dataset != with_whole.other_dataset]]
    )
    compared = compared[
        (compared.dataset != compared.other_dataset)
        | (compared.split != compared.other_split)
    ]
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
    table["share"] = (table.shared / table.words).fillna(
        0
    )  # a split of short units has no words
    return table.sort_values(PAIR, ignore_index=True)


def lines(table: pd.DataFrame) -> list[Line]:
    """The shares as lines of a table: rows are splits, columns the splits that they share text with."""

    def name(dataset: str, split: str) -> str:
        return f"{dataset} {split}"

    return [
        Line(
            row=name(pair.dataset, pair.split),
            column=name(pair.other_dataset, pair.other_split),
            published="",
            reproduced="",
            ours=f"{pair.share:.3f}",
            low="",
            high="",
            difference="",
            prediction_low="",
            prediction_high="",
            decimals=3,
            verdict="",
            reason="",
            runs="",
        )
        for pair in table.itertuples()
    ]


def facts(table: pd.DataFrame, data: Path) -> pd.DataFrame:
    """Return the shares of pairs of data sets in ``data`` that are as published (`resources/facts`)."""
    censuses = ((name, data / name / "census.json") for name in table.dataset.unique())
    names = []
    for name, path in censuses:
        if path.is_file() and comparable(read_json(path, Sources)["sources"]):
            names.append(name)
    kept = table[table.dataset.isin(names) & table.other_dataset.isin(names)]
    return kept[[*PAIR, "share"]].round({"share": 3})


def page(
    table: pd.DataFrame, units: pd.DataFrame, scores: pd.DataFrame
) -> tuple[str, str]:
    """Return the figure as svg, and the page with it as html; ``scores`` are those without overlap."""
    shares = lines(table)
    svg = figures.draw("heat_map", shares, TITLE)
    notes = [
        f"Share of the words of the row's split that are in sequences of {RUN} words which also occur in the "
        "column's split. Case, punctuation and line breaks are ignored, and all numbers count as equal.",
        f"“{ALL}” is a data set without splits, or all splits of another data set together.",
    ]
    if len(scores):
        notes.append(
            "Scores without overlap are those of the finished runs on the other test units. In retrieval, "
            "these documents are removed, and queries without another relevant one. There are then fewer "
            "documents to rank, so such scores are compared with each other and not with those on all units."
        )
    top = units[
        (units.other_split != ALL)
        | ~units.other_dataset.isin(units.dataset[units.split != ALL])
    ]
    top = top.assign(share=top.shared / top.words).sort_values(
        ["share", "words", *PAIR, "unit"], ascending=[False, False, *[True] * 5]
    )
    top = top.drop_duplicates(UNITS).head(SHOWN)
    columns = [
        *UNITS,
        "words",
        "share",
        "other_dataset",
        "other_split",
        "nearest",
        "nearest_share",
    ]
    parts = [("Scores on test units without overlap", scores)] if len(scores) else []
    parts += [
        ("Counts for each pair", table.drop(columns="shared")),
        (f"The {len(top)} longest units with the highest shares", top[columns]),
    ]
    more = Markup("\n").join(
        Markup("<h2>{}</h2>\n{}").format(title, _html(frame)) for title, frame in parts
    )
    about = render.About(TITLE, "All ordered pairs of splits", notes)
    return svg, render.html(about, shares, svg, more)


def _html(frame: pd.DataFrame) -> Markup:
    names = {column: column.replace("_", " ") for column in frame}
    text = frame.rename(columns=names).to_html(
        index=False, border=0, float_format="{:.3f}".format, na_rep="", classes="plain"
    )
    return Markup(f'<div class="scroll" role="region" tabindex="0">{text}</div>')
