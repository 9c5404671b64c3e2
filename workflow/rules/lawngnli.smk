# LawngNLI: premises and hypotheses from opinions that cite each other.  A hypothesis is
# the parenthetical of a citation, a premise is (a part of) the cited opinion.
#
#   in     {RESULTS}/data/caselaw/<shard>.parquet, from caselaw.smk, which also explains shards
#   out    {RESULTS}/data/lawngnli/    examples.parquet, long_premises.parquet, census.json: the data set
#                                      unfiltered.parquet: all candidates, with the filter that drops them
#                                      to_read.csv: a sheet for human readers
#                                      inference.parquet: probabilities by a model of inference
#          {RESULTS}/data/lawngnli_parentheticals/    parentheticals.parquet, census.json
#          {RESULTS}/data/lawngnli_nli/    examples.parquet, heads.parquet, texts.parquet, census.json
#          {RESULTS}/data/lawngnli/index, cited, shards/<shard>/    files between the steps
#   steps  1. lawngnli_index           all cases, by citation and by parties
#          2. lawngnli_candidates      parentheticals of citations, for each shard as steps 3, 4 and 6
#          3. lawngnli_parentheticals  short premises, and accuracy filters
#          4. lawngnli_contradictions  difficulty filters, and contradictions of hypotheses
#          5. lawngnli_cited           which cases of each shard are premises
#          6. lawngnli_long_premises   their opinions, without citations
#          7. lawngnli_examples        labels, neutral premises, balance, twins (same premise, opposite hypothesis)
#          then the data sets that are made of these files: lawngnli_parenthetical_set, lawngnli_pairs,
#          lawngnli_to_read, lawngnli_inference, and those of lawngnli_retrieval.smk
#          With lawngnli_data=released, lawngnli_released.smk builds the first data set instead, from the
#          authors' ID file.
#   config lawngnli_data, caselaw, volumes_a_job, bad_volumes, bulk_export, parser, encoder, difficulty_filters,
#          test_share, device
#
# A.1.1 to A.1.9 are sections of the paper's appendix.  Param `code` is the fingerprint
# of a script and its modules: a change runs the job again.  Jobs on one shard request
# time by `VOLUMES.runtime` (seconds per volume), jobs on all shards by `volume_minutes`
# (volumes, seconds for each).  Names without definition here are from common.smk.

from lextables.papers.lawngnli.construction import (
    construction,
    inference_examples,
    inference_model,
    other_parser,
    parser_settings,
)
from lextables.planning.caselaw import Volumes
from lextables.tasks.resources import RELEASED_VOLUMES, volume_minutes

# {shard: its volumes} under `shards`, and the settings of the parser and of the
# encoder.
LAWNGNLI = or_exit(
    construction, CONFIG, PROJECT.papers["lawngnli"], PROJECT.context.models, ROOT
)
VOLUMES = Volumes(LAWNGNLI.shards, SOURCE_PARAMS, RESOURCES)  # used by caselaw.smk
LAWNGNLI_DATA = f"{RESULTS}/data/lawngnli"
LAWNGNLI_RELEASED = CONFIG.lawngnli_data == "released"
# How many volumes the data set's size corresponds to: the chosen ones, or
# RELEASED_VOLUMES for the released data set.
TEXT_VOLUMES = (
    RELEASED_VOLUMES if LAWNGNLI_RELEASED else sum(map(len, LAWNGNLI.shards.values()))
)
SHARDS.update(VOLUMES.shards)  # used by driver.smk, first_contact.smk and plan.smk
# Resources of later jobs: training examples and queries grow with the volumes.  As a
# safe estimate, a fraction of the released data set's volumes is taken to have twice
# that fraction of its texts.
for data_set in ("lawngnli_nli", "lawngnli_reranking", "lawngnli_retrieval"):
    RESOURCES.shares[data_set] = min(1.0, 2 * TEXT_VOLUMES / RELEASED_VOLUMES)
# Used by caselaw.smk: a file with the cases of the released data set, whose volumes are
# then the only ones that are needed.
NAMED_CASES = [f"{LAWNGNLI_DATA}/released/cases.json"] if LAWNGNLI_RELEASED else []


include: "caselaw.smk"


# Settings of the model that predicts labels in the rule `lawngnli_inference`.
LAWNGNLI_INFERENCE_MODEL = inference_model(
    CONFIG, PROJECT.papers["lawngnli"], PROJECT.context.models, ROOT
)
# For the target `fetch`.
FETCHED_WEIGHTS += [LAWNGNLI.encoder, LAWNGNLI.parser, LAWNGNLI_INFERENCE_MODEL]
# A sentence, if another parser than the paper's is used.
PARSER_NOTICE = other_parser(LAWNGNLI, CONFIG, PROJECT.papers["lawngnli"])
if STANDALONE and PARSER_NOTICE:
    logger.warning(PARSER_NOTICE)
LAWNGNLI_SHARD = f"{LAWNGNLI_DATA}/shards/{{shard}}"
# Each of these two folders is built from all shards and read by the job of each shard.
# If each job listed the files of all shards as its inputs, these lists would grow with
# the square of the number of shards.
LAWNGNLI_CITED = f"{LAWNGNLI_DATA}/cited"
LAWNGNLI_INDEX = f"{LAWNGNLI_DATA}/index"


# The index of all cases by citation and by parties.
rule lawngnli_index:
    input:
        [f"{RESULTS}/data/caselaw/{shard}.parquet" for shard in LAWNGNLI.shards],
    output:
        directory(LAWNGNLI_INDEX),
    log:
        f"{RESULTS}/logs/lawngnli/index.log",
    conda:
        ENVIRONMENT
    resources:
        runtime=RESOURCES.runtime(volume_minutes(TEXT_VOLUMES, 0.01)),
    params:
        code=code("lawngnli_index.py"),
    message:
        "Indexing the citations and parties of every case."
    script:
        "../scripts/lawngnli_index.py"


# The parentheticals of a shard's citations that resolve to a case.
rule lawngnli_candidates:
    input:
        opinions=f"{RESULTS}/data/caselaw/{{shard}}.parquet",
        index=LAWNGNLI_INDEX,
    output:
        candidates=f"{LAWNGNLI_SHARD}/candidates.parquet",
        # All pairs of a citing and a cited case.
        cites=f"{LAWNGNLI_SHARD}/cites.parquet",
        counts=f"{LAWNGNLI_SHARD}/candidates.json",
    log:
        f"{RESULTS}/logs/lawngnli/candidates/{{shard}}.log",
    conda:
        ENVIRONMENT
    resources:
        runtime=VOLUMES.runtime(2),
    params:
        code=code("lawngnli_candidates.py"),
    message:
        "Finding the citations of {wildcards.shard} and their parentheticals (A.1.1)."
    script:
        "../scripts/lawngnli_candidates.py"


# Parentheticals with their short premises, after the accuracy filters.
rule lawngnli_parentheticals:
    input:
        candidates=f"{LAWNGNLI_SHARD}/candidates.parquet",
        index=LAWNGNLI_INDEX,
    output:
        parentheticals=f"{LAWNGNLI_SHARD}/parentheticals.parquet",
        counts=f"{LAWNGNLI_SHARD}/parentheticals.json",
    log:
        f"{RESULTS}/logs/lawngnli/parentheticals/{{shard}}.log",
    # Before other jobs that are ready, because a long chain of jobs waits for it.
    priority: 1
    conda:
        ENVIRONMENT
    resources:
        runtime=VOLUMES.runtime(1),
    params:
        code=code("lawngnli_parentheticals.py"),
        # The folder of all shards' opinions, which the index's rows point to.
        opinions=f"{RESULTS}/data/caselaw",
    message:
        "Cutting short premises and filtering for accuracy in {wildcards.shard} (A.1.1, A.1.2)."
    script:
        "../scripts/lawngnli_parentheticals.py"


# The contradiction of each hypothesis, or the reason why it has none.
rule lawngnli_contradictions:
    input:
        parentheticals=f"{LAWNGNLI_SHARD}/parentheticals.parquet",
    output:
        contradictions=f"{LAWNGNLI_SHARD}/contradictions.parquet",
        counts=f"{LAWNGNLI_SHARD}/contradictions.json",
    log:
        f"{RESULTS}/logs/lawngnli/contradictions/{{shard}}.log",
    conda:
        ENVIRONMENT
    resources:
        runtime=VOLUMES.runtime(3),
    params:
        code=code("lawngnli_contradictions.py"),
        # A function, because it reads the parser's files for their digest.
        parser=lambda wildcards: parser_settings(LAWNGNLI, PROJECT.contents),
        seed=PROJECT.papers["lawngnli"].seed,
        # Whether only hypotheses that pass the difficulty filters are parsed.
        filtered=CONFIG.difficulty_filters,
    message:
        "Parsing the hypotheses of {wildcards.shard} and generating contradictions (A.1.3, A.1.5, A.1.6)."
    script:
        "../scripts/lawngnli_contradictions.py"


# For each shard, the cases whose opinions are premises.
rule lawngnli_cited:
    input:
        parentheticals=expand(
            f"{LAWNGNLI_SHARD}/parentheticals.parquet", shard=LAWNGNLI.shards
        ),
        contradictions=expand(
            f"{LAWNGNLI_SHARD}/contradictions.parquet", shard=LAWNGNLI.shards
        ),
        index=LAWNGNLI_INDEX,
    output:
        directory(LAWNGNLI_CITED),
    log:
        f"{RESULTS}/logs/lawngnli/cited.log",
    conda:
        ENVIRONMENT
    resources:
        runtime=RESOURCES.runtime(volume_minutes(TEXT_VOLUMES, 0.01)),
    params:
        code=code("lawngnli_cited.py"),
    message:
        "Listing by shard the cases whose opinions are premises."
    script:
        "../scripts/lawngnli_cited.py"


# The opinions of a shard that are premises, without citations.
rule lawngnli_long_premises:
    input:
        opinions=f"{RESULTS}/data/caselaw/{{shard}}.parquet",
        cited=LAWNGNLI_CITED,
    output:
        f"{LAWNGNLI_SHARD}/long_premises.parquet",
    log:
        f"{RESULTS}/logs/lawngnli/long_premises/{{shard}}.log",
    conda:
        ENVIRONMENT
    resources:
        runtime=VOLUMES.runtime(2),
    params:
        code=code("lawngnli_long_premises.py"),
    message:
        "Removing citations from the opinions of {wildcards.shard} that are premises (A.1.9)."
    script:
        "../scripts/lawngnli_long_premises.py"


if LAWNGNLI_RELEASED:

    include: "lawngnli_released.smk"

else:

    # The finished data set, from the files of all shards.
    rule lawngnli_examples:
        input:
            parentheticals=expand(
                f"{LAWNGNLI_SHARD}/parentheticals.parquet", shard=LAWNGNLI.shards
            ),
            contradictions=expand(
                f"{LAWNGNLI_SHARD}/contradictions.parquet", shard=LAWNGNLI.shards
            ),
            cites=expand(f"{LAWNGNLI_SHARD}/cites.parquet", shard=LAWNGNLI.shards),
            long_premises=expand(
                f"{LAWNGNLI_SHARD}/long_premises.parquet", shard=LAWNGNLI.shards
            ),
            counts=expand(
                f"{LAWNGNLI_SHARD}/{{step}}.json",
                shard=LAWNGNLI.shards,
                step=["candidates", "parentheticals", "contradictions"],
            ),
            # Reports on the opinions and on the volumes, for the census.
            opinions=[
                f"{RESULTS}/data/caselaw/{shard}.json" for shard in LAWNGNLI.shards
            ],
            provenance=[
                f"{RESULTS}/sources/caselaw/{shard}.json" for shard in LAWNGNLI.shards
            ],
        output:
            examples=f"{LAWNGNLI_DATA}/examples.parquet",
            long_premises=f"{LAWNGNLI_DATA}/long_premises.parquet",
            unfiltered=f"{LAWNGNLI_DATA}/unfiltered.parquet",
            census=f"{LAWNGNLI_DATA}/census.json",
        log:
            f"{RESULTS}/logs/lawngnli/examples.log",
        conda:
            ENVIRONMENT
        threads: RESOURCES.model_threads
        resources:
            # Seconds for each volume, with and without a GPU.
            **RESOURCES.of_small_model(
                minutes=volume_minutes(
                    TEXT_VOLUMES, 0.5 if PROJECT.context.gpu else 1.0, least=60
                )
            ),
        params:
            code=code("lawngnli_examples.py"),
            # The settings of the encoder, with the digest of weights that a path names.
            encoder=lambda wildcards: PROJECT.identified(LAWNGNLI.encoder),
            # The folder of cached vectors.
            vectors=JOBS.vectors,
            # The name of the parser, for the census.
            parser=LAWNGNLI.parser["model"],
            seed=PROJECT.papers["lawngnli"].seed,
            # Whether examples that fail the difficulty filters are dropped.
            filtered=CONFIG.difficulty_filters,
            # None: as in the paper, or larger if the test split would be too small.
            test_share=None if CONFIG.test_share == "auto" else CONFIG.test_share,
            device=PROJECT.job_device,
        message:
            "Labelling, finding neutral premises, balancing and pairing examples (A.1.4, A.1.7, A.1.8)."
        script:
            "../scripts/lawngnli_examples.py"


# The parentheticals of all shards as a separate data set.
rule lawngnli_parenthetical_set:
    input:
        parentheticals=expand(
            f"{LAWNGNLI_SHARD}/parentheticals.parquet", shard=LAWNGNLI.shards
        ),
        counts=expand(
            f"{LAWNGNLI_SHARD}/{{step}}.json",
            shard=LAWNGNLI.shards,
            step=["candidates", "parentheticals"],
        ),
        provenance=[
            f"{RESULTS}/sources/caselaw/{shard}.json" for shard in LAWNGNLI.shards
        ],
    output:
        parentheticals=f"{RESULTS}/data/lawngnli_parentheticals/parentheticals.parquet",
        census=f"{RESULTS}/data/lawngnli_parentheticals/census.json",
    log:
        f"{RESULTS}/logs/lawngnli/parenthetical_set.log",
    conda:
        ENVIRONMENT
    resources:
        runtime=RESOURCES.runtime(volume_minutes(TEXT_VOLUMES, 0.1)),
    params:
        code=code("lawngnli_parenthetical_set.py"),
    message:
        "Combining the parentheticals of all shards."
    script:
        "../scripts/lawngnli_parenthetical_set.py"


# The examples as input of the classification task (Section 4.1).
rule lawngnli_pairs:
    input:
        examples=f"{LAWNGNLI_DATA}/examples.parquet",
        long_premises=f"{LAWNGNLI_DATA}/long_premises.parquet",
        census=f"{LAWNGNLI_DATA}/census.json",
    output:
        examples=f"{RESULTS}/data/lawngnli_nli/examples.parquet",
        heads=f"{RESULTS}/data/lawngnli_nli/heads.parquet",
        texts=f"{RESULTS}/data/lawngnli_nli/texts.parquet",
        census=f"{RESULTS}/data/lawngnli_nli/census.json",
    log:
        f"{RESULTS}/logs/lawngnli/pairs.log",
    conda:
        ENVIRONMENT
    resources:
        runtime=RESOURCES.runtime(volume_minutes(TEXT_VOLUMES, 0.1)),
    params:
        code=code("lawngnli_pairs.py"),
    message:
        "Preparing whole and BM25-filtered premises as model input (Section 4.1)."
    script:
        "../scripts/lawngnli_pairs.py"


# A sheet for blind annotation.  Rows that two annotators completed go into
# resources/readings/lawngnli.csv.
rule lawngnli_to_read:
    input:
        examples=f"{LAWNGNLI_DATA}/examples.parquet",
        census=f"{LAWNGNLI_DATA}/census.json",
    output:
        f"{LAWNGNLI_DATA}/to_read.csv",
    log:
        f"{RESULTS}/logs/lawngnli/to_read.log",
    conda:
        ENVIRONMENT
    params:
        code=code("lawngnli_to_read.py"),
        seed=PROJECT.papers["lawngnli"].seed,
    message:
        "Sampling a hundred examples to annotate, by label and negation, for Table 4."
    script:
        "../scripts/lawngnli_to_read.py"


# The probability of each label by a model of inference.  No other rule needs it: it is
# made when it is asked for.  If the model is not available, the run ends before its
# first job.
rule lawngnli_inference:
    input:
        examples=lambda wildcards: inference_examples(
            f"{LAWNGNLI_DATA}/examples.parquet", LAWNGNLI_INFERENCE_MODEL
        ),
    output:
        f"{LAWNGNLI_DATA}/inference.parquet",
    log:
        f"{RESULTS}/logs/lawngnli/inference.log",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        # Seconds for each volume, with and without a GPU.
        **RESOURCES.of_small_model(
            minutes=volume_minutes(
                TEXT_VOLUMES, 1 if PROJECT.context.gpu else 15, least=60
            )
        ),
    params:
        code=code("lawngnli_inference.py"),
        model=lambda wildcards: PROJECT.identified(LAWNGNLI_INFERENCE_MODEL),
        device=PROJECT.job_device,
    message:
        "Predicting the labels of LawngNLI's examples with a model of inference."
    script:
        "../scripts/lawngnli_inference.py"


include: "lawngnli_retrieval.smk"
