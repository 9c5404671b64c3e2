"""Score one run on MAUD's test examples."""

import json
from pathlib import Path

from lextables.dataset import read, write
from lextables.job import job
from lextables.metrics.minority_aupr import scores
from lextables.run import SCORES

with job(snakemake.log[0]):
    examples, heads = snakemake.input.data
    census = json.loads(Path(snakemake.input.census).read_text(encoding="utf-8"))
    whole = all(source["comparable"] for source in census["sources"])
    predictions = list(read(snakemake.input.predictions))
    answered = {row["head_id"] for row in predictions}
    # The released scorer stops at a head that it cannot score; data of which parts are missing go on.
    asked = [
        row for row in read(examples) if row["split"] == "test" and (whole or row["head_id"] in answered)
    ]
    write(SCORES, scores(predictions, asked, read(heads), partial=not whole), snakemake.output[0])
