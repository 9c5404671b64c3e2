# A rehearsal: all tables, with tiny models or few updates, and which published rows ran.
#
#   in    the tables and figures of the papers; resources/published/<paper>.csv
#   out   {RESULTS}/rehearsal.csv, .md
#   steps cells of the tables -> published rows -> ran, or why not


rule rehearsal:
    input:
        tables=rules.tables.input,
