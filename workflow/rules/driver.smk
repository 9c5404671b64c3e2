# The run itself, last of all since it knows every target: whether it may write here, whether another run has
# this folder, what is on the screen while it goes on, and what is said last when something fails.
#
#   in    .snakemake/locks, which a run that was killed leaves
#   out   .snakemake/leases/<host>-<process>, for as long as this run is alive; sentences

import atexit
import shutil

from snakemake.logging import logger

from lextables import aftermath, cluster, disk, leases, not_run
from lextables.command_line import plans
from lextables.console import Console
from lextables.fingerprint import remember


def known_targets():
    """Every name that a user may ask for, with what is in its way: mostly nothing."""
    names = {rule.name: "" for rule in workflow.rules if not rule.has_wildcards()}
    names |= {path: "" for paper in CONFIG.papers for path in table_files(paper)}
    for paper in PAPERS.keys() - set(CONFIG.papers):
        out = f"config key papers leaves {paper} out; add it there"
        names |= {paper: out} | {f"{paper}_{table}": out for table in PAPERS[paper].tables}
    names |= {f"{name}_data": reason for name, reason in ABSENT.items()}
    return names


def give_up(jobid):
    """Try a job no more.  Not by the property attempt, which would count the job's resources anew."""
    for job in workflow.dag.jobs:
        if workflow.dag.jobid(job) == jobid:
            job._attempt = job.restart_times + 1


def retry_what_is_not_run():
    """Delete the outputs that say why a row is not run, and the first file of what shows them: both are remade."""
    if not (dropped := not_run.drop(RESULTS)):
        return
    shown = [Path(PUBLISH, name, "README.md") for name in BUNDLES]
    for paper in CONFIG.papers:
        tables = (name for name in PAPERS[paper].tables if dropped & {*PLANS[paper].folders(name)})
        shown += [Path(RESULTS, "tables", paper, f"{name}.csv") for name in tables]
    for path in shown:
        path.unlink(missing_ok=True)


def put_right():
    """Nothing else works in this folder: clear away what killed processes left, and what a wrong clock did."""
    shutil.rmtree(".snakemake/scripts", ignore_errors=True)
    aftermath.drop_unfinished(RESULTS)
    retry_what_is_not_run()
    # No rule declares the work, which may be a great many files.
    if number := aftermath.redate([RESULTS, HERE / "resources"], but=[f"{RESULTS}/work"]):
        logger.info(f"{number} files were dated in the future by a clock that was ahead, and are dated now.")


# A job on another machine reads this file as well, but is no run.
if workflow.is_main_process:
    kept = ""
    # A plan writes nothing that it cannot do without, and is in no other run's way.
    if workflow.output_settings.dryrun and plans(sys.argv[1:]):
        logger.addHandler(PlanScreen())
    else:
        for folder in (".snakemake", RESULTS):
            if fault := disk.unusable(folder):
                sys.exit(fault)
        remember(MODULES_READ)
        lease, freed, kept = leases.settle(Path(".snakemake"), put_right)
        atexit.register(lease.release)
        if freed:
            logger.info(freed)
        Console.replace(logger, workflow.output_settings)
        logger.addHandler(cluster.Waiting(logger))
    last_words.LastWords(known_targets(), kept, give_up, RESULTS).listen(logger)
