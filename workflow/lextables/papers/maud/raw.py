"""MAUD's two data sets: the questions about deal points, and the extraction task."""

import logging
from collections.abc import Iterator

from lextables.papers.maud import constraints, release
from lextables.papers.maud.catalogue import AuthorSettings, Catalogue, read_author_settings, read_recorded
from lextables.pipeline.dataset import Published, Row, Rows
from lextables.tasks.classification.schema import JOINT

log = logging.getLogger("lextables")


def read(name: str, published: Published) -> Rows:
    """Return the data set ``name``: `maud`, or `maud_extraction`."""
    return {"maud": _answered, "maud_extraction": _extracted}[name](published)


def _catalogue(published: Published) -> tuple[Catalogue, dict[str, int]]:
    given, recorded = published.given, published.facts["recorded"]
    known = read_recorded(recorded.read_bytes(), recorded.name, given["questions"], given["heads"])
    return release.read_catalogue(published.file("release"), known)


def _answered(published: Published) -> Rows:
    """Questions, texts and answers, the authors' settings, and what was checked of the rows."""
    path, given = published.file("release"), published.given["constraints"]
    catalogue, asked = _catalogue(published)
    settings = read_author_settings(
        {path.as_posix(): path.read_bytes() for path in published.files["single"]},
        {
            path.name: (path.read_bytes(), abridged)
            for name, abridged in (("with_abridged", True), ("without_abridged", False))
            for path in published.files[name]
        },
        catalogue,
    )
    found = release.read_release(path, catalogue, settings.author_numbers)
    conditions = [
        constraints.Condition(one["question"], one["needs"], tuple(one["answers"]))
        for one in given["conditional"]
    ]
    overlap = constraints.split_overlap(found.examples)
    counts = constraints.answer_counts(found.examples, catalogue)
    undefined = constraints.undefined_in_test(counts)
    for one in undefined:
        log.warning("%s", one.sentence)
    notes = found.notes | asked | constraints.overlap_notes(overlap)
    notes |= {
        "heads_with_examples": len({row["head_id"] for row in counts}),
        "heads_with_one_answer_in_test": sum(one.only_answer is not None for one in undefined),
        "heads_without_every_answer_in_test": len(undefined),
        "conditions_of_no_question": len(constraints.unchecked(catalogue, conditions)),
    }
    rows = {
        "examples": found.examples,
        "texts": found.texts,
        "questions": catalogue.rows(settings.author_numbers),
        "contracts": release.contract_rows(path, found.examples),
        "hyperparameters": settings.hyperparameters,
        "multi_task_grid": settings.multi_task_grid,
        "answer_counts": counts,
        "split_overlap": overlap,
        "constraint_violations": constraints.constraint_violations(
            found.examples, given["none_of_the_above"], conditions
        ),
        "published_settings": sorted(
            published_settings(settings),
            key=lambda row: (row["model"], row["setting"], row["share"], row["head_id"]),
        ),
    }
    return Rows(rows, notes)


def published_settings(settings: AuthorSettings) -> Iterator[Row]:
    """Yield what the authors found best: for each head, and with the abridged data for all heads."""
    for row in settings.hyperparameters:
        yield _setting(row, "single", row["share"], row["head_id"], updates=row["updates"])
    best: dict[str, Row] = {}
    for row in settings.multi_task_grid:
        if row["abridged"]:
            first = best.setdefault(row["model"], row)
            best[row["model"]] = max(first, row, key=lambda row: row["validation_aupr"])
    for row in best.values():
        yield _setting(row, "multi", 1.0, JOINT, epochs=row["epochs"])


def _setting(row: Row, setting: str, share: float, head: str, updates: int = 0, epochs: int = 0) -> Row:
    return {
        "model": row["model"],
        "setting": setting,
        "share": share,
        "head_id": head,
        "learning_rate": row["learning_rate"],
        "updates": updates,
        "epochs": epochs,
    }


def _extracted(published: Published) -> Rows:
    """The extraction task: its own files, one a split, or the spans that LegalBench-RAG gives."""
    catalogue, _ = _catalogue(published)
    files, given = published.files["extraction"], published.given
    if len(files) == 1:
        found = release.read_legalbench_rag(
            files[0], published.file("release"), catalogue, given["legalbench_queries"]
        )
    else:
        of_split = {split: path for split in release.SPLITS for path in files if path.stem.endswith(split)}
        found = release.read_squad_release(of_split, catalogue, given["printed_types"])
    return Rows(vars(found), found.notes)
