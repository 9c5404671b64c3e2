"""Write the examples of LawngNLI, their long premises and the unfiltered candidates,
and their census with the number of candidates after each step.

Rule `lawngnli_examples` (lawngnli.smk), the last step of the construction (A.1.4 to
A.1.9).  The inputs ``parentheticals``, ``contradictions``, ``cites`` and
``long_premises`` have one file for each shard, in the same order.  ``counts`` are those
of the earlier steps, and ``opinions`` and ``provenance`` the reports on the volumes.
"""

from lextables.models import bi_encoder, device, own_settings
from lextables.models.weights import weights_folder
from lextables.papers.lawngnli.census import (
    check_examples_left,
    ingested,
    total,
    volume_sources,
)
from lextables.papers.lawngnli.dataset.examples import (
    EXAMPLES,
    UNFILTERED,
    ExampleSettings,
    Shard,
    write_examples,
    write_unfiltered,
)
from lextables.papers.lawngnli.premises.long_premises import LONG_PREMISES
from lextables.pipeline.dataset import census, write_census
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    inputs = snakemake.input
    output = snakemake.output
    params = snakemake.params
    # The sums over the shards; their funnel is {step: number of candidates after it}.
    step_counts = total(map(read_json, inputs.counts))
    # Check before loading the encoder: later steps add no example.
    check_examples_left(step_counts.funnel.items())

    shards = []
    for parentheticals, contradictions, cites, long_premises in zip(
        inputs.parentheticals,
        inputs.contradictions,
        inputs.cites,
        inputs.long_premises,
        strict=True,
    ):
        shard = Shard(
            parentheticals=parentheticals,
            contradictions=contradictions,
            cites=cites,
            long_premises=long_premises,
        )
        shards.append(shard)
    encoder = bi_encoder.load(
        weights_folder(params.encoder), device.pick(params.device)
    )
    # Neutral premises are found by products of vectors.
    own_settings.check_similarity_is_product(encoder.similarity_fn_name)
    # Hypotheses and premises are encoded in the same way.  Vectors are cached in the
    # folder params.vectors, because a text's vector does not depend on other texts.
    encode = bi_encoder.cached(
        bi_encoder.encode_alike, encoder, params.encoder, params.vectors
    )
    settings = ExampleSettings(params.seed, params.filtered, params.test_share)
    last_counts = write_examples(
        shards,
        encode,
        settings,
        examples=output.examples,
        long_premises=output.long_premises,
        scratch=snakemake.resources.tmpdir,
    )
    funnel = step_counts.funnel | last_counts
    check_examples_left(funnel.items())  # also after the last steps
    write_unfiltered(shards, output.unfiltered)

    notes, set_aside = ingested(map(read_json, inputs.opinions))
    tables = (
        (EXAMPLES, output.examples),
        (LONG_PREMISES, output.long_premises),
        (UNFILTERED, output.unfiltered),
    )
    write_census(
        output.census,
        {
            "data": {table.name: census(table, path) for table, path in tables},
            "notes": step_counts.counts | notes,
            "funnel": list(funnel.items()),
            "set_aside": set_aside,
            "parser": params.parser,
            "encoder": params.encoder["model"],
            "sources": volume_sources(map(read_json, inputs.provenance)),
        },
    )
    log.info("%s", list(funnel.items()))
