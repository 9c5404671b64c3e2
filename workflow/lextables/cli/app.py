"""The options and help pages of the command `lextables`."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lextables import __version__
from lextables.cli.snakemake_command import (
    absolute,
    command,
    configuration,
    execute,
    listed,
)
from lextables.pipeline.errors import BadInput, plain_reason

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


class Data(StrEnum):
    """The raw data: the published files, or the included sample of invented texts."""

    release = "release"
    sample = "sample"


def available_cores() -> int:
    """Return the cores that this process may use; on macOS those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


CORES = available_cores()
DataOption = Annotated[Data, typer.Option(help="Published data, or invented texts.")]
MirrorOption = Annotated[
    list[Path],
    typer.Option(help="Folder with raw files, <source>/<file>; may be repeated."),
]


def _each_key_once(settings: list[str]) -> list[str]:
    """Return settings ``key=value``; `BadInput` if a key is repeated."""
    keys = set()
    for setting in settings:
        key = setting.partition("=")[0]
        if key in keys:
            what = f"--set {key} is given twice, and only the last one would count"
            raise BadInput(what, where="command line", do="give it once")
        keys.add(key)
    return settings


SetOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        help="A key of config.yaml, key=value; may be repeated for other keys.",
        callback=_each_key_once,
    ),
]
CoresOption = Annotated[int, typer.Option(min=1, help="Processor cores to use.")]
OwnRowsOption = Annotated[
    bool,
    typer.Option("--own-rows", help="Only rows of extra_models and extra_predictions."),
]
# Leaves out all rows of the papers: a pattern leaves out no row of the user.
OWN_ROWS = 'exclude_rows=["*"]'
Targets = Annotated[
    list[str],
    typer.Argument(
        metavar="TARGET",
        help="What to build (lextables list); none: all papers and the report.",
    ),
]
DataSet = Annotated[
    str,
    typer.Argument(metavar="DATA_SET", help="A data set or a paper (lextables list)."),
]
FormatOption = Annotated[
    str | None, typer.Option(help="trec, csv, jsonl or nbest, if the name hides it.")
]
FolderOption = Annotated[
    Path | None, typer.Option(help="Folder that has results/; default: this one.")
]
PartialOption = Annotated[
    bool, typer.Option("--partial", help="Only the questions that have predictions.")
]
OutputOption = Annotated[
    Path | None, typer.Option(help="Write all rows and columns as csv.")
]


def _version(shown: bool) -> None:
    if shown:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def lextables(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, help="Show the version.")
    ] = False,
) -> None:
    """Rebuild the result tables of five legal NLP papers, and score predictions.

    \b
    lextables doctor                      what can run on this machine
    lextables list acord                  the tables of a paper
    lextables run acord_data              download and check a data set
    lextables score cuad nbest.json       score your predictions

    Results are written into the folder results/ of the current folder.
    """


@app.command()
def run(
    targets: Targets = [],  # noqa: B006
    data: DataOption = Data.release,
    mirror: MirrorOption = [],  # noqa: B006
    cores: CoresOption = CORES,
    settings: SetOption = [],  # noqa: B006
    profile: Annotated[
        str, typer.Option(help="A profile: default, slurm or a folder.")
    ] = "default",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Show the jobs only.")
    ] = False,
    own_rows: OwnRowsOption = False,
) -> None:
    """Build tables, data sets or the report with Snakemake.

    The command of Snakemake is printed first. Models that are not on this machine are
    left out; --set models=paper downloads them. Options of Snakemake follow after --.

    \b
    lextables run acord_table_d3
    lextables run acord cuad --mirror ~/raw --cores 4
    lextables run --data sample
    lextables run maud --set device=cpu --set seeds=[0] --dry-run
    lextables run acord --own-rows
    lextables run cuad_data -- --forcerun fetch_source

    Results: results/tables/<paper>/<table>.html, results/data/<data set>,
    results/report/index.html. The sample's are below results/sample.
    """
    if own_rows:
        settings = [*settings, OWN_ROWS]
    config = configuration(data, _names(targets), mirror, settings)
    options = ["--cores", str(cores)]
    if dry_run:
        options.append("--dry-run")
    execute(command(targets, config, options, profile))


@app.command()
def plan(
    targets: Targets = [],  # noqa: B006
    data: DataOption = Data.release,
    mirror: MirrorOption = [],  # noqa: B006
    settings: SetOption = [],  # noqa: B006
    own_rows: OwnRowsOption = False,
    job: Annotated[
        str, typer.Option(help="Folder of a run: show what its job reads and requests.")
    ] = "",
) -> None:
    """Show what a run needs before it starts: jobs, hours, disk and downloads.

    \b
    lextables plan acord_table_d3
    lextables plan --set models=paper --set device=cuda
    lextables plan --data sample --job runs/maud/read/minilm/multi-sample/seed0
    """
    if own_rows:
        settings = [*settings, OWN_ROWS]
    config = configuration(data, _names(targets), mirror, settings)
    if job:
        from lextables.cli.jobs import record

        typer.echo(record(job, config), nl=False)
        return
    execute(command(["plan", *targets], config, ["--cores", str(CORES)]))


@app.command()
def fetch(
    papers: Annotated[list[str], typer.Argument(help="Papers; none: all.")] = [],  # noqa: B006
    mirror: MirrorOption = [],  # noqa: B006
    settings: SetOption = [],  # noqa: B006
) -> None:
    """Download raw data and weights, for example for nodes without a network.

    \b
    lextables fetch acord cuad
    lextables fetch acord --set models=available     no weights from the hub
    """
    settings = ["models=paper", *settings]
    config = configuration(Data.release, papers, mirror, settings)
    execute(command(["fetch"], config, ["--cores", str(CORES)]))


@app.command()
def rehearsal(
    papers: Annotated[list[str], typer.Argument(help="Papers; none: all.")] = [],  # noqa: B006
    cores: CoresOption = CORES,
    settings: SetOption = [],  # noqa: B006
) -> None:
    """Run every row on the sample with tiny models, to test the installation.

    \b
    lextables rehearsal acord
    """
    config = configuration(Data.sample, papers, [], settings)
    execute(command(["rehearsal"], config, ["--cores", str(cores)]))


@app.command()
def review(
    contract: Annotated[Path, typer.Argument(help="A Word, PDF, HTML or text file.")],
    data: DataOption = Data.release,
    mirror: MirrorOption = [],  # noqa: B006
    cores: CoresOption = CORES,
    settings: SetOption = [],  # noqa: B006
) -> None:
    """Highlight CUAD's 41 categories in a contract.

    The first review trains linear models on CUAD, which takes minutes.

    \b
    lextables review lease.docx
    """
    path = str(absolute(contract))
    settings = [f"contract={listed([path])}", *settings]
    config = configuration(data, [], mirror, settings)
    execute(command(["review"], config, ["--cores", str(cores)]))


@app.command("list")
def list_targets(
    papers: Annotated[list[str], typer.Argument(help="Papers; none: all.")] = [],  # noqa: B006
    data: DataOption = Data.release,
    mirror: MirrorOption = [],  # noqa: B006
) -> None:
    """List the targets of lextables run by paper, and whether they can run here.

    A line has the target, the number of its rows that can run with the models on this
    machine, and the title of the table. The first line says which raw files are
    missing.

    \b
    lextables list
    lextables list acord --mirror ~/raw
    """
    from lextables.cli.targets import target_lines

    for line in target_lines(papers, data, mirror):
        typer.echo(line)


@app.command()
def doctor(mirror: MirrorOption = []) -> None:  # noqa: B006
    """Show what this machine has, and what the missing parts would enable.

    \b
    lextables doctor --mirror ~/raw
    """
    from lextables.cli.doctor import lines

    for line in lines(mirror):
        typer.echo(line)


@app.command()
def score(
    data_set: DataSet,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Predictions; several files are seeds."),
    ],
    format: FormatOption = None,
    data: DataOption = Data.release,
    folder: FolderOption = None,
    partial: PartialOption = False,
    output: OutputOption = None,
) -> None:
    """Score predictions on the test part of a data set, with 95 % intervals.

    The data set is built once: lextables run cuad_data. docs/predictions.md has the
    formats. The columns are the metric, its mode (paper: as the released evaluator
    computes it, strict: as the paper's text defines it), the value, the interval and
    the number of units. Groups such as categories are only in --output.

    \b
    lextables score acord run.trec
    lextables score cuad seed0/nbest.json seed1/nbest.json
    lextables score contracteval outputs.jsonl --partial --output scores.csv
    """
    from lextables.notebook.scoring import score as score_files

    scores = score_files(data_set, files, format, data.value, folder, partial)
    shown = scores[scores["group"] == "all"]
    columns = ["metric", "mode", "value", "low", "high", "n"]
    _show(shown[columns], scores, output)


@app.command()
def compare(
    data_set: DataSet,
    systems: Annotated[
        list[str],
        typer.Argument(metavar="NAME=FILE[,FILE]", help="Systems and their files."),
    ],
    format: FormatOption = None,
    data: DataOption = Data.release,
    folder: FolderOption = None,
    partial: PartialOption = False,
    output: OutputOption = None,
) -> None:
    """Compare systems with paired tests, as the tables of the paper do.

    A row is a pair of systems in a measure of a table, with the difference, its 95 %
    interval, the p-value, the p-value after Holm's correction, and the number of units.

    \b
    lextables compare acord A=a.csv B=b.csv
    lextables compare cuad A=a0.json,a1.json B=b0.json,b1.json
    """
    from lextables.notebook.scoring import compare as compare_files

    named: dict[str, list[str]] = {}
    for system in systems:
        name, sign, paths = system.partition("=")
        if not sign:
            what = f"{system} has no name"
            raise BadInput(what, where="command line", do="write NAME=FILE")
        if name in named:
            what = f"the system {name!r} appears twice"
            do = "give each a name of its own, and seeds as NAME=FILE,FILE"
            raise BadInput(what, where="command line", do=do)
        named[name] = paths.split(",")
    pairs = compare_files(data_set, named, format, data.value, folder, partial)
    columns = ["table", "measure", "one", "other", "difference", "low", "high"]
    columns += ["p", "adjusted", "units"]
    _show(pairs[columns], pairs, output)


def _show(shown: "pd.DataFrame", written: "pd.DataFrame", output: Path | None) -> None:
    """Print the frame ``shown``, and write the frame ``written`` to the csv file
    ``output``, if there is one.

    How many test items were left out is said on the error output.  Raises `BadInput` if
    the file cannot be written; the frame is printed before.
    """
    typer.echo(shown.to_string(index=False, float_format="{:.4f}".format))
    left_out = written.attrs.get("left_out", 0)
    if left_out:
        text = f"Left out: {left_out} test items that not every file predicts."
        typer.echo(text, err=True)
    if output is None:
        return
    try:
        written.to_csv(output, index=False)
    except OSError as error:
        what = f"cannot be written ({plain_reason(error, output.parent)})"
        do = "name a file in a folder that you can write"
        raise BadInput(what, where=str(output), do=do) from None


def _names(targets: list[str]) -> list[str]:
    """Return the targets without Snakemake's options, which follow after ``--``."""
    names = []
    for target in targets:
        if target.startswith("-"):
            break
        names.append(target)
    return names
