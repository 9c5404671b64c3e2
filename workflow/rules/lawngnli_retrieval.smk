# LawngNLI, Section 4.2: the retrieval data set, which has hypotheses with pools of
# similar opinions; and training examples for rerankers, whose Neutral premises are
# similar opinions (footnote 11).
#
#   in    {RESULTS}/data/lawngnli/examples.parquet, unfiltered.parquet, {RESULTS}/data/caselaw/<shard>.parquet
#   out   {RESULTS}/data/lawngnli_retrieval/queries.parquet, documents.parquet, judgements.parquet, census.json
#         {RESULTS}/data/lawngnli_reranking/examples.parquet, heads.parquet, texts.parquet, census.json
#   steps majority opinions of the queried jurisdictions -> vectors -> the nearest to each hypothesis
#         -> the pools of the queries, and Neutral premises of the training examples

# Included by lawngnli.smk, which defines LAWNGNLI (the shards of case law),
# LAWNGNLI_DATA, TEXT_VOLUMES and volume_minutes (time in proportion to the volumes).
# The other names are from common.smk.

from lextables.papers.lawngnli.construction import pool_encoder

LAWNGNLI_RETRIEVAL = f"{RESULTS}/data/lawngnli_retrieval"
LAWNGNLI_RERANKING = f"{RESULTS}/data/lawngnli_reranking"
# The settings of the encoder that finds similar opinions.
LAWNGNLI_POOL_ENCODER = or_exit(
    pool_encoder, CONFIG, PROJECT.papers["lawngnli"], PROJECT.context.models, ROOT
)
FETCHED_WEIGHTS.append(LAWNGNLI_POOL_ENCODER)  # for the target `fetch`


# Both data sets in one job, because both need the vectors of the same opinions.
rule lawngnli_retrieval:
    input:
        examples=f"{LAWNGNLI_DATA}/examples.parquet",
        unfiltered=f"{LAWNGNLI_DATA}/unfiltered.parquet",
        census=f"{LAWNGNLI_DATA}/census.json",
        opinions=[
            f"{RESULTS}/data/caselaw/{shard}.parquet" for shard in LAWNGNLI.shards
        ],
    output:
        queries=f"{LAWNGNLI_RETRIEVAL}/queries.parquet",
        documents=f"{LAWNGNLI_RETRIEVAL}/documents.parquet",
        judgements=f"{LAWNGNLI_RETRIEVAL}/judgements.parquet",
        census=f"{LAWNGNLI_RETRIEVAL}/census.json",
        reranking_examples=f"{LAWNGNLI_RERANKING}/examples.parquet",
        reranking_heads=f"{LAWNGNLI_RERANKING}/heads.parquet",
        reranking_texts=f"{LAWNGNLI_RERANKING}/texts.parquet",
        reranking_census=f"{LAWNGNLI_RERANKING}/census.json",
    log:
        f"{RESULTS}/logs/lawngnli/retrieval.log",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        # Seconds for each volume, with and without a GPU.
        **RESOURCES.of_small_model(
            minutes=volume_minutes(
                TEXT_VOLUMES, 3 if PROJECT.context.gpu else 15, least=60
            )
        ),
    params:
        # The fingerprint of the script and its modules: a change runs the job again.
        code=code("lawngnli_retrieval.py"),
        # The settings of the encoder, with the digest of weights that a path names.
        encoder=lambda wildcards: PROJECT.identified(LAWNGNLI_POOL_ENCODER),
        paper_encoder=PROJECT.papers["lawngnli"].pool_encoders[0],
        seed=PROJECT.papers["lawngnli"].seed,
        # The folder of cached vectors.
        vectors=JOBS.vectors,
        device=PROJECT.job_device,
    message:
        "Encoding the majority opinions and finding the most similar ones of each test hypothesis (Section 4.2)."
    script:
        "../scripts/lawngnli_retrieval.py"
