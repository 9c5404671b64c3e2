"""The results page (docs/results.md): reproduced values of all papers, as Markdown with a figure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from textwrap import shorten
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lextables.pipeline.version import words
from lextables.report import site, wording
from lextables.report.commands import changed_keys
from lextables.report.leaderboard import NONE, Benchmark, benchmarks, headline_lines
from lextables.report.results import Exhibit, Part, RunRecord
from lextables.tables import figures
from lextables.tables.cells import Line
from lextables.tables.published import number
from lextables.tables.render import data_note, label, markdown, markdown_row, plain

NAME = "results"  # of the page and the picture
BEGIN, END = "<!-- summary -->", "<!-- end of summary -->"
NAMES = wording.OUTCOMES | {"unjudged": "no verdict", "elsewhere": "other data"}
EXPLAINED = ("off", "unjudged", "elsewhere", "not run")
CELLS = 3  # named in a line
LONGEST = 40  # letters of a value
REASONS = 10  # of one outcome of a paper
BEST_ROWS = 3  # of a benchmark
OVERLAPS, LEAST = (
    10,
    0.05,
)  # pairs of splits, and the share of words from which they are shown
NOTHING_ELSE = "none of these"
LOOKS = {
    "match": {"facecolor": figures.OURS},
    "near": {"facecolor": figures.OURS, "alpha": 0.6, "hatch": "////"},
    "off": {"facecolor": "none", "hatch": "xxxx"},
    "unjudged": {"facecolor": figures.OURS, "alpha": 0.25},
    "elsewhere": {"facecolor": figures.OURS, "alpha": 0.25, "hatch": ".."},
    "not run": {"facecolor": "none"},
}
# Colours that work on light and dark pages.
PAPER = "<style>svg{color:#1b1d20;background:#fff}</style>"
WIDTH, BAR = 7.4, 0.34  # inches


@dataclass(frozen=True)
class Material:
    """What the page shows.

    ``date`` is the day of the last run.  ``baselines`` are the folders of the baselines' runs.  ``needs`` is
    {paper: {table: {reason of a row that is not run: what it needs}}}.  ``overlaps`` is `overlaps.pairs`, if
    there is one, and ``files`` are {data set: the source files of its census}.
    """

    config: Mapping[str, Any]
    parts: Sequence[Part]
    runs: Sequence[RunRecord]
    date: str
    baselines: Collection[str] = ()
    needs: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None
    overlaps: pd.DataFrame | None = None
    files: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def exhibits(self) -> list[tuple[Part, Exhibit]]:
        """The tables of all papers."""
        return [(part, exhibit) for part in self.parts for exhibit in part.exhibits]


def picture(material: Material) -> str:
    """Return the figure as svg: outcomes by paper, and baselines compared with the best published values."""
    counts, baselines = _counts(material.parts), _besides(material)

    def drawing(figure: Figure) -> None:
        rows = [max(len(counts), 1), *[len(baselines)] * bool(baselines)]
        figure.set_size_inches(WIDTH, BAR * (sum(rows) + 5 + 2 * bool(baselines)))
        axes = figure.subplots(len(rows), 1, squeeze=False, height_ratios=rows)
        _draw_counts(axes[0, 0], counts)
        if baselines:
            _draw_besides(axes[1, 0], baselines)

    svg = site.drawing(
        figures.to_svg(drawing, "Published values and baselines", NAME), PAPER
    )
    return f"{' '.join(svg.split())}\n"


def _draw_counts(axes: Any, counts: Mapping[str, wording.Counts]) -> None:
    columns = _outcomes(counts.values())
    for at, outcomes in enumerate(counts.values()):
        start, total = 0.0, sum(outcomes.values())
        for name in columns:
            share = 100 * outcomes[name] / total
            axes.barh(
                at,
                share,
                left=start,
                height=0.7,
                edgecolor=figures.INK,
                linewidth=0.8,
                **LOOKS[name],
            )
            start += share
    axes.set_yticks(
        range(len(counts)),
        [f"{name} ({sum(n.values()):,})" for name, n in counts.items()],
    )
    axes.set(
        xlim=(0, 100),
        ylim=(max(len(counts), 1) - 0.5, -0.5),
        xlabel="Published values (%)",
    )
    axes.tick_params(axis="y", length=0)
    patches = [
        Patch(edgecolor=figures.INK, label=NAMES[name], **LOOKS[name])
        for name in columns
    ]
    axes.figure.legend(
        handles=patches,
        loc="outside upper left",
        ncols=6,
        columnspacing=1,
        handlelength=1.4,
    )


def _draw_besides(axes: Any, baselines: Mapping[str, tuple[float, str]]) -> None:
    for at, (share, text) in enumerate(baselines.values()):
        axes.barh(
            at,
            share,
            height=0.6,
            facecolor=figures.OURS,
            edgecolor=figures.INK,
            linewidth=0.8,
        )
        axes.annotate(
            text, (max(share, 100), at), (5, 0), textcoords="offset points", va="center"
        )
    axes.axvline(100, color=figures.INK, linewidth=1.2)
    axes.set_yticks(range(len(baselines)), [*baselines])
    axes.set(
        ylim=(len(baselines) - 0.5, -0.5),
        xlabel="Best baseline, best published value = 100",
    )
    axes.set_xlim(0, 1.65 * max(100, *(share for share, _ in baselines.values())))
    axes.tick_params(axis="y", length=0)


def page(material: Material) -> str:
    """Return the page as Markdown."""
    return "\n\n".join(_blocks(material)) + "\n"


def summary(material: Material) -> str:
    """Return the table of outcomes by paper, between `BEGIN` and `END`."""
    counts = _counts(material.parts)
    columns = _outcomes(counts.values())
    rows = [(plain(name), outcomes) for name, outcomes in counts.items()]
    rows += [("**all**", wording.summed(counts.values()))] * (len(rows) > 1)
    table = _table(
        ["paper", "published values", *(NAMES[name] for name in columns)],
        (
            [name, f"{sum(n.values()):,}", *(f"{n[each]:,}" for each in columns)]
            for name, n in rows
        ),
    )
    return "\n\n".join([BEGIN, table, END])


def with_summary(text: str, block: str) -> str:
    """Return ``text`` with its part between `BEGIN` and `END` replaced by ``block``."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{block}{after}" if begin and end else text


def _blocks(material: Material) -> Iterator[str]:
    yield "# Results"
    yield (
        f"Values reproduced by one run. The target `{NAME}_page` writes this page and its figure. "
        "[Verdicts](reference.md#tables) are explained in the reference."
    )
    if banner := wording.banner(material.config, material.runs):
        yield f"**{plain(banner)}**"
    yield f"![Outcomes by paper, and baselines compared with the best published values]({NAME}.svg)"
    yield summary(material)
    yield _made(material)
    yield _settings(material.config)
    yield from _section("Requirements of values that are not run", _needs(material))
    for part in material.parts:
        yield from _section(part.short, _explained(part))
    yield from _section("Leaderboard", _leaderboard(benchmarks(material.parts)))
    for part, exhibit in material.exhibits:
        if exhibit.entry.in_full:
            about = (
                exhibit.entry.title,
                f"{part.short}, {exhibit.entry.where}",
                exhibit.lines,
                (),
                "",
            )
            yield f"#{markdown(*about, name=exhibit.name).rstrip()}"
    if material.overlaps is not None:
        yield from _section(
            "Overlaps between data sets", _overlaps(material.overlaps, material.files)
        )


def _section(title: str, blocks: Iterable[str]) -> Iterator[str]:
    lines = [*blocks]
    if lines:
        yield f"## {plain(title)}"
        yield from lines


def _table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], texts: Collection[str] = ()
) -> str:
    """A Markdown table; columns but the first and ``texts`` are right-aligned."""
    sides = [
        "---" if not at or name in texts else "---:" for at, name in enumerate(columns)
    ]
    return "\n".join(markdown_row(*row) for row in (columns, sides, *rows))


def _made(material: Material) -> str:
    """Commits, date and processors of the runs."""
    computed = [run for run in material.runs if not run.submitted]
    versions = Counter(
        words(run.record["lextables"])
        for run in computed
        if run.record.get("lextables")
    )
    devices = Counter(run.record["device"] for run in computed)
    made = _counted("by lextables", versions), _counted("on", devices)
    return f"{len(computed):,} runs, the last on {material.date}: {'; '.join(made)}."


def _settings(config: Mapping[str, Any]) -> str:
    """The published settings that are not the default."""
    chosen = changed_keys(config)
    return f"Settings: {', '.join(f'`{each}`' for each in chosen) or 'the default'}."


def _counted(word: str, counts: Counter[str]) -> str:
    """Each name after ``word``, with its count if there are several, the most frequent one first."""
    if len(counts) < 2:
        return f"{word} {next(iter(counts), 'none')}"
    return ", ".join(f"{n:,} {word} {name}" for name, n in counts.most_common())


def _counts(parts: Iterable[Part]) -> dict[str, wording.Counts]:
    """{paper: its outcomes} of the papers with published values."""
    outcomes = {
        part.short: wording.summed(
            wording.outcome_counts(exhibit.lines) for exhibit in part.exhibits
        )
        for part in parts
    }
    return {name: counts for name, counts in outcomes.items() if any(counts.values())}


def _outcomes(counts: Iterable[wording.Counts]) -> list[str]:
    """The outcomes with a column: verdicts always, others where there is a value."""
    total = wording.summed(counts)
    return [
        name for name in NAMES if total[name] or name not in ("unjudged", "elsewhere")
    ]


def _published(part: Part) -> Iterator[tuple[Exhibit, Line, str]]:
    """The published values with their table and outcome."""
    for exhibit in part.exhibits:
        for line in exhibit.lines:
            if line.published:
                yield exhibit, line, wording.outcome(line)


def _explained(part: Part) -> Iterator[str]:
    """The table of outcomes that are neither match nor near, by reason."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {
        name: defaultdict(list) for name in EXPLAINED
    }
    for exhibit, line, outcome in _published(part):
        if outcome in groups:
            where, cell = "", label(exhibit.name)
            if outcome == "off":
                values = (
                    shorten(text, LONGEST, placeholder="…")
                    for text in (line.published, line.reproduced)
                )
                where, cell = cell, f"{line.row}, {line.column}: {' → '.join(values)}"
            reason = line.reason or (
                data_note(exhibit.sources) if outcome == "elsewhere" else ""
            )
            groups[outcome][where, reason].append(cell)
    rows = [
        row
        for outcome, cells in groups.items()
        for row in _outcome_rows(outcome, cells)
    ]
    if rows:
        yield _table(["", "values", "where", "why"], rows, ["where", "why"])
    elif any(True for _ in _published(part)):
        yield "Every published value is reproduced."


def _outcome_rows(
    outcome: str, groups: Mapping[tuple[str, str], Sequence[str]]
) -> Iterator[list[str]]:
    """The largest groups; those of values that are off in the paper's order, and all of them."""
    order = [*groups.items()]
    if outcome != "off":
        order.sort(key=lambda group: (-len(group[1]), group[0]))
    listed = order if outcome == "off" else order[:REASONS]
    for (table, reason), cells in listed:
        names = [*dict.fromkeys(cells)]
        more = f" and {len(names) - CELLS} more" if len(names) > CELLS else ""
        where = "; ".join(names[:CELLS]) + more
        where = f"{table}: {where}" if table else where
        yield [
            NAMES[outcome],
            f"{len(cells):,}",
            plain(where),
            plain(reason or "not known"),
        ]
    if rest := order[len(listed) :]:
        values = sum(len(cells) for _, cells in rest)
        yield [NAMES[outcome], f"{values:,}", "", f"{len(rest)} other reasons"]


def _needs(material: Material) -> Iterator[str]:
    """The table of requirements of values that are not run."""
    if material.needs is None:
        return
    needed: dict[str, Counter[str]] = defaultdict(Counter)
    for part in material.parts:
        of_tables = material.needs.get(part.name, {})
        for exhibit, line, outcome in _published(part):
            if outcome == "not run":
                needed[of_tables.get(exhibit.name, {}).get(line.reason, NOTHING_ELSE)][
                    part.short
                ] += 1
    if needed:
        yield "Published values that are not run, by the requirements of their rows (the reasons are below)."
        order = sorted(
            needed.items(),
            key=lambda item: (item[0] == NOTHING_ELSE, -item[1].total(), item[0]),
        )
        yield _table(
            ["needs", "values", "of"],
            (
                [
                    what,
                    f"{n.total():,}",
                    ", ".join(f"{plain(paper)} {k:,}" for paper, k in n.items()),
                ]
                for what, n in order
            ),
            ["of"],
        )


def _besides(material: Material) -> dict[str, tuple[float, str]]:
    """{table: best baseline of its headline in per cent of the best published value, both as text}.

    Where lower is better, it is the inverse.
    """
    shares = {}
    for part, exhibit in material.exhibits:
        headline = exhibit.entry.headline
        if not headline or data_note(exhibit.sources):
            continue
        published, baselines = {}, {}
        for system, line in headline_lines(exhibit).items():
            if (
                system not in headline.chance
                and (value := number(line.published)) is not None
            ):
                published[value] = line.published
            elif line.runs and {*line.runs.split()} <= {*material.baselines}:
                baselines[number(line.ours)] = line.ours
        best = min if headline.lower else max
        paper, ours = (
            best(filter(None, values), default=0) for values in (published, baselines)
        )
        if paper and ours:
            share = 100 * (paper / ours if headline.lower else ours / paper)
            text = f"{baselines[ours]} (published: {published[paper]})"
            shares[f"{part.short}, {label(exhibit.name)}"] = share, text
    return shares


def _leaderboard(headlines: Sequence[Benchmark]) -> Iterator[str]:
    rows = [
        cells
        for benchmark in headlines
        if not benchmark.data_note
        for cells in _best_rows(benchmark)
    ]
    if rows:
        yield (
            f"For each main score, the {BEST_ROWS} best rows that ran and the best published row that did "
            "not. Rows in the same group were tested against each other and do not differ."
        )
        yield _table(
            ["table and score", "row", "score", "95 % interval", "groups"],
            rows,
            ["row"],
        )
    for benchmark in headlines:
        if benchmark.data_note:
            yield f"Not shown: {plain(benchmark.name)} ({plain(benchmark.data_note)})."


def _best_rows(benchmark: Benchmark) -> Iterator[list[str]]:
    ran = [row for row in benchmark.rows if row.run][:BEST_ROWS]
    published = [row for row in benchmark.rows if not row.run][:1]
    name = plain(benchmark.name)
    for row in [*ran, *published]:
        system = plain(row.system)
        if not row.run:
            system += " (published)"
        yield [name, system, row.score, row.interval, row.groups or NONE]
        name = ""


def _overlaps(
    table: pd.DataFrame, files: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """The pairs of splits with the largest shares, without those that are known beforehand."""
    sharing = _same_files(files)
    places = zip(
        table.dataset, table.split, table.other_dataset, table.other_split, strict=True
    )
    shares = dict(zip(places, table.share, strict=True))
    order = ["share", "dataset", "split", "other_dataset", "other_split"]
    rows = []
    for pair in table.sort_values(order, ascending=[False, *[True] * 4]).itertuples():
        if pair.share < LEAST or {pair.dataset, pair.other_dataset} in sharing:
            continue
        origins = [_origin(name, files) for name in (pair.dataset, pair.other_dataset)]
        original = origins[0], pair.split, origins[1], pair.other_split
        if (
            origins != [pair.dataset, pair.other_dataset]
            and shares.get(original) == pair.share
        ):
            continue
        rows.append(
            [
                f"{pair.dataset} {pair.split}",
                f"{pair.other_dataset} {pair.other_split}",
                f"{100 * pair.share:.0f} %",
                f"{pair.units:,}",
                f"{pair.touched:,}",
                f"{pair.near_duplicates:,}",
            ]
        )
    yield "The pairs of splits with the largest shares of common words ([how they are counted](overlaps.md))."
    if sharing:
        names = "; ".join(" and ".join(sorted(pair)) for pair in sharing)
        yield f"Left out: data sets that are read from the same files ({names}), and repeated pairs."
    columns = [
        "split",
        "also in",
        "share of words",
        "units",
        "with a shared text",
        "near-duplicates",
    ]
    yield _table(columns, rows[:OVERLAPS], ["also in"])


def _same_files(files: Mapping[str, frozenset[str]]) -> list[set[str]]:
    """The pairs of data sets of which one is read from files of the other alone."""
    pairs = combinations(sorted(files), 2)
    return [{one, other} for one, other in pairs if _is_part(files[one], files[other])]


def _is_part(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one of two sets of files is in the other."""
    return bool(one and other) and (one <= other or other <= one)


def _origin(name: str, files: Mapping[str, frozenset[str]]) -> str:
    """The data set with all files of another one, the first of equal ones; by default itself."""
    own = files.get(name, frozenset())
    for other in sorted(files):
        if own and (own < files[other] or (own == files[other] and other < name)):
            return other
    return name
