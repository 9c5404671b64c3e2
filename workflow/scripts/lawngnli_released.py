"""Write the released LawngNLI, with the schemas of the data set that is built from
opinions, and its census, which says how its counts differ from the paper's Table 2.

Rule `lawngnli_released` (lawngnli_released.smk).  ``rows`` are those of the authors' ID
file, ``cases`` and ``hypotheses`` files of all shards, and ``masks`` the authors'
filter file, if it is available.  ``parsers`` are the registered parsers, the paper's
first.
"""

from pathlib import Path

from lextables import ROOT
from lextables.papers.lawngnli.census import (
    check_examples_left,
    ingested,
    volume_sources,
)
from lextables.papers.lawngnli.dataset.examples import EXAMPLES, UNFILTERED
from lextables.papers.lawngnli.premises.long_premises import LONG_PREMISES
from lextables.papers.lawngnli.released.dataset import Released, differences, judged
from lextables.papers.lawngnli.released.ids import read_masks
from lextables.pipeline.dataset import census, write_census
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.tables import published

TABLES = (EXAMPLES, LONG_PREMISES, UNFILTERED)

with job(snakemake.log[0]) as log:
    inputs = snakemake.input
    output = snakemake.output
    params = snakemake.params
    # Which characters of the premises the authors' removal of citations kept.
    masks = read_masks(inputs.masks[0]) if inputs.masks else None
    released = Released(inputs.rows, inputs.cases, inputs.hypotheses, masks)
    check_examples_left(released.funnel())
    released.write(output.examples, output.long_premises, output.unfiltered)
    other_parser = ""
    if params.parser != params.parsers[0]:
        other_parser = f"hypotheses contradicted over {params.parser}"
    printed = [
        cell
        for cell in published.load(ROOT / "resources/published/lawngnli.csv")
        if cell.table == "table2"
    ]
    table2_differences = differences(
        released, Path(output.census).parent, printed, other_parser
    )
    volumes = list(map(read_json, inputs.volumes))
    files = [inputs.ids, *(f"{path}.json" for path in inputs.masks)]
    notes, set_aside = ingested(map(read_json, inputs.opinions))
    write_census(
        output.census,
        {
            "data": {table.name: census(table, output[table.name]) for table in TABLES},
            "notes": notes,
            "funnel": released.funnel(),
            "set_aside": set_aside,
            "parser": params.parser,
            "left_out": released.named(),
            "differences": table2_differences,
            # Pools of opinions are the paper's only if every volume was read.
            "whole_collection": not set_aside
            and not any(shard.get("without") for shard in volumes),
            "sources": judged(
                [*map(read_json, files), *volume_sources(volumes)], table2_differences
            ),
        },
    )
    log.info("%s", table2_differences)
