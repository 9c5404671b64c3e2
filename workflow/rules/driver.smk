# Checks of the command line, the lock of the working folder, the plan, and what a run
# says at its end.  Included last, when all targets are known.  Parts under
# `if STANDALONE` are skipped in jobs and where another workflow uses this one as a
# module.
#
# EXPORTED and EXPORTS are from publish.smk, ESTIMATES is from plan.smk, and SHARDS from
# the Snakefile.  `expand` is Snakemake's.  All other names that are not defined here are
# from common.smk.
#
#   in    .snakemake/locks, left by a killed run; stored downloads
#   out   files in .snakemake/.lextables and {RESULTS}/.lextables, locked by this run and its jobs
#         (lextables/pipeline/locks.py)
#   steps targets and options -> lock -> cleanup after a killed run -> jobs -> rows that are not run

import signal

from lextables.pipeline import locks
from lextables.planning.estimate import PlanScreen


def clean_up_if_alone():
    """Delete what earlier runs left and this run makes or fetches again: the reasons
    why rows were not run, the files that show them, and damaged downloads.

    Called before the first job, if no other run uses the folders.
    """
    exported = expand(EXPORTED, export=EXPORTS.of_name)
    command_line.clean_up(PROJECT, exported)


if STANDALONE:
    command_line.check_options(RUN_OF_SNAKEMAKE.has_no_cores)
    # Empty if another program runs the workflow: its command line is not Snakemake's.
    targets = set()
    # {table: its rows of the user's models and predictions}.  At the end a message
    # names those that the run has removed.
    rows_before = command_line.own_rows(RESULTS)
    if command_line.started_by_snakemake():
        targets = targets_of_command_line()
    command_line.check_targets(PROJECT, targets, RUN_OF_SNAKEMAKE.rule_names)
    command_line.check_push(PROJECT, targets)
    if not RUN_OF_SNAKEMAKE.is_dry_run:
        # The lock also covers the results, which may be shared with another checkout.
        warning = or_exit(
            locks.acquire, Path(".snakemake"), Path(RESULTS), clean_up_if_alone
        )
        if warning:
            logger.warning(warning)
        if CONFIG.rehearsal:
            # The server of a language model, if the rehearsal needs one.
            or_exit(rehearsal.start_server, CONFIG)
    elif "plan" in targets:
        # `plan` is a dry run.  Its screen is printed once Snakemake has the graph of
        # its jobs.
        logger.addHandler(PlanScreen(ESTIMATES, RUN_OF_SNAKEMAKE))


onstart:
    if STANDALONE:
        # Snakemake has installed its own handler of SIGTERM by now.
        stopping.jobs_start()
    # A killed run may have left jobs in the queue of a cluster, which write the same
    # files.
    or_exit(locks.refuse_cluster_jobs, RUN_OF_SNAKEMAKE.ids_on_cluster())
    # The logger plugin computes the remaining time from the field `expected` of this
    # record.
    expected = ESTIMATES.expected(RUN_OF_SNAKEMAKE)
    logger.info("Expected.", extra={"expected": expected})
    if STANDALONE:
        # Start the process that imports the libraries once for all jobs, if it saves
        # time.
        jobs = len(RUN_OF_SNAKEMAKE.jobs_to_run)
        or_exit(command_line.preload, PROJECT, RUN_OF_SNAKEMAKE, ROOT, jobs)


onsuccess:
    # Snakemake ends some seconds later.  No job is left that Ctrl-C could stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    command_line.show_skipped_volumes(RESULTS, SHARDS)
    if STANDALONE:
        command_line.show_results(PROJECT, targets)
        command_line.show_removed_rows(RESULTS, rows_before)
    command_line.show_not_run(RESULTS)
    if STANDALONE and "rehearsal" in targets:
        command_line.show_rehearsal(Path(f"{RESULTS}/rehearsal.csv"))
    if STANDALONE:
        only_default_targets = targets <= {"all", "report"}
        if only_default_targets:
            command_line.show_next_steps(PROJECT)


onerror:
    command_line.show_skipped_volumes(RESULTS, SHARDS)
    command_line.show_not_run(RESULTS)
