"""The results page (docs/results.md): reproduced values of all papers, as Markdown with
a figure.

`picture` draws the figure.  `page` writes the page, whose blocks `_blocks` lists; one
of them, `summary`, is in README too.  Each published value counts once
(`_first_values`), under its kind (score, statistic or text) and its outcome (match,
near, off, no verdict, other data or not run).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lextables.pipeline.version import version_text
from lextables.report import site, wording
from lextables.report.commands import Settings, changed_keys
from lextables.report.headlines import Finding, findings
from lextables.report.leaderboard import NONE, Benchmark, benchmarks
from lextables.report.results import Exhibit, Part, RunRecord
from lextables.tables import figures
from lextables.tables.cells import Line
from lextables.tables.inputs import data_note
from lextables.tables.published import KINDS, NOT_PUBLISHED, Kind
from lextables.tables.render import About, label, markdown, markdown_row, plain

NAME = "results"  # of the page and the picture
BEGIN = "<!-- summary -->"
END = "<!-- end of summary -->"
# Outcomes of published values (`wording.OUTCOMES`): their names in tables, the outcomes
# that the page explains, and the outcomes that count as reproduced.
NAMES = wording.OUTCOMES | {"unjudged": "no verdict", "elsewhere": "other data"}
EXPLAINED = ("off", "unjudged", "elsewhere", "not run")
REPRODUCED = ("match", "near")
# Limits of the page.
CELLS = 3  # cells named in a line
LONGEST = 40  # letters of a value
SYSTEMS = 3  # systems of a paper that the headline names
REASONS = 10  # reasons for one outcome of a paper
BEST_ROWS = 3  # rows of a benchmark
# What a row needs if `Material.needs` does not say.
NOTHING_ELSE = "other data or models (see their reasons)"
# How an outcome is drawn; values that were not run have no part of a bar.
LOOKS: dict[str, dict[str, Any]] = {
    "match": {"facecolor": figures.OURS},
    "near": {"facecolor": figures.VIOLET, "hatch": "////"},
    "off": {"facecolor": figures.ORANGE, "hatch": "xxxx"},
    "unjudged": {"facecolor": figures.MAUVE, "hatch": "--"},
    "elsewhere": {"facecolor": figures.OLIVE, "hatch": ".."},
}
WIDTH, BAR = 7.4, 0.34  # inches
# A text beside a place, some points away.
BESIDE: dict[str, Any] = {"textcoords": "offset points", "va": "center"}

# {paper: {table: {reason of a row that is not run: what it needs}}}; the reason ""
# stands for all others.
Needs = Mapping[str, Mapping[str, Mapping[str, str]]]
Kinds = Mapping[str, wording.KindCounts]  # {paper: its counts}
Systems = Mapping[str, Counter[str]]  # {paper: number of scores by system}


@dataclass(frozen=True)
class Material:
    """What the page shows.

    ``date`` is the day of the last run.  ``baselines`` are the folders of the
    baselines' runs, and ``systems`` are {folder of a published row's run: the system's
    printed name}.  ``needs`` says what the rows that are not run need.
    """

    config: Settings
    parts: Sequence[Part]
    runs: Sequence[RunRecord]
    date: str
    baselines: frozenset[str] = frozenset()
    systems: Mapping[str, str] = field(default_factory=dict)
    needs: Needs | None = None

    @property
    def exhibits(self) -> list[tuple[Part, Exhibit]]:
        """The tables of all papers."""
        exhibits: list[tuple[Part, Exhibit]] = []
        for part in self.parts:
            exhibits += [(part, exhibit) for exhibit in part.exhibits]
        return exhibits


def picture(material: Material) -> str:
    """Return the figure as svg: outcomes by paper, and baselines compared with the best
    published values.
    """
    counts = _counts(material.parts)
    bars = {}
    for name, by_kind in counts.items():
        for kind, outcomes in by_kind.items():
            bars[f"{name}, {wording.PLURALS[kind]}"] = outcomes
    found = findings(material.parts, material.baselines)

    def drawing(figure: Figure) -> None:
        rows = [max(len(bars), 1)]
        margin = 5
        if found:
            rows.append(len(found))
            margin += 2
        figure.set_size_inches(WIDTH, BAR * (sum(rows) + margin))
        axes = figure.subplots(len(rows), 1, squeeze=False, height_ratios=rows)
        _draw_counts(axes[0, 0], bars)
        if found:
            _draw_findings(axes[1, 0], found)

    svg = figures.to_svg(drawing, "Published values and baselines", NAME)
    return f"{' '.join(site.drawing(svg).split())}\n"


def _draw_counts(axes: Axes, counts: Mapping[str, wording.Counts]) -> None:
    """A bar for each paper and kind of value, with a part for each outcome.

    Values that were not run have no part.
    """
    columns = [name for name in _outcomes(counts.values()) if name in LOOKS]
    names = []
    for at, (name, outcomes) in enumerate(counts.items()):
        start = 0.0
        total = sum(outcomes.values())
        names.append(f"{name} ({total:,})")
        for outcome in columns:
            share = 100 * outcomes[outcome] / total
            if share:
                look = figures.BORDER | LOOKS[outcome]
                axes.barh(at, share, left=start, height=0.7, **look)
            start += share
        if not start:
            axes.annotate("not run", (0, at), (5, 0), **BESIDE)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.set(xlim=(0, 100), xlabel="Published values that have a value here (%)")
    axes.tick_params(axis="y", length=0)
    handles = []
    for outcome in columns:
        look = LOOKS[outcome] | {"edgecolor": figures.INK, "label": NAMES[outcome]}
        handles.append(Patch(**look))
    place: dict[str, Any] = {
        "loc": "outside upper left",
        "ncols": 6,
        "columnspacing": 1,
    }
    axes.figure.legend(handles=handles, handlelength=1.4, **place)


def _draw_findings(axes: Axes, found: Sequence[Finding]) -> None:
    """A bar for each headline: its best own value in per cent of the best published
    value.
    """
    look = figures.BORDER | {"facecolor": figures.OURS}
    for at, each in enumerate(found):
        axes.barh(at, each.share, height=0.6, **look)
        end = (max(each.share, 100), at)
        text = f"{each.own.text} (published: {each.published.text})"
        axes.annotate(text, end, (5, 0), **BESIDE)
    largest = max(each.share for each in found)
    axes.axvline(100, color=figures.INK, linewidth=1.2)
    axes.set_yticks(range(len(found)), [each.name for each in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(0, 1.65 * max(100, largest))
    axes.set_xlabel("Best baseline, best published value = 100")
    axes.tick_params(axis="y", length=0)


def page(material: Material) -> str:
    """Return the page as Markdown."""
    return "\n\n".join(_blocks(material)) + "\n"


def summary(material: Material) -> str:
    """Return the part of the page that README has too, between the marks `BEGIN` and
    `END`.

    It has the headline, what scores that are not run need, and the outcomes by paper
    and kind.
    """
    counts = dict(_counts(material.parts))
    total = wording.summed_by_kind(counts.values())
    columns = _outcomes(total.values())
    rows = {plain(name): by_kind for name, by_kind in counts.items()}
    if len(rows) > 1:
        rows["**all**"] = total
    lines = []
    for name, by_kind in rows.items():
        for kind, outcomes in by_kind.items():
            numbers = [sum(outcomes.values()), *(outcomes[each] for each in columns)]
            lines.append([name, wording.PLURALS[kind], *map("{:,}".format, numbers)])
    heads = ["paper", "kind", "published", *(NAMES[name] for name in columns)]
    table = _table(heads, lines, ["kind"])
    blocks = [BEGIN, _headline(total, _systems(material))]
    needed = _needed(material).get("score")
    if needed:
        blocks.append(_scores_not_run(needed))
    return "\n\n".join([*blocks, table, END])


def _headline(total: wording.KindCounts, systems: Systems) -> str:
    """The number of reproduced scores with their systems, and of statistics and texts
    that match.
    """
    sentences = []
    scores = total.get("score")
    if scores:
        reached = scores["match"] + scores["near"]
        published = sum(scores.values())
        sentence = f"**{reached:,} of {published:,} published scores were reproduced**"
        if systems:
            sentence += f": {_systems_in_words(systems)}"
        sentences.append(f"{sentence}.")
        off = f"{scores['off']:,} came out different"
        elsewhere = f"{scores['elsewhere']:,} were computed from other data"
        sentences.append(f"Of the others, {off} and {elsewhere} than the paper's.")
    counts = []
    for kind, outcomes in total.items():
        if kind != "score":
            printed = f"{sum(outcomes.values()):,} {wording.PLURALS[kind]}"
            counts.append(f"{outcomes['match']:,} of {printed}")
    if counts:
        equal = " and ".join(counts)
        sentences.append(f"Of the values that describe the data, {equal} are equal.")
    return " ".join(sentences)


def _systems_in_words(systems: Systems) -> str:
    """For example ``28 of BM25 and 5 of Bi-Encoder-MiniLM (ACORD)``, the most frequent
    systems first.
    """
    papers = []
    for paper, counts in systems.items():
        ordered = counts.most_common()
        names = [f"{n:,} of {plain(name)}" for name, n in ordered[:SYSTEMS]]
        others = [n for _, n in ordered[SYSTEMS:]]
        if others:
            names.append(f"{sum(others):,} of {len(others)} other systems")
        papers.append(f"{' and '.join(names)} ({plain(paper)})")
    return "; ".join(papers)


def _systems(material: Material) -> Systems:
    """{paper: number of reproduced scores of each system}."""
    systems: dict[str, Counter[str]] = defaultdict(Counter)
    for part, exhibit in material.exhibits:
        for line, kind, outcome in _first_values(exhibit):
            if kind == "score" and outcome in REPRODUCED:
                # Runs of an earlier plan have no system; the row's name stands for it.
                names = {
                    material.systems.get(run, line.row) for run in line.runs.split()
                }
                systems[part.short].update(sorted(names))
    return systems


def _scores_not_run(needed: Mapping[str, Counter[str]]) -> str:
    """The table of scores that are not run, by what they need."""
    lines = []
    for name in sorted(needed, key=_order_of_needs(needed)):
        need = f"need {name}"
        if name == NOT_PUBLISHED:
            need = f"can never be run: {need}"
        lines.append([need, f"{needed[name].total():,}"])
    total = sum(counts.total() for counts in needed.values())
    return _table([f"the {total:,} scores that are not run", "number"], lines)


def with_summary(text: str, block: str) -> str:
    """Return ``text`` with its part between `BEGIN` and `END` replaced by ``block``."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        return text
    return f"{before}{block}{after}"


def _blocks(material: Material) -> Iterator[str]:
    """Yield the blocks of the page in Markdown."""
    yield "# Results"
    yield (
        f"Values reproduced by one run. The target `{NAME}_page` writes this page and its figure. "
        "[Verdicts](reference.md#tables) are explained in the reference."
    )
    banner = wording.banner(material.config, material.runs)
    if banner:
        yield f"**{plain(banner)}**"
    yield f"![Outcomes by paper, and baselines compared with the best published values]({NAME}.svg)"
    yield summary(material)
    yield _made(material)
    settings = [f"`{each}`" for each in changed_keys(material.config)]
    yield f"Settings: {', '.join(settings) or 'the default'}."
    yield from _section("Requirements of values that are not run", _needs(material))
    for part in material.parts:
        yield from _section(part.short, _explained(part))
    yield from _section("Leaderboard", _leaderboard(benchmarks(material.parts)))
    for part, exhibit in material.exhibits:
        entry = exhibit.entry
        if entry.in_full:
            where = f"{part.short}, {entry.where}"
            note = data_note(exhibit.sources)
            about = About(entry.title, where, entry.notes, note, exhibit.name)
            yield f"#{markdown(about, exhibit.lines).rstrip()}"


def _section(title: str, blocks: Iterable[str]) -> Iterator[str]:
    lines = [*blocks]
    if lines:
        yield f"## {plain(title)}"
        yield from lines


def _table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], texts: Collection[str] = ()
) -> str:
    """A Markdown table; columns but the first and ``texts`` are right-aligned."""
    sides = ["---:"] * len(columns)
    for at, name in enumerate(columns):
        if at == 0 or name in texts:
            sides[at] = "---"
    return "\n".join(markdown_row(*row) for row in (columns, sides, *rows))


def _made(material: Material) -> str:
    """Commits, date and processors of the runs."""
    number = 0
    versions: Counter[str] = Counter()
    devices: Counter[str] = Counter()
    for run in material.runs:
        if run.submitted:
            continue
        number += 1
        devices[run.record["device"]] += 1
        made_by = run.record.get("lextables")
        if made_by:
            versions[version_text(made_by)] += 1
    origin = f"{_counted('by lextables', versions)}; {_counted('on', devices)}"
    return f"{number:,} runs, the last on {material.date}: {origin}."


def _counted(word: str, counts: Counter[str]) -> str:
    """Each name after ``word``, with its count if there are several, the most frequent
    one first.
    """
    if len(counts) < 2:
        name = next(iter(counts), "none")
        return f"{word} {name}"
    return ", ".join(f"{n:,} {word} {name}" for name, n in counts.most_common())


def _counts(parts: Iterable[Part]) -> Kinds:
    """{paper: its outcomes by kind} of the papers with published values."""
    counts = {}
    for part in parts:
        by_kind = wording.counts_by_kind(part.exhibits)
        if by_kind:
            counts[part.short] = by_kind
    return counts


def _outcomes(counts: Iterable[wording.Counts]) -> list[str]:
    """The outcomes with a column: `unjudged` and `elsewhere` only if they occur."""
    total = wording.summed(counts)
    others = ("unjudged", "elsewhere")
    return [name for name in NAMES if total[name] or name not in others]


def _first_values(exhibit: Exhibit) -> Iterator[tuple[Line, Kind, str]]:
    """The published values that repeat no other, with their kind and outcome."""
    for line in exhibit.lines:
        kind = exhibit.first_kinds.get((line.row, line.column))
        if line.published and kind:
            yield line, kind, wording.outcome(line)


@dataclass(frozen=True)
class _Explanation:
    """Why values of a kind have an outcome other than match and near.

    ``table`` is the table of values that are off; empty for other outcomes, whose
    values are listed together for all tables.
    """

    outcome: str
    kind: Kind
    reason: str
    table: str = ""


def _explained(part: Part) -> Iterator[str]:
    """The table of outcomes that are neither match nor near, by reason."""
    cells_of: dict[_Explanation, list[str]] = defaultdict(list)
    has_values = False
    for exhibit in part.exhibits:
        for line, kind, outcome in _first_values(exhibit):
            has_values = True
            cell = label(exhibit.name)
            table = ""
            if outcome == "off":
                table = cell
                before = shorten(line.published, LONGEST, placeholder="…")
                after = shorten(line.reproduced, LONGEST, placeholder="…")
                cell = f"{line.row}, {line.column}: {before} → {after}"
            reason = line.reason
            if outcome == "elsewhere" and not reason:
                reason = data_note(exhibit.sources)
            cells_of[_Explanation(outcome, kind, reason, table)].append(cell)
    rows = []
    for outcome in EXPLAINED:
        outcome_cells = {}
        for explanation, cells in cells_of.items():
            if explanation.outcome == outcome:
                outcome_cells[explanation] = cells
        rows += _explanation_rows(outcome, outcome_cells)
    if rows:
        heads = ["", "kind", "values", "where", "why"]
        yield _table(heads, rows, ["kind", "where", "why"])
    elif has_values:
        yield "Every published value is reproduced."


def _explanation_rows(
    outcome: str, cells_of: Mapping[_Explanation, Sequence[str]]
) -> list[list[str]]:
    """The rows of an outcome: its most frequent reasons, and for each kind a row that
    counts the values with other reasons.

    Of values that are off, all reasons are shown, in the order of the paper.
    """
    order = [*cells_of]
    shown = order
    if outcome != "off":
        order.sort(key=lambda each: (-len(cells_of[each]), each.reason))
        shown = order[:REASONS]
    rows = []
    for each in shown:
        names = [*dict.fromkeys(cells_of[each])]
        where = "; ".join(names[:CELLS])
        if len(names) > CELLS:
            where += f" and {len(names) - CELLS} more"
        if each.table:
            where = f"{each.table}: {where}"
        reason = plain(each.reason or "not known")
        kind = wording.PLURALS[each.kind]
        values = f"{len(cells_of[each]):,}"
        rows.append([NAMES[outcome], kind, values, plain(where), reason])
    rest = order[len(shown) :]
    for kind in KINDS:
        others = [each for each in rest if each.kind == kind]
        if others:
            values = f"{sum(len(cells_of[each]) for each in others):,}"
            why = f"{len(others)} other reasons"
            rows.append([NAMES[outcome], wording.PLURALS[kind], values, "", why])
    return rows


def _needed(material: Material) -> dict[Kind, dict[str, Counter[str]]]:
    """{kind: {requirement: number of values that are not run, by paper}}; empty without
    `Material.needs`.
    """
    needed: dict[Kind, dict[str, Counter[str]]] = {}
    if material.needs is None:
        return needed
    for part, exhibit in material.exhibits:
        needs = material.needs.get(part.name, {}).get(exhibit.name, {})
        for line, kind, outcome in _first_values(exhibit):
            if outcome == "not run":
                name = needs.get(line.reason) or needs.get("", NOTHING_ELSE)
                kind_needs = needed.setdefault(kind, defaultdict(Counter))
                kind_needs[name][part.short] += 1
    return needed


def _order_of_needs(
    needed: Mapping[str, Counter[str]],
) -> Callable[[str], tuple[int, int, str]]:
    """Return the sort key of requirements: the most frequent first, and at the end
    `NOTHING_ELSE` and what was not published.
    """
    last = (NOTHING_ELSE, NOT_PUBLISHED)

    def order(name: str) -> tuple[int, int, str]:
        place = 1 + last.index(name) if name in last else 0
        return place, -needed[name].total(), name

    return order


def _needs(material: Material) -> Iterator[str]:
    """The table of requirements of values that are not run."""
    needed = _needed(material)
    if not needed:
        return
    yield (
        "Published values that are not run, by the requirements of their rows (the reasons are below). "
        f"Values that need {NOT_PUBLISHED} can never be run: their prompt, settings or annotations are "
        "not known."
    )
    rows = []
    for kind in KINDS:
        kind_needs = needed.get(kind, {})
        for name in sorted(kind_needs, key=_order_of_needs(kind_needs)):
            counts = kind_needs[name]
            papers = [f"{plain(paper)} {n:,}" for paper, n in counts.items()]
            total = f"{counts.total():,}"
            rows.append([name, wording.PLURALS[kind], total, ", ".join(papers)])
    yield _table(["needs", "kind", "values", "of"], rows, ["kind", "of"])


def _leaderboard(headlines: Sequence[Benchmark]) -> Iterator[str]:
    """The best rows of each benchmark, and the names of benchmarks on other data."""
    rows: list[list[str]] = []
    for benchmark in headlines:
        if not benchmark.data_note:
            rows += _best_rows(benchmark)
    heads = ["table and score", "row", "score", "95 % interval", "groups", "note"]
    if not any(row[-1] for row in rows):
        heads = heads[:-1]
        rows = [row[:-1] for row in rows]
    if rows:
        yield (
            f"For each main score, the {BEST_ROWS} best rows that ran and the best published row that did "
            "not. Rows in the same group were tested against each other and do not differ. Lenient "
            "[baselines](baselines.md) are left out."
        )
        yield _table(heads, rows, ["row", "note"])
    for benchmark in headlines:
        if benchmark.data_note:
            yield f"Not shown: {plain(benchmark.name)} ({plain(benchmark.data_note)})."


def _best_rows(benchmark: Benchmark) -> Iterator[list[str]]:
    """Yield the best rows that ran, and the best published row that did not.

    The name of the benchmark is in the first row only.
    """
    ran = [row for row in benchmark.rows if row.run]
    published = [row for row in benchmark.rows if not row.run]
    name = plain(benchmark.name)
    for row in (*ran[:BEST_ROWS], *published[:1]):
        system = plain(row.system)
        if not row.run:
            system += " (published)"
        note = plain(row.note)
        yield [name, system, row.score, row.interval, row.groups or NONE, note]
        name = ""
