"""The review of a user's contract: findings from n-best predictions, as an HTML page and as csv."""

import csv
import io
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup, escape

from lextables.papers.cuad import marks
from lextables.papers.cuad.marks import Band, Marks
from lextables.papers.cuad.reviewer import LINEAR
from lextables.pipeline import spreadsheet
from lextables.pipeline.errors import BadInput
from lextables.sources.characters import with_plain_letters
from lextables.tables import render

MINIMUM = 0.1  # spans above this probability are shown
SURE = 0.5  # spans of at least this probability are shaded

GROUPS = yaml.safe_load(
    (Path(__file__).parent / "groups.yaml").read_text(encoding="utf-8")
)
OTHER = ("other", "Other")
_GROUP_OF = {
    category: key for key, group in GROUPS.items() for category in group["categories"]
}
# The release capitalizes abbreviations like words.
_ABBREVIATION = re.compile(r"\b(?:Ip|Rofr|Rofo|Rofn)\b")


@dataclass(frozen=True)
class Finding:
    """A span of a category in the contract; start and end are -1 if there is none.

    ``start`` and ``end`` are characters, half-open.  ``probability`` is the model's; for a category without a
    span it is that of the empty prediction.
    """

    category: str
    start: int
    end: int
    text: str
    probability: float

    @property
    def found(self) -> bool:
        """Whether this is a span."""
        return self.start >= 0


@dataclass(frozen=True)
class About:
    """Facts about the model and the reading that the page shows.

    ``model`` describes the model.  ``scores``, ``categories`` and ``marks`` are from the test contracts:
    metric to score (0 to 1), category to AUPR, and category to marks above `MINIMUM`; ``bands`` are the marks
    of all categories by confidence.  ``warning`` is shown at the top; ``unread`` are notes on what was not
    read.
    """

    model: str
    minimum: float = MINIMUM
    scores: Mapping[str, float] = field(default_factory=dict)
    categories: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, Marks] = field(default_factory=dict)
    bands: Sequence[Band] = ()
    warning: str = ""
    unread: Sequence[str] = ()


def findings(
    predictions: Iterable[Mapping[str, Any]],
    categories: Mapping[str, str],
    minimum: float = MINIMUM,
) -> list[Finding]:
    """Return the findings of a contract, in the order of ``categories`` and then of the text.

    ``predictions`` are rows of `spans.schema.NBEST` for one contract; ``categories`` maps question ids to
    categories.  Spans are chosen by `marks.marked_spans`; a category without spans has an empty `Finding`.
    Raises `BadInput` if a question has no predictions.
    """
    candidates = defaultdict(list)
    for row in predictions:
        candidates[row["question_id"]].append(row)
    result = []
    for question, category in categories.items():
        if question not in candidates:
            raise BadInput("this question has no predictions", where=question)
        spans = []
        for row in marks.marked_spans(candidates[question], minimum):
            place = row["start"], row["end"]
            spans.append(Finding(category, *place, row["text"], row["probability"]))
        if not spans:
            empty = [row for row in candidates[question] if row["start"] < 0]
            probability = sum(row["probability"] for row in empty)
            spans.append(Finding(category, -1, -1, "", probability))
        result += sorted(spans, key=lambda span: span.start)
    return result


def scores_of(
    rows: Iterable[Mapping[str, Any]],
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the scores over all categories and the AUPR of each, from rows of `run.SCORES`.

    Interval ends, curves and strict scores are left out.
    """
    overall, by_category = {}, {}
    for row in rows:
        if "," in row["metric"] or row["value"] != row["value"]:
            continue
        if row["group"] == "all":
            overall[row["metric"]] = row["value"]
        elif row["metric"] == "AUPR" and row["group"].startswith("category: "):
            by_category[row["group"].removeprefix("category: ")] = row["value"]
    return overall, by_category


# Notes on the model and the reading

SAMPLE = (
    "The model was trained on a few invented contracts, to show that the pipeline works: "
    "its marks here are meaningless."
)


def model_of(record: Mapping[str, Any]) -> str:
    """Describe the model of a run's `run.json` and its training."""
    settings, trained = record["settings"], record.get("trained", {})
    if settings.get("kind") == LINEAR:
        passages = f"{trained['answers']:,} annotated passages"
        contracts = f"{trained['contracts']} training contracts of CUAD"
        models = "linear models over words and trees over their scores"
        return f"{models}, trained on {passages} in {contracts}"
    name = f"{settings['model']} ({settings['found']})"
    if "updates" not in trained:
        return f"{name}, as it was released"
    windows = sum(trained["training_windows"].values())
    percent = trained["settings"]["percent"]
    share = "" if percent == 100 else f"{percent} % of "
    return (
        f"{name}, fine-tuned on {share}the training contracts of CUAD: "
        f"{trained['updates']:,} updates on {windows:,} windows of text"
    )


def unread_windows(most: int | None, windows: int) -> tuple[str, ...]:
    """Return a note if a question read at most ``most`` of a contract's windows."""
    if most is None or windows <= most:
        return ()
    return (
        f"The contract was cut into {windows} overlapping windows. For each category only the {most} most "
        "likely ones were read, chosen by a linear model over words.",
    )


# csv

FIELDS = (
    "category",
    "group",
    "found",
    "probability",
    "start",
    "end",
    "text",
    "precision",
    "recall",
)


def to_csv(items: Iterable[Finding], marked: Mapping[str, Marks]) -> str:
    """Return a line for each finding, and a line with ``found`` = no for a category without findings.

    The last columns are precision and recall of the category's marks in the test contracts (``marked``).
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for finding in items:
        of_category = marked.get(finding.category, Marks(0, 0, 0, 0))
        row = [
            finding.category,
            _title(_group(finding.category)),
            "yes" if finding.found else "no",
            f"{finding.probability:.4f}",
            finding.start if finding.found else "",
            finding.end if finding.found else "",
            finding.text,
        ]
        for share in (of_category.precision, of_category.recall):
            row.append("" if share is None else f"{share:.4f}")
        writer.writerow(map(spreadsheet.cell, row))
    return out.getvalue()


# html


@dataclass(frozen=True)
class Passage:
    """A finding on the page: its number in the order of the text, and its lane (level of underline)."""

    number: int
    lane: int
    finding: Finding

    @property
    def classes(self) -> str:
        """The CSS classes of its marks."""
        sure = "" if self.finding.probability >= SURE else " faint"
        return f"{_group(self.finding.category)} l{min(self.lane, LANES - 1)} f{self.number}{sure}"

    @property
    def tooltip(self) -> str:
        """Category and confidence."""
        return f"{shown(self.finding.category)} {percent(self.finding.probability)}"


LANES = 4  # levels of underlines


def shown(category: str) -> str:
    """Return a category's name with its abbreviations in capitals: ``IP Ownership Assignment``."""
    return _ABBREVIATION.sub(lambda match: match[0].upper(), category)


def percent(probability: float) -> str:
    """Return a probability in per cent, with 100 % only for 1 and 0 % only for 0."""
    rounded = round(100 * probability)
    if rounded == 100 and probability < 1:
        return ">99 %"
    if rounded == 0 and probability > 0:
        return "<1 %"
    return f"{rounded} %"


def passages(items: Iterable[Finding]) -> list[Passage]:
    """Number the spans in the order of the text, with different lanes for overlapping ones."""
    spans = [finding for finding in items if finding.found]
    spans.sort(key=lambda finding: (finding.start, -finding.end, finding.category))
    ends: list[int] = []  # of the last passage in each lane
    placed = []
    for number, finding in enumerate(spans, 1):
        free = [lane for lane, end in enumerate(ends) if end <= finding.start]
        lane = free[0] if free else len(ends)
        ends[lane : lane + 1] = [finding.end]
        placed.append(Passage(number, lane, finding))
    return placed


def segments(
    length: int, placed: Sequence[Passage]
) -> Iterator[tuple[int, int, tuple[Passage, ...]]]:
    """Cut a text of ``length`` characters wherever a passage begins or ends.

    Yields (start, end, passages that cover it, by lane) for the whole text in order.
    """
    edges = {0, length}
    for passage in placed:
        edges |= {passage.finding.start, passage.finding.end}
    open_: list[Passage] = []
    waiting = list(reversed(placed))
    for start, end in itertools.pairwise(sorted(edges)):
        open_ = [passage for passage in open_ if passage.finding.end > start]
        while waiting and waiting[-1].finding.start == start:
            open_.append(waiting.pop())
        yield start, end, tuple(sorted(open_, key=lambda passage: passage.lane))


def marked(text: str, placed: Sequence[Passage]) -> Markup:
    """Return the contract's text as HTML with marked passages, each with a note at its start.

    The marks of overlapping passages are nested, so that each has a separate underline.  Ligatures are shown
    as letters, so that words can be searched.
    """
    pieces: list[str] = []
    for start, end, over in segments(len(text), placed):
        for passage in sorted(over, key=lambda passage: passage.number):
            if passage.finding.start == start:
                pieces.append(_note(passage))
        tooltips = "\n".join(passage.tooltip for passage in over)
        title = f' title="{escape(tooltips)}"'
        for passage in over:
            pieces.append(f'<mark class="{passage.classes}"{title}>')
            title = ""
        pieces.append(str(escape(with_plain_letters(text[start:end]))))
        pieces.append("</mark>" * len(over))
    return Markup("".join(pieces))


def _note(passage: Passage) -> Markup:
    """Return the link in the margin from a passage to its category in the list."""
    category, probability = passage.finding.category, passage.finding.probability
    label = Markup("<span>{}</span> <b>{}</b>").format(
        shown(category), percent(probability)
    )
    return Markup(
        '<a class="note {}" id="f{}" href="#c-{}" title="{}: back to the list">{}</a>'
    ).format(
        passage.classes,
        passage.number,
        _slug(category),
        passage.tooltip,
        label,
    )


def _group(category: str) -> str:
    return _GROUP_OF.get(category, OTHER[0])


def _title(group: str) -> str:
    return GROUPS[group]["title"] if group in GROUPS else OTHER[1]


def _slug(category: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", category.lower()).strip("-")


STYLE = """
:root { --general: 27 94 160; --restrictions: 184 44 32; --change: 112 62 168; --money: 138 86 0;
  --property: 14 112 82; --liability: 173 34 110; --other: 90 90 90; }
@media (prefers-color-scheme: dark) { :root { --general: 128 186 245; --restrictions: 255 140 125;
  --change: 200 160 255; --money: 232 184 90; --property: 112 208 168; --liability: 255 138 200;
  --other: 180 180 180; } }
.general { --c: var(--general); --line-style: dotted; --thick: .14em; }
.restrictions { --c: var(--restrictions); --line-style: solid; --thick: .14em; }
.change { --c: var(--change); --line-style: dashed; --thick: .1em; }
.money { --c: var(--money); --line-style: double; --thick: .08em; }
.property { --c: var(--property); --line-style: solid; --thick: .07em; }
.liability { --c: var(--liability); --line-style: wavy; --thick: .07em; }
.other { --c: var(--other); --line-style: solid; --thick: .07em; }
mark, .note span, h3 span { text-decoration: underline var(--line-style) var(--thick) rgb(var(--c));
  text-decoration-skip-ink: none; text-underline-offset: .22em; }
main { max-width: 82rem; display: grid; gap: 0 2.5rem; grid-template-columns: 19rem minmax(0, 1fr); }
header { grid-column: 1 / -1; margin-bottom: 1.5rem; padding-bottom: 1rem;
  border-bottom: 1.5px solid var(--ink); }
header p { max-width: 46rem; margin-bottom: .5rem; } h1 { overflow-wrap: anywhere; }
header details { margin-top: .75rem; } .warning { font-weight: 600; color: var(--off); }
.unread { max-width: 46rem; overflow-wrap: anywhere; }
.unread ul { margin: .1rem 0 .5rem; padding-left: 1.25rem; }
.scores td:last-child { white-space: nowrap; }
.skip { position: absolute; left: 1rem; top: -4rem; padding: .5rem; background: var(--page); z-index: 3; }
.skip:focus { top: .5rem; }
.list { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto;
  padding: .25rem .5rem 2rem 2px; font: .875rem/1.4 var(--sans); scrollbar-width: thin; }
.list:focus-visible { outline: 2px solid var(--link); }
.list h2 { font: 600 1.0625rem var(--sans); }
.list h3 { display: flex; justify-content: space-between; font: 600 .875rem/1.3 var(--sans);
  margin: 1.1rem 0 .5rem; }
.list small { font-weight: 400; } .list small, .list .none { color: var(--soft); font-size: .8125rem; }
.list ul { list-style: none; margin: 0; padding: 0; }
.list li { margin: 0 0 .5rem; } .list li li { margin: 0; }
.list li a { display: flex; gap: .5rem; color: inherit; text-decoration: none; padding: .1rem 0; }
.list li a b { flex: 0 0 2.6rem; text-align: right; font-variant-numeric: tabular-nums; color: rgb(var(--c));
  font-weight: 600; }
.list li a b.faint { font-weight: 400; }
.list li a bdi { color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.list li a:is(:hover, :focus-visible) bdi { color: var(--ink); text-decoration: underline; }
.list .none { margin: 0 0 .5rem; } .list :target { background: rgb(var(--c) / .15); }
.list [id], .note { scroll-margin-top: 25vh; }
.contract { min-width: 0; }
.words { font-size: 1.0625rem; line-height: 1.8; white-space: pre-wrap; overflow-wrap: anywhere;
  padding-right: 12.5rem; }
mark { color: inherit; background: rgb(var(--c) / .14); padding: .1em 0; }
mark.faint { background: none; }
.l1 { text-underline-offset: .42em; }
.l2 { text-underline-offset: .62em; } .l3 { text-underline-offset: .82em; }
.note { float: right; clear: right; width: 11.25rem; margin: .3rem -12.5rem .25rem 0; padding-left: .6rem;
  font: .8125rem/1.35 var(--sans); white-space: normal; overflow-wrap: break-word; color: var(--ink);
  text-decoration: none; text-align: left; border-left: 2px solid rgb(var(--c)); user-select: none; }
.note b { color: rgb(var(--c)); white-space: nowrap; font-weight: 600; } .note.faint b { font-weight: 400; }
.note.faint { border-left-style: dotted; }
.note:hover span { background: rgb(var(--c) / .15); }
.note:is(:target, :focus-visible) { outline: 2px solid rgb(var(--c)); outline-offset: 2px; }
.up, .down { display: none; }
@media (max-width: 72rem) { main { grid-template-columns: 16rem minmax(0, 1fr); gap: 0 2rem; }
  .words { padding-right: 0; }
  .note { float: none; display: inline-block; width: auto; max-width: 100%; margin: 0 .3em 0 .1em;
    padding: 0 .4em .1em; border: 1px solid rgb(var(--c)); border-radius: .3em; font-size: .75rem; }
  .note.faint { border-style: dotted; border-width: 1px; } }
@media (max-width: 52rem) { main { display: block; }
  .list { position: static; max-height: none; overflow: visible; padding: 0 0 1.5rem; margin-bottom: 1.5rem;
    border-bottom: 1.5px solid var(--ink); }
  .down { display: inline; float: right; color: var(--link); }
  .list li a { padding: .25rem 0; } .words { font-size: 1rem; }
  .up { display: block; position: fixed; right: 1rem; bottom: 1rem; padding: .4rem .8rem; z-index: 2;
    font: .875rem var(--sans); background: var(--page); border: 1px solid var(--soft);
    border-radius: 1rem; } }
@media print { main { display: block; } .up, .down, .skip { display: none; }
  .list { position: static; max-height: none; overflow: visible; columns: 2; column-gap: 1.5rem; padding: 0;
    margin-bottom: 1rem; border-bottom: 1px solid #000; font-size: 8pt; } .list h2 { column-span: all; }
  .list li { break-inside: avoid; margin-bottom: .2rem; } .list li a { padding: 0; }
  .list h3 { break-after: avoid; font-size: 8.5pt; margin: .6rem 0 .3rem; }
  .list small, .list .none { font-size: 7.5pt; } header details { display: none; }
  .words { padding-right: 0; font-size: 10pt; line-height: 1.7; }
  .note { float: none; display: inline-block; width: auto; margin: 0 .3em 0 0; padding: 0 .3em;
    font-size: 7.5pt; border: 1px solid rgb(var(--c)); border-radius: .3em; }
  .note:is(:target, :focus-visible) { outline: none; } }
"""

_PAGE = render.TEMPLATES.from_string("""\
<a class="skip" href="#contract">Skip to the contract</a>
<header>
<h1>{{ title }}</h1>
{% if about.warning %}
<p class="warning">{{ about.warning }}</p>
{% endif %}
<p>{{ found }} of CUAD’s {{ total }} categories were found in this contract, in {{ placed|length }}
passage{{ "" if placed|length == 1 else "s" }}. They were marked by a model and not checked: it misses
clauses and marks wrong ones. This is not legal advice.</p>
<p class="small soft">Model: {{ about.model }}.
{% if about.scores %}
On the test contracts of its data set it has
{% for metric, value in about.scores.items() %}
{{ metric }} {{ "%.1f"|format(100 * value) }} %
{%- if not loop.last %},{% else %}.{% endif %}

{% endfor %}
{% else %}
Its scores on test contracts are not known.
{% endif %}
The confidence is the model’s probability: passages of {{ sure }} or more are shaded, others underlined,
and passages of {{ minimum }} or less are not shown.
{% if about.bands %}
In the test contracts
{% for x in about.bands if x.marked %}
{{ percent(x.right / x.marked) }} of the marks of {{ percent(x.low) }} to {{ percent(x.high) }} were right
{%- if loop.last %}.{% else %},{% endif %}

{% endfor %}
{% endif %}
</p>
{% if about.unread %}
<div class="small unread"><strong>Not read.</strong>
<ul>
{% for sentence in about.unread %}
<li>{{ sentence }}</li>
{% endfor %}
</ul></div>
{% endif %}
{% if about.categories %}
<details><summary>How well it finds each category in the test contracts</summary>
<p class="small">Right: the share of its marks above {{ minimum }} that match an annotated passage. Found: the
share of the annotated passages that a mark matches.</p>
<div class="scroll" role="region" aria-label="Scores by category" tabindex="0">
<table class="scores">
<thead><tr><th scope="col">Category</th><th scope="col">AUPR</th><th scope="col">Right</th>
<th scope="col">Found</th></tr></thead>
<tbody>
{% for category, value in about.categories.items() %}
<tr><th scope="row">{{ shown(category) }}</th><td>{{ "%.1f"|format(100 * value) }} %</td>
<td>{{ share(category, "precision") }}</td><td>{{ share(category, "recall") }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
</details>
{% endif %}
</header>
<nav class="list" id="list" aria-label="Categories" tabindex="0">
<a class="down" href="#contract">The contract</a>
<h2>{{ total }} categories</h2>
{% for group in groups %}
<section class="{{ group.key }}">
<h3><span>{{ group.title }}</span>
<small>{{ group.found|length }} of {{ group.found|length + group.none|length }}</small></h3>
<ul>
{% for category, spans in group.found.items() %}
<li id="c-{{ slug(category) }}">{{ shown(category) }}
{% if category in about.marks %}
<small class="soft">right {{ share(category, "precision") }}, found {{ share(category, "recall") }}</small>
{% endif %}
<ul>
{% for x in spans %}
<li><a href="#f{{ x.number }}"><b{% if x.finding.probability < half %} class="faint"{% endif %}>
{{- percent(x.finding.probability) }}</b> <bdi>{{ snippet(x.finding.text) }}</bdi></a></li>
{% endfor %}
</ul></li>
{% endfor %}
</ul>
{% if group.none %}
<p class="none">Not found:
{% for x in group.none %}
<span id="c-{{ slug(x.category) }}">{{ shown(x.category) }}
{%- if x.probability < half %} (unsure){% endif %}</span>
{%- if not loop.last %},{% else %}.{% endif %}

{% endfor %}
</p>
{% endif %}
</section>
{% endfor %}
{% if unsure %}
<p class="none">Unsure: no span is above {{ minimum }}, but the probability of an empty answer is below
{{ sure }}.</p>
{% endif %}
</nav>
<article class="contract" id="contract" tabindex="-1" aria-label="The contract">
<div class="words" dir="auto">{{ text }}</div>
</article>
<a class="up" href="#list">Categories</a>""")


@dataclass(frozen=True)
class _Group:
    key: str
    title: str
    found: Mapping[str, Sequence[Passage]]
    none: Sequence[Finding]


def to_html(text: str, items: Sequence[Finding], title: str, about: About) -> str:
    """Return the contract with its findings as a self-contained page.

    Raises `ValueError` if a finding's text is not at its offsets.
    """
    for finding in items:
        words = text[finding.start : finding.end]
        if finding.found and (not words or words != finding.text):
            what = f"{finding.text!r} at {finding.start}"
            raise ValueError(f"{finding.category}: the contract does not have {what}")
    placed = passages(items)
    groups = list(_groups(items, placed))

    def share(category: str, name: str) -> str:
        value = None
        if category in about.marks:
            value = getattr(about.marks[category], name)
        return "–" if value is None else percent(value).replace(" ", "\u00a0")

    unsure = [x for group in groups for x in group.none if x.probability < SURE]
    body = _PAGE.render(
        share=share,
        title=title,
        about=about,
        groups=groups,
        placed=placed,
        text=marked(text, placed),
        found=sum(len(group.found) for group in groups),
        total=len({finding.category for finding in items}),
        unsure=unsure,
        half=SURE,
        sure=percent(SURE),
        minimum=percent(about.minimum),
        percent=percent,
        shown=shown,
        slug=_slug,
        snippet=snippet,
    )
    return render.page(title, Markup(body), STYLE + _highlights(placed))


def _highlights(placed: Sequence[Passage]) -> str:
    """Return the style of a passage's marks while its note is the link target or has the focus."""
    selectors = []
    for passage in placed:
        number = passage.number
        selectors.append(
            f":root:has(#f{number}:is(:target, :focus-visible)) .f{number}"
        )
    if not selectors:
        return ""
    return f"{','.join(selectors)} {{ background: rgb(var(--c) / .35); }}\n"


def _groups(items: Sequence[Finding], placed: Sequence[Passage]) -> Iterator[_Group]:
    spans_of: dict[str, list[Passage]] = defaultdict(list)
    for passage in placed:
        spans_of[passage.finding.category].append(passage)
    members: dict[str, list[str]] = defaultdict(list)
    for category in dict.fromkeys(finding.category for finding in items):
        members[_group(category)].append(category)
    for key in (*GROUPS, OTHER[0]):
        if key in members:
            own = members[key]
            found = {name: spans_of[name] for name in own if name in spans_of}
            none = [x for x in items if not x.found and x.category in own]
            yield _Group(key, _title(key), found, none)


def snippet(text: str, length: int = 90) -> str:
    """Return the beginning of a span as one line."""
    line = " ".join(with_plain_letters(text[: 2 * length]).split())
    if len(line) <= length and len(text) <= 2 * length:
        return line
    return f"{line[:length].rstrip()} …"
