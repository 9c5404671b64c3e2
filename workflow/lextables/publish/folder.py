"""Write the export of a paper or data set to its folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.run import check_weights
from lextables.publish import predictions, questions, squad, trec
from lextables.publish.card import bibtex, card, categories, description, licence_text
from lextables.publish.croissant import croissant
from lextables.publish.export import (
    Export,
    Format,
    PublishedSet,
    RunFolder,
    link,
    link_table,
)

# Functions that write a data set and its predictions in the formats of other tools, by
# kind of task.
WRITERS: Mapping[str, Callable[[PublishedSet, Path], list[Format]]] = {
    "retrieval": trec.write,
    "spans": squad.write,
    "classification": predictions.of_classification,
    "answers": predictions.of_answers,
}


def write(export: Export, path: str | Path) -> None:
    """Write an export atomically; if ``path`` is a link, to where it points."""
    with replacing_folder(Path(path).resolve()) as out:
        formats = {}
        for data_set in export.sets:
            folder = out / data_set.folder
            folder.mkdir(exist_ok=True)
            if data_set.task:
                write_formats = WRITERS[data_set.task["task"]]
                formats[data_set.name] = [
                    *write_formats(data_set, folder),
                    *questions.write(data_set, folder),
                    *link_weights(data_set, folder),
                ]
            for run in data_set.runs:
                link_table(run.scores, folder / f"scores/{run.name}.parquet")
        for table in export.tables:
            link_table(table.path, out / table.file)
        keywords = ["legal", *categories(export)]
        texts = {
            "README.md": card(export, formats),
            "LICENSE.md": licence_text(export),
            "CITATION.bib": bibtex(export),
            "croissant.json": croissant(export, description(export), keywords),
        }
        for name, text in texts.items():
            (out / name).write_text(text, encoding="utf-8", newline="\n")


def link_weights(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Link the weights fine-tuned on a data set into its folder; return the description
    of the files.

    Raises `BadInput` for weights that were changed after their run wrote them.
    """
    for weights in data_set.weights:
        check_weights(weights)
        place = folder / "weights" / RunFolder(weights.parent).name
        for path in sorted(weights.rglob("[!.]*")):
            if path.is_file():
                link(path, place / path.relative_to(weights))
    if not data_set.weights:
        return []
    text = "fine-tuned weights, as transformers or sentence-transformers saved them."
    return [Format("weights/<run>/", text)]
