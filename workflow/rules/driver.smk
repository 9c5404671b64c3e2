# Checks of the command line, the lock of the working folder, and the plan.  Included last, when all targets are
# known; skipped in jobs and where another workflow uses this one as a module.
#
#   in    .snakemake/locks, left by a killed run; stored downloads
#   out   files in .snakemake/.lextables and {RESULTS}/.lextables, locked by this run and its jobs
#         (lextables/pipeline/locks.py)

import atexit
import difflib

from snakemake.cli import get_argument_parser
from tqdm import tqdm

from lextables.corpora.caselaw.volumes import LIST, is_damaged
from lextables.pipeline import locks, not_run, removed
from lextables.pipeline.atomic import write_text
from lextables.sources.fetch import damaged


def check_command_line():
    """Return the targets; exit if one does not exist, or if an option would be ignored."""
    if workflow.resource_settings.cores == 0:
        sys.exit("--cores 0: no job would start; use --cores 1 or more.")
    if "snakemake" not in Path(sys.argv[0]).parts[-2:]:  # started by another program
        return set()
    if sum(word in ("--config", "-C") for word in sys.argv) > 1:
        sys.exit(
            "--config is given twice, and only the last one would count; put all keys after one --config."
        )
    targets = set(get_argument_parser().parse_known_args()[0].targets)
    or_exit(removed.check, sorted(targets), "command line")
    known = {rule.name for rule in workflow.rules}
    reasons = {f"{name}_data": reason for name, reason in ABSENT.items()}
    for paper in PAPERS.keys() - set(CONFIG.papers):
        names = [paper, *(f"{paper}_{table}" for table in PAPERS[paper].tables)]
        reasons |= dict.fromkeys(
            names, f"config key papers leaves {paper} out; add it there"
        )
    for target in sorted(targets - known):
        if target in reasons:
            sys.exit(f"{target}: {reasons[target]}.")
        if "/" not in target and not Path(target).exists():
            near = difflib.get_close_matches(target.lower(), known) or [
                "snakemake --list-target-rules"
            ]
            sys.exit(f"{target}: there is no such target; nearest: {', '.join(near)}.")
    return targets


def retry_what_is_not_run():
    """Delete outputs with the reason why a row is not run, and the declared file of what shows them."""
    if not (dropped := not_run.drop(RESULTS)):
        return
    shown = [Path(EXPORTED.format(export=name)) for name in EXPORTS]
    for paper in CONFIG.papers:
        tables = (
            name
            for name in PAPERS[paper].tables
            if dropped & {*PLANS[paper].folders(name)}
        )
        shown += [Path(RESULTS, "tables", paper, f"{name}.csv") for name in tables]
    for path in shown:
        path.unlink(missing_ok=True)


def remove_damaged_downloads():
    """Delete stored downloads that are not of their kind; `source_key` then asks to fetch them again."""
    faults = dict(damaged(Path(RESULTS, "sources")))
    listed = Path(RESULTS, "sources/caselaw", LIST)
    if listed.is_file() and is_damaged(listed):
        faults[listed] = "no list of volumes"
    for path, fault in faults.items():
        write_text(f"{path}.removed", sha256_of(path))
        path.unlink()
        logger.warning(
            f"{path} was {fault}; it is removed, and fetched again when it is needed."
        )


def clean_up():
    """Delete what this run makes or fetches again."""
    retry_what_is_not_run()
    remove_damaged_downloads()


def show_skipped_volumes():
    """Log the volumes of case law that were skipped, as the last lines on the screen."""
    skipped = []
    for shard in globals().get("VOLUMES", ()):
        fetched = record_of(Path(f"{RESULTS}/sources/caselaw/{shard}.json"), dict) or {}
        ingested = record_of(Path(f"{RESULTS}/data/caselaw/{shard}.json"), dict) or {}
        skipped += ingested.get("set_aside") or fetched.get("absent", [])
    if skipped:
        more = f" and {len(skipped) - 10:,} more" if len(skipped) > 10 else ""
        text = f"Skipped volumes of case law: {', '.join(skipped[:10])}{more}; --forcerun caselaw_volumes fetches them."
        logger.warning(text, extra={"last": True})


def show_not_run():
    """Log why rows are not run, as the last lines on the screen."""
    show_skipped_volumes()
    for reason in not_run.reasons(RESULTS):
        logger.warning(f"Not run: {reason}.", extra={"last": True})


if STANDALONE:
    targets = check_command_line()
    dryrun = workflow.output_settings.dryrun
    if dryrun and "plan" in targets:
        logger.addHandler(PlanScreen())
    elif dryrun:
        atexit.register(save_cache, PARSED_MODULES)
    if not dryrun and (
        message := or_exit(locks.acquire, Path(".snakemake"), Path(RESULTS), clean_up)
    ):
        logger.warning(message)


onstart:
    if STANDALONE:
        stopping.jobs_start()
    save_cache(PARSED_MODULES)
    ids = [
        number
        for job in workflow.dag.needrun_jobs()
        for number in workflow.persistence.external_jobids(job)
    ]
    or_exit(locks.refuse_cluster_jobs, ids)
    seconds, guessed = expected_seconds(workflow.dag.needrun_jobs())
    text = f"Expected time: {tqdm.format_interval(sum(seconds.values()))} of one core, by earlier runs of these rules."
    if guessed:
        text += (
            f"  {len(guessed)} jobs, of a new data set or model, may take longer."
        )
    logger.info(
        text, extra={"show": not GPU, "expected": seconds, "guessed": guessed}
    )


onsuccess:
    # Snakemake ends some seconds later; nothing is left to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    show_not_run()


onerror:
    show_not_run()
