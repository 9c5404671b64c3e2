# The run itself, last since it knows every target: the command line, the folder's lock and the plan.  None of it is
# done in jobs, nor where another workflow uses this one as a module.
#
#   in    .snakemake/locks, which a run that was killed leaves
#   out   .snakemake/lextables.lock, held while this run and its jobs are alive (lextables/locks.py)

import difflib

from snakemake.cli import get_argument_parser
from snakemake_interface_logger_plugins.common import LogEvent

from lextables import locks
from lextables.costs.screen import PlanScreen
from lextables.fingerprint import remember


def check_command_line():
    """Return the targets; exit where they do not exist, or options have no or half their effect."""
    if workflow.resource_settings.cores == 0:
        sys.exit("--cores 0: without a core no job ever starts; use --cores 1 or more.")
    if "snakemake" not in Path(sys.argv[0]).parts[-2:]:  # started by a program with a command line of its own
        return set()
    if sum(word in ("--config", "-C") for word in sys.argv) > 1:
        sys.exit(
            "--config is given twice, and only the last one would count; put all keys after one --config."
        )
    targets = set(get_argument_parser().parse_known_args()[0].targets)
    known = {rule.name for rule in workflow.rules}
    reasons = {f"{name}_data": reason for name, reason in ABSENT.items()}
    for paper in PAPERS.keys() - set(CONFIG.papers):
        names = [paper, *(f"{paper}_{table}" for table in PAPERS[paper].tables)]
        reasons |= dict.fromkeys(names, f"config key papers leaves {paper} out; add it there")
    for target in sorted(targets - known):
        if target in reasons:
            sys.exit(f"{target}: {reasons[target]}.")
        if "/" not in target and not Path(target).exists():
            near = difflib.get_close_matches(target.lower(), known) or ["snakemake --list-target-rules"]
            sys.exit(f"{target}: there is no such target; nearest: {', '.join(near)}.")
    return targets


if STANDALONE:
    targets = check_command_line()
    dryrun = workflow.output_settings.dryrun
    if dryrun and "plan" in targets:
        logger.addHandler(PlanScreen(planned_jobs, Path(RESULTS) / "plan", PLAN_NOTES))
    else:
        remember(MODULES_READ)
    if not dryrun and (message := or_exit(locks.acquire, Path(".snakemake"), Path(RESULTS))):
        logger.warning(message)


onstart:
    ids = [
        number
        for job in workflow.dag.needrun_jobs()
        for number in workflow.persistence.external_jobids(job)
    ]
    or_exit(locks.refuse_cluster_jobs, ids)


onerror:
    if interrupts:
        logger.error(STOPPED, extra={"event": LogEvent.ERROR, "exception": "KeyboardInterrupt"})
