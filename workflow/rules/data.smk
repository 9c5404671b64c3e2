# Data sets: one rule per data set, named after it.
#
#   in    {RESULTS}/sources/..., the files listed in resources/papers/<paper>.yaml; resources/facts
#   out   {RESULTS}/data/<data set>/*.parquet, with the schemas of lextables/papers/<paper>/schema.py; census.json
#   steps published bytes -> rows (lextables/papers/<paper>/raw.py) -> parquet, checked against the registered census
#
# Data sets that are constructed, not read from published files, have rules in their own file.  An optional data set
# that is not available has no rule.

READ_FROM_FILES = {
    name: (paper, entry.package(paper), entry)
    for paper in CONFIG.papers
    for name, entry in PAPERS[paper].data.items()
    if name not in ABSENT
}

for name, (paper, package, entry) in READ_FROM_FILES.items():
    files = entry.named(CONFIG.mirrors(ROOT))
    published_files = [
        f"{RESULTS}/sources/{file}" for several in files.values() for file in several
    ]
    FETCHED += published_files

    rule:
        name:
            f"{name}_data"
        input:
            files=published_files,
            provenance=[f"{file}.json" for file in published_files],
        output:
            data(
                name,
                *(
                    table.name
                    for table in or_exit(modules.module, package, "schema").TABLES[
                        name
                    ]
                ),
            ),
            census=f"{RESULTS}/data/{name}/census.json",
        log:
            f"{RESULTS}/logs/data/{name}.log",
        benchmark:
            f"{RESULTS}/benchmarks/data/{name}.tsv"
        conda:
            ENVIRONMENT
        resources:
            mem_mb=per_attempt(4000),
        params:
            **script_params("data", *package_modules(package, "raw", "schema")),
            package=modules.place(package),
            name=name,
            files={kind: len(several) for kind, several in files.items()},
            facts=dict(entry.facts),
            facts_digest=content_of(
                PROJECT_PATH / "resources/facts" / file
                for file in entry.facts.values()
            ),
            given=PAPERS[paper].model_dump(mode="json", include={*entry.given}),
            census={variant: dict(tables) for variant, tables in entry.census.items()},
        message:
            f"Checking the published files of {name} and writing them as parquet."
        script:
            "../scripts/{params.script}.py"
