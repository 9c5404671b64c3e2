"""Write the retrieval data set and the training set for rerankers (Section 4.2).

Rule `lawngnli_retrieval` (lawngnli_retrieval.smk).  ``opinions`` are those of all
shards, and ``unfiltered`` the candidates before the difficulty filters.
``paper_encoder`` is the name of the encoder that chose the paper's pools.  The outputs
of the training set begin with ``reranking_``.
"""

from dataclasses import asdict

from lextables.models import bi_encoder, device, own_settings
from lextables.models.weights import weights_folder
from lextables.papers.lawngnli.census import check_examples_left
from lextables.papers.lawngnli.dataset.pool_sources import pool_sources
from lextables.papers.lawngnli.dataset.retrieval import (
    DOCUMENTS,
    JUDGEMENTS,
    QUERIES,
    RERANKING,
    write_reranking,
    write_retrieval,
)
from lextables.pipeline.dataset import Census, census, write_census
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    inputs = snakemake.input
    output = snakemake.output
    params = snakemake.params
    encoder = bi_encoder.load(
        weights_folder(params.encoder),
        device.pick(params.device),
        params.encoder["max_length"],
    )
    # Similar opinions are found by products of vectors.
    own_settings.check_similarity_is_product(encoder.similarity_fn_name)
    # Texts are encoded as in the runs of the retrieval task, so that both share the
    # cached vectors.
    encode_query = bi_encoder.cached(
        bi_encoder.encode_queries, encoder, params.encoder, params.vectors
    )
    encode_document = bi_encoder.cached(
        bi_encoder.encode_documents, encoder, params.encoder, params.vectors
    )
    examples_census = read_json(inputs.census, Census)
    sources = pool_sources(
        examples_census["sources"],
        # Only the census of the released data set has this key: a data set that is
        # built from opinions is never comparable.
        whole=examples_census.get("whole_collection", True),
        encoder=params.encoder["model"],
        paper_encoder=params.paper_encoder,
    )
    shared_census = {"encoder": params.encoder["model"], "sources": sources}

    # The retrieval data set.
    tables = (DOCUMENTS, JUDGEMENTS, QUERIES)
    retrieval_paths = {table.name: output[table.name] for table in tables}
    counts = write_retrieval(
        inputs.examples,
        inputs.opinions,
        encode_query=encode_query,
        encode_document=encode_document,
        tables=retrieval_paths,
    )
    check_examples_left(
        [("a test example that is Entail or Contradict", counts.queries)]
    )
    tables_census = {
        table.name: census(table, retrieval_paths[table.name]) for table in tables
    }
    write_census(
        output.census, shared_census | {"data": tables_census, "pools": asdict(counts)}
    )
    log.info("%s", counts)

    # The training set for rerankers.
    reranking_paths = {
        table.name: output[f"reranking_{table.name}"] for table in RERANKING
    }
    write_reranking(
        inputs.examples,
        inputs.unfiltered,
        inputs.opinions,
        encode_query=encode_query,
        encode_document=encode_document,
        seed=params.seed,
        tables=reranking_paths,
    )
    tables_census = {
        table.name: census(table, reranking_paths[table.name]) for table in RERANKING
    }
    write_census(output.reranking_census, shared_census | {"data": tables_census})
