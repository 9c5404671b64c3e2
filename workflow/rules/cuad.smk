# CUAD: spans of contracts that a lawyer should see, for 41 categories of clauses.
#
#   in    {RESULTS}/sources/cuad/{data.zip,CUAD_v1.zip,category_descriptions.csv}; resources/facts/cuad_contracts.csv
#   out   {RESULTS}/data/cuad/*.parquet, census.json; {RESULTS}/review/<contract>.html, .csv
#   steps zips -> data sets (-> spans.smk); a user's contract + a model -> review

from lextables.cuad.review import name_of as review_name

CUAD = PAPERS["cuad"]
CUAD_DATA = f"{RESULTS}/data/cuad"
CUAD_FILES = ["data.zip", "CUAD_v1.zip", "category_descriptions.csv"]
CUAD_SETS = [
    "contracts",
    "categories",
    "questions",
    "answers",
    "training_examples",
    "clauses",
    "supplementary",
]


rule cuad_data:
    input:
        release=f"{RESULTS}/sources/cuad/data.zip",
        clauses=f"{RESULTS}/sources/cuad/CUAD_v1.zip",
        categories=f"{RESULTS}/sources/cuad/category_descriptions.csv",
        recorded=str(HERE / "resources/facts/cuad_contracts.csv"),
        provenance=[f"{RESULTS}/sources/cuad/{name}.json" for name in CUAD_FILES],
    output:
        [f"{CUAD_DATA}/{name}.parquet" for name in CUAD_SETS],
        census=f"{CUAD_DATA}/census.json",
    log:
        f"{RESULTS}/logs/cuad_data.log",
    benchmark:
        f"{RESULTS}/benchmarks/cuad_data.tsv"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=4000,
    params:
        contract_types=CUAD.contract_types,
        census=CUAD.census,
        code=code("cuad_data.py"),
    message:
        "Checking CUAD's contracts, questions and clause table and writing them as parquet."
    script:
        "../scripts/cuad_data.py"


# A user's contract: `snakemake review --config contract=path.txt`.  Its name and a digest of what is in it are
# the review's, so that two contracts of one name have two.
REVIEWED = review_name(CONFIG.contract)
REVIEW = f"{RESULTS}/review/{REVIEWED}"


rule review:
    input:
        f"{REVIEW}.html",
    message:
        "Done: open {input} in a browser."


rule cuad_review:
    input:
        contract=cuad_contract,
        reviewer=cuad_reviewer_files,
        questions=f"{CUAD_DATA}/questions.parquet",
        categories=f"{CUAD_DATA}/categories.parquet",
    output:
        html=f"{REVIEW}.html",
        csv=f"{REVIEW}.csv",
        predictions=f"{REVIEW}.parquet",
    log:
        f"{RESULTS}/logs/review/{REVIEWED}.log",
    benchmark:
        f"{RESULTS}/benchmarks/review/{REVIEWED}.tsv"
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        gpu=MODEL_GPU,
        mem_mb=8000,
    params:
        run=lambda wildcards: f"{RESULTS}/{cuad_reviewer().run.folder}",
        record=lambda wildcards: cuad_reviewer().record,
        minimum=CUAD.review_minimum,
        device=CONFIG.device,
        code=code("cuad_review.py"),
    message:
        "Highlighting the 41 categories in {input.contract}, with the model of {params.run}."
    script:
        "../scripts/cuad_review.py"
