# Data sets: one rule per data set, named after it.
#
#   in    {RESULTS}/sources/..., the files listed in resources/papers/<paper>.yaml; resources/facts
#   out   {RESULTS}/data/<data set>/*.parquet, with the schemas of <package>/schema.py; census.json
#   steps published bytes -> rows (<package>/raw.py) -> parquet, checked against the registered census
#
# The package is lextables/papers/<paper>, or the `reader` of the data set's entry, such
# as lextables/corpora/nli.
#
# Data sets that are constructed, not read from published files, have rules in their own
# file.  An optional data set that is not available has no rule.
#
# The entry of a data set is in `data` of resources/papers/<paper>.yaml: its files,
# facts and registered census.

from lextables.planning.data_sets import data_jobs

# A `DataJob` has the name, the files, the tables and the params of a data set.
for data_job in or_exit(data_jobs, PROJECT, CONFIG.mirrors(ROOT)):
    FETCHED += data_job.published_files  # sources.smk; for the target `fetch`

    rule:
        name:
            f"{data_job.name}_data"
        input:
            files=data_job.published_files,
            provenance=[f"{file}.json" for file in data_job.published_files],
        output:
            # <table>.parquet for each table.
            PROJECT.tables(data_job.name, *data_job.tables),
            census=f"{RESULTS}/data/{data_job.name}/census.json",
        log:
            f"{RESULTS}/logs/data/{data_job.name}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=per_attempt(4000),  # and as much more at a retry
        params:
            # `DataJob.params`: where reader and schema are, and the data set's entry.
            **data_job.params,
            # The fingerprint of the script, the reader and the schema: a change runs
            # the job again.
            code=fingerprint_of("data.py", *data_job.modules),
        message:
            f"Checking the published files of {data_job.name} and writing them as parquet."
        script:
            "../scripts/data.py"
