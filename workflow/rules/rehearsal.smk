# A rehearsal: all tables, with tiny models or few updates, and which published rows
# ran.
#
#   in    the tables and figures of the papers; resources/published/<paper>.csv
#   out   {RESULTS}/rehearsal.csv, .md; speeds.csv
#   steps cells of the tables -> published rows -> ran, or why not


# The target `rehearsal`.  With it common.smk changes the configuration, so that all
# runs are small.
rule rehearsal:
    input:
        # All tables and figures: the inputs of the target `tables`.
        tables=rules.tables.input,
        published=[PROJECT.published_values(paper) for paper in CONFIG.papers],
    output:
        csv=f"{RESULTS}/rehearsal.csv",
        md=f"{RESULTS}/rehearsal.md",
        # Speeds of trainings on a GPU, which `plan` reads; without a GPU, no line.
        speeds=f"{RESULTS}/speeds.csv",
    log:
        f"{RESULTS}/logs/rehearsal.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        # The fingerprint of the script and its modules: a change runs the job again.
        code=code("rehearsal.py"),
        # The records of all planned runs: no inputs, but they exist when the tables do.
        records=[f"{RESULTS}/{run.folder}/run.json" for run in sorted(PROJECT.specs)],
    message:
        "Listing the published rows that ran."
    script:
        "../scripts/rehearsal.py"
