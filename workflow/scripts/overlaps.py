"""Measure the text that splits of data sets share: a model trained on one split may
have seen the test texts of another.

Rule `shared_texts` (overlaps.smk).  Words are shared in long runs that occur in both
splits (`corpora.overlaps`).  The outputs are ``csv``, the shares of each pair of
splits; ``facts``, those of pairs of published data; ``labels``, relevance and labels of
the same texts; and ``units``, the units of each pair that share words.

``data`` is the folder of all data sets.  ``texts`` is {data set: where its texts are,
as `registry.paper.Texts`}.  ``relevance`` are pairs of a retrieval data set and the
spans data set with the same texts.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from lextables.corpora.overlaps import compare, index
from lextables.pipeline.files import replacing_result, write_result
from lextables.pipeline.job import job
from lextables.report import overlaps, relevance

with job(snakemake.log[0]) as log, TemporaryDirectory() as folder:
    splits = []  # their hashed words are in files of `folder`
    data = Path(snakemake.params.data)
    for dataset, texts in snakemake.params.texts.items():
        splits += index(
            dataset, overlaps.read_texts(data / dataset, texts), Path(folder)
        )
    log.info(
        "%d splits with %d words.",
        len(splits),
        sum(sum(split.words) for split in splits),
    )
    units = pd.concat(compare(splits), ignore_index=True)
    table = overlaps.pairs(splits, units)
    with replacing_result(snakemake.output.units) as path:
        units.to_parquet(path, index=False, write_page_checksum=True)
    frames = {
        "csv": table,
        "facts": overlaps.facts(table, data),
        "labels": relevance.frame(snakemake.params.relevance, data),
    }
    for file, frame in frames.items():
        text = frame.to_csv(index=False, float_format="%.4g", lineterminator="\n")
        write_result(snakemake.output[file], text)
