"""What a user's command does before and after its jobs: checks, cleanup and
messages.
"""

import csv
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from snakemake.logging import logger

from lextables.corpora.caselaw.volumes import LIST, is_damaged
from lextables.pipeline import entries, not_run, removed, version
from lextables.pipeline.atomic import write_text
from lextables.pipeline.content import sha256_of
from lextables.pipeline.errors import BadInput, did_you_mean
from lextables.pipeline.files import read_record
from lextables.pipeline.run import versions
from lextables.pipeline.user_rows import PREFIX
from lextables.pipeline.version import snakemake_path
from lextables.planning.job_server import JobServer, has_job_server
from lextables.planning.messages import show_last
from lextables.planning.project import Project
from lextables.planning.snakemake_interface import (
    SnakemakeRun,
    config_files_of_command_line,
    config_of_command_line,
    run_scripts_by,
)
from lextables.report import rehearsal
from lextables.sources.fetch import damaged

SHOWN_VOLUMES = 10  # in a message
PRELOADED_JOBS = 20  # the least number for which the server of jobs saves time
Result = TypeVar("Result")


def or_exit(build: Callable[..., Result], *arguments: object) -> Result:
    """Return ``build(*arguments)``; `BadInput` ends the run with its message."""
    try:
        return build(*arguments)
    except BadInput as error:
        sys.exit(str(error))


def show_configuration(project: Project) -> None:
    """Log the configuration, the user's entries without a row, and earlier runs that
    were made with other library versions.
    """
    heading = project.config.heading(project.context.gpu)
    logger.info(f"lextables: {heading}", extra={"show": True})
    names = entries_without_row(project)
    if names:
        logger.warning(
            f"No row for {', '.join(names)}: the papers in this run have no table "
            "that fits (config key papers)."
        )
    folder = Path(project.results)
    records = [folder / run.folder / "run.json" for run in project.specs]
    installed = versions()
    outdated = version.outdated(records, installed)
    if outdated:
        path = folder / ".cache/other_versions.txt"
        logger.warning(version.warning(outdated, installed, path))


def entries_without_row(project: Project) -> list[str]:
    """Return the names in extra_models and extra_predictions that no planned paper has
    a row for.
    """
    config = project.config
    # A rehearsal leaves out the rows that no paper published.
    if config.rehearsal:
        return []
    rows: set[str] = set()
    for plan in project.plans.values():
        rows.update(plan.names)
    names = {extra.name for extra in (*config.extra_models, *config.extra_predictions)}
    # The name of a row may state more, such as the prompt.
    return sorted(name for name in names if not any(name in row for row in rows))


def started_by_snakemake() -> bool:
    """Return whether the program of this process is Snakemake, whose options can be
    checked.
    """
    return "snakemake" in Path(sys.argv[0]).parts[-2:]


def preload(project: Project, run: SnakemakeRun, root: Path, jobs: int) -> None:
    """Start the server of jobs (`job_server`), if config key ``preload`` asks for it
    and jobs can use it.

    ``auto`` asks for it if there are at least `PRELOADED_JOBS` jobs: fewer jobs take
    less time than the start of the server, which imports the libraries of all jobs.
    ``jobs`` is the number of jobs, and ``root`` the project's folder.

    Raises `BadInput` if the configuration asks for a server that jobs cannot use.
    """
    config = project.config
    if config.preload == "no" or run.is_dry_run:
        return
    reason = ""
    if run.runs_jobs_elsewhere:
        reason = "jobs run on a cluster"
    elif run.uses_environments:
        reason = "jobs run in other environments"
    elif project.context.gpu:
        reason = "jobs use a GPU (device=cpu uses none)"
    if config.preload == "yes" and reason:
        what = f"preload = 'yes' but {reason}"
        raise BadInput(what, where="config", do="set preload to auto or no")
    if reason or has_job_server():
        return
    if config.preload == "yes" or jobs >= PRELOADED_JOBS:
        run_scripts_by(JobServer(root / "workflow").interpreter)


def check_options(has_no_cores: bool) -> None:
    """End the run if an option would be ignored or no job would start."""
    if has_no_cores:
        sys.exit("--cores 0: no job would start; use --cores 1 or more.")
    if not started_by_snakemake():
        return
    if sum(map(_is_config_option, sys.argv)) > 1:
        sys.exit(
            "--config is given twice, and only the last one would count; "
            "put all keys after one --config."
        )
    if sum(map(_is_config_file_option, sys.argv)) > 1:
        sys.exit(
            "--configfile is given twice, and only the last one would count; "
            "put all files after one --configfile."
        )
    keys = Counter(word.partition("=")[0] for word in config_of_command_line())
    for key, number in keys.items():
        if number > 1:
            sys.exit(
                f"--config has {key} twice, and only the last one would count; "
                "give it once."
            )
    for word in sys.argv:
        _, _, value = word.rpartition("=")
        if not value.isascii() and _is_number(value):
            sys.exit(f"{word}: write the number with the digits 0 to 9.")
    for path in config_files_of_command_line():
        or_exit(entries.mapping, path)


def _is_config_option(word: str) -> bool:
    """Whether a word of the command line is ``--config`` or ``-C``, alone or with the
    first key.
    """
    return word == "--config" or word.startswith(("--config=", "-C"))


def _is_config_file_option(word: str) -> bool:
    """Whether a word of the command line is ``--configfile`` or ``--configfiles``,
    alone or with the first file.
    """
    return word.partition("=")[0] in ("--configfile", "--configfiles")


def _is_number(text: str) -> bool:
    """Whether Python reads a text as a number, which it does in digits of any script.

    Snakemake lets Python read the values of options.
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_targets(
    project: Project, targets: Collection[str], rules: Collection[str]
) -> None:
    """End the run if a target is neither one of ``rules`` nor a file, or was
    removed.
    """
    unknown = sorted(set(targets) - set(rules))
    if not unknown:
        return
    or_exit(removed.check, unknown, "command line")
    reasons = _reasons_without_target(project)
    for target in unknown:
        if target in reasons:
            sys.exit(f"{target}: {reasons[target]}.")
        if "/" in target or Path(target).exists():
            continue
        do = did_you_mean(target, rules) or "see snakemake --list-target-rules"
        sys.exit(f"{target}: there is no such target; {do}.")


def check_push(project: Project, targets: Collection[str]) -> None:
    """End the run if it would upload exports of the sample, which would replace those
    of the release.
    """
    config = project.config
    if config.push and config.data == "sample" and "publish" in targets:
        sys.exit(
            "config: push uploads no exports of the sample, whose texts are invented; "
            "set data to release, or leave push empty."
        )


def _reasons_without_target(project: Project) -> Mapping[str, str]:
    """{target that exists under other configurations: why it does not exist now}."""
    reasons = {f"{name}_data": reason for name, reason in project.absent.items()}
    for paper in project.papers.keys() - set(project.config.papers):
        reason = f"config key papers leaves {paper} out; add it there"
        reasons[paper] = reason
        for table in project.papers[paper].tables:
            reasons[f"{paper}_{table}"] = reason
    return reasons


def clean_up(project: Project, exports: Iterable[str]) -> None:
    """Delete what earlier runs left and this run makes or fetches again: the reasons
    why rows were not run, the files that show them, and damaged downloads.

    ``exports`` are the declared files of the exports.
    """
    _retry_what_is_not_run(project, exports)
    _remove_damaged_downloads(Path(project.results))


def _retry_what_is_not_run(project: Project, exports: Iterable[str]) -> None:
    """Delete outputs that have a reason instead of a result, and the tables and exports
    that show these reasons; this run makes them again.
    """
    dropped = not_run.drop(project.results)
    if not dropped:
        return
    shown = [Path(export) for export in exports]
    for paper in project.config.papers:
        for table in project.papers[paper].tables:
            if dropped.intersection(project.plans[paper].folders(table)):
                shown.append(Path(project.results, "tables", paper, f"{table}.csv"))
    for path in shown:
        path.unlink(missing_ok=True)


def _remove_damaged_downloads(results: Path) -> None:
    """Delete stored downloads that are not of the kind that their name says; they are
    fetched again.
    """
    for path, fault in damaged(results / "sources"):
        _remove(path, fault)
    volumes = results / "sources/caselaw" / LIST
    if volumes.is_file() and is_damaged(volumes):
        _remove(volumes, "no list of volumes")


def _remove(path: Path, fault: str) -> None:
    """Delete a damaged file, and write its digest to `<file>.removed`.

    `SourceParams.key` reads this digest, so that Snakemake fetches the file again.
    """
    write_text(f"{path}.removed", sha256_of(path))
    path.unlink()
    logger.warning(
        f"{path} was {fault}; it is removed, and fetched again when it is needed."
    )


def show_skipped_volumes(results: str, shards: Iterable[str]) -> None:
    """Log which volumes of case law were skipped in these shards."""
    skipped = []
    for shard in shards:
        record = Path(results, f"sources/caselaw/{shard}.json")
        report = Path(results, f"data/caselaw/{shard}.json")
        fetched = read_record(record, dict) or {}
        ingested = read_record(report, dict) or {}
        # The report also has the volumes that were not fetched.
        skipped += ingested.get("set_aside") or fetched.get("absent", [])
    if not skipped:
        return
    names = ", ".join(skipped[:SHOWN_VOLUMES])
    if len(skipped) > SHOWN_VOLUMES:
        names += f" and {len(skipped) - SHOWN_VOLUMES:,} more"
    show_last(
        f"Skipped volumes of case law: {names}; --forcerun caselaw_volumes fetches them."
    )


def show_not_run(results: str) -> None:
    """Log why rows are not run."""
    for reason in not_run.reasons(results):
        show_last(f"Not run: {reason}.")


def show_rehearsal(report: Path) -> None:
    """Log how many published rows of each paper ran."""
    for sentence in rehearsal.sentences(rehearsal.read(report)):
        show_last(f"Rehearsal of {sentence}")
    show_last(f"The rows and their reasons are in {report.with_suffix('.md')}.")


def show_results(project: Project, targets: Collection[str]) -> None:
    """Log where the tables and data sets of a command are, and how many values match.

    A table that was not made, as with ``--until``, has no line.
    """
    for target in sorted(targets):
        paper, _, name = target.partition("_")
        entry = project.papers.get(paper)
        if entry is not None and name in entry.tables:
            page = Path(project.results, "tables", paper, f"{name}.html")
            if not page.exists():
                continue
            verdicts = _verdicts(page.with_suffix(".csv"))
            show_last(f"Done: {page} ({verdicts}).")
        elif target.removesuffix("_data") in project.paper_of and target != paper:
            # The target of a paper, such as `maud`, may also be a data set's name.
            data_set = target.removesuffix("_data")
            show_last(f"Done: {project.results}/data/{data_set}/")
        elif target == "publish":
            show_last(f"Done: {project.results}/publish/")


def _verdicts(table: Path) -> str:
    """Return how many values of a table have each verdict, such as ``10 match, 60 not
    run``.
    """
    with table.open(encoding="utf-8", newline="") as file:
        verdicts = Counter(row["verdict"] for row in csv.DictReader(file))
    del verdicts[""]  # values that the paper does not print
    counts = [f"{number} {verdict}" for verdict, number in verdicts.most_common()]
    return ", ".join(counts) or "no published values"


def own_rows(results: str) -> dict[Path, set[str]]:
    """Return {csv of a table with users' rows: the names of these rows}."""
    rows_of = {}
    for path in sorted(Path(results).glob("tables/*/*.csv")):
        rows = set()
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            for line in csv.DictReader(file):
                # The cell has the folders of the row's runs.
                if f"/{PREFIX}" in str(line.get("runs")):
                    rows.add(line["row"])
        if rows:
            rows_of[path] = rows
    return rows_of


def show_removed_rows(results: str, before: Mapping[Path, Collection[str]]) -> None:
    """Log which of the user's rows the run has removed from tables.

    ``before`` is what `own_rows` returned before the run.
    """
    after = own_rows(results)
    for path, rows in before.items():
        removed_rows = sorted(set(rows) - after.get(path, set()))
        if removed_rows:
            names = ", ".join(removed_rows)
            page = path.with_suffix(".html")
            show_last(
                f"No longer in {page}: {names}. To keep your rows, give the same "
                "extra_predictions and extra_models in each run."
            )


def show_next_steps(project: Project) -> None:
    """Log where the report is, and after a run on the sample how to make a real table.

    That table has the main score of the first paper in the configuration.
    """
    show_last(f"Done: open {project.results}/report/index.html in a browser.")
    if project.config.data != "sample":
        return
    paper = project.config.papers[0]
    for name, table in project.papers[paper].tables.items():
        if table.headline:
            config = f"data=release models=available papers='[{paper}]'"
            command = f"{snakemake_path()} --cores 2 {paper}_{name} --config {config}"
            show_last(f"Next, a table of real data: {command}")
            break
