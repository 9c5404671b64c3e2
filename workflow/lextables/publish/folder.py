"""Write the export of a paper or data set to its folder."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from lextables.pipeline.atomic import replacing_folder
from lextables.publish import predictions, questions, squad, trec
from lextables.publish.card import CATEGORIES, bibtex, card, description, licence_text
from lextables.publish.croissant import croissant
from lextables.publish.export import Export, Form, PublishedSet

# What writes the predictions and the data set of each kind of task in the formats of other tools.
WRITERS: Mapping[str, Callable[[PublishedSet, Path], list[Form]]] = {
    "retrieval": trec.write,
    "spans": squad.write,
    "classification": predictions.of_classification,
    "answers": predictions.of_answers,
}


def write(export: Export, folder: str | Path) -> None:
    """Write all that an export holds; the folder appears whole, or keeps what it held before."""
    with replacing_folder(folder) as out:
        forms: dict[str, list[Form]] = {}
        for one in export.sets:
            (out / one.folder).mkdir(exist_ok=True)
            if one.task:
                forms[one.name] = WRITERS[one.task["task"]](one, out / one.folder)
                forms[one.name] += questions.write(one, out / one.folder)
            for run in one.runs:
                link(run.scores, out / one.folder / f"scores/{run.name}.parquet")
        for table in export.tables:
            link(table.path, out / table.file)
        tasks = {one.task["task"] for one in export.sets if one.task}
        keywords = ["legal", *sorted({category for task in tasks for category in CATEGORIES[task]})]
        texts = {
            "README.md": card(export, forms),
            "LICENSE.md": licence_text(export),
            "CITATION.bib": bibtex(export),
            "croissant.json": croissant(export, description(export), keywords),
        }
        for name, text in texts.items():
            (out / name).write_text(text, encoding="utf-8", newline="\n")


def link(source: Path, target: Path) -> None:
    """Give ``target`` the bytes of ``source``: another name of the same file, or on another disk a copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)
