"""MAUD's zip, settings and extraction files to parquet, held to the registered census."""

import json
from pathlib import Path

from lextables.dataset import check_census, write_all, write_census
from lextables.job import job
from lextables.maud import constraints, raw
from lextables.maud.catalogue import read_author_settings, read_recorded
from lextables.maud.schema import EXTRACTION_TABLES, TABLES


def by_name(paths, names):
    """The paths of the files called ``names``, which are longer than a path's last part."""
    return {name: next(Path(path) for path in paths if path.endswith(f"/{name}")) for name in names}


with job(snakemake.log[0]) as log:
    paper = snakemake.params
    sources = [json.loads(Path(path).read_text(encoding="utf-8")) for path in snakemake.input.provenance]
    release, recorded = Path(snakemake.input.release), Path(snakemake.input.recorded)
    catalogue, asked = raw.read_catalogue(
        release, read_recorded(recorded.read_bytes(), recorded.name, paper.questions, paper.heads)
    )
    single = by_name(snakemake.input.settings, paper.settings["single"])
    multi = by_name(snakemake.input.settings, paper.settings["multi"])
    settings = read_author_settings(
        {name: path.read_bytes() for name, path in single.items()},
        {name: (path.read_bytes(), paper.settings["multi"][name]) for name, path in multi.items()},
        catalogue,
    )
    read = raw.read_release(release, catalogue, settings.author_numbers)
    conditions = [
        constraints.Condition(one["question"], one["needs"], tuple(one["answers"]))
        for one in paper.constraints["conditional"]
    ]
    overlap = constraints.split_overlap(read.examples)
    counts = constraints.answer_counts(read.examples, catalogue)
    broken = constraints.constraint_violations(
        read.examples, paper.constraints["none_of_the_above"], conditions
    )
    rows = {
        "examples": read.examples,
        "texts": read.texts,
        "questions": catalogue.rows(settings.author_numbers),
        "contracts": raw.contract_rows(release, read.examples),
        "hyperparameters": settings.hyperparameters,
        "multi_task_grid": settings.multi_task_grid,
        "answer_counts": counts,
        "split_overlap": overlap,
        "constraint_violations": broken,
    }
    undefined = constraints.undefined_in_test(counts)
    for one in undefined:
        log.warning("%s", one.sentence)
    notes = read.notes | asked | constraints.overlap_notes(overlap)
    notes |= {
        "heads_with_examples": len({row["head_id"] for row in counts}),
        "heads_with_one_answer_in_test": sum(one.only_answer is not None for one in undefined),
        "heads_without_every_answer_in_test": len(undefined),
        "conditions_of_no_question": len(constraints.unchecked(catalogue, conditions)),
    }
    # The examples are those of the zip; the other files have variants of their own.
    variant = next(source["variant"] for source in sources if source["file"] == release.name)
    expected = paper.census.get(variant, {})
    record = {
        "data": write_all(TABLES, rows, Path(snakemake.output.census).parent),
        "notes": notes,
        "sources": sources,
    }
    log.info("%s", notes)
    check_census(
        record["data"],
        {k: v for k, v in expected.items() if not k.startswith("extraction_")},
        f"MAUD, {variant}",
    )
    write_census(snakemake.output.census, record)

    # The extraction task: its own files, or the spans that LegalBench-RAG gives.
    files = [Path(path) for path in snakemake.input.extraction]
    if len(files) == 1:
        extraction = raw.read_legalbench_rag(files[0], release, catalogue, paper.legalbench_queries)
    else:
        of_split = {split: path for split in raw.SPLITS for path in files if path.stem.endswith(split)}
        extraction = raw.read_squad_release(of_split, catalogue, paper.printed_types)
    variant = next(source["variant"] for source in sources if source["file"] == files[0].name)
    expected = paper.census.get(variant, {})
    record = {
        "data": write_all(
            EXTRACTION_TABLES, vars(extraction), Path(snakemake.output.extraction_census).parent
        ),
        "notes": extraction.notes,
        "sources": sources,
    }
    log.info("%s", extraction.notes)
    check_census(
        record["data"],
        {k.removeprefix("extraction_"): v for k, v in expected.items() if k.startswith("extraction_")},
        f"MAUD's extraction task, {variant}",
    )
    write_census(snakemake.output.extraction_census, record)
