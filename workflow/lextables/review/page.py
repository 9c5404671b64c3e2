"""The review of a user's contract: findings from n-best predictions, as an HTML page
and as csv.
"""

import csv
import io
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader
from markupsafe import Markup, escape

from lextables.pipeline import spreadsheet
from lextables.pipeline.errors import BadInput
from lextables.registry.paper import Review
from lextables.review import marks
from lextables.review.marks import Band, Marks
from lextables.review.reviewer import LINEAR
from lextables.sources.characters import with_plain_letters
from lextables.tables import render

SURE = 0.5  # spans of at least this probability are shaded

HERE = Path(__file__).parent
TEMPLATES = render.TEMPLATES.overlay(loader=FileSystemLoader(HERE))
# The release capitalizes abbreviations like words.
_ABBREVIATION = re.compile(r"\b(?:Ip|Rofr|Rofo|Rofn)\b")


@dataclass(frozen=True)
class Finding:
    """A span of a category in the contract; start and end are -1 if there is none.

    ``start`` and ``end`` are characters, half-open.  ``probability`` is the model's;
    for a category without a span it is that of the empty prediction.
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

    ``review`` is the registry's entry, ``model`` a description of the model.  From the
    test contracts are ``scores``, {metric: score from 0 to 1}; ``categories``,
    {category: AUPR}; ``marks``, {category: its marks above the review's minimum}; and
    ``bands``, the marks of all categories by confidence.  ``warning`` is shown at the
    top; ``unread`` are notes on what was not read.
    """

    review: Review
    model: str
    scores: Mapping[str, float] = field(default_factory=dict)
    categories: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, Marks] = field(default_factory=dict)
    bands: Sequence[Band] = ()
    warning: str = ""
    unread: Sequence[str] = ()


def findings(
    predictions: Iterable[Mapping[str, Any]],
    categories: Mapping[str, str],
    minimum: float,
) -> list[Finding]:
    """Return the findings of a contract, in the order of ``categories`` and then of the
    text.

    ``predictions`` are rows of `spans.schema.NBEST` for one contract; ``categories``
    maps question ids to categories.  Spans are chosen by `marks.marked_spans`; a
    category without spans has an empty `Finding`.  Raises `BadInput` if a question has
    no predictions.
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
            span = Finding(
                category, row["start"], row["end"], row["text"], row["probability"]
            )
            spans.append(span)
        if not spans:
            empty = [row for row in candidates[question] if row["start"] < 0]
            probability = sum(row["probability"] for row in empty)
            spans.append(Finding(category, -1, -1, "", probability))
        result += sorted(spans, key=lambda span: span.start)
    return result


def scores_of(
    rows: Iterable[Mapping[str, Any]],
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the scores over all categories and the AUPR of each, from rows of
    `run.SCORES`.

    Interval ends, curves and strict scores are left out.
    """
    overall = {}
    by_category = {}
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


def model_of(record: Mapping[str, Any], data: str) -> str:
    """Describe the model of a run's `run.json` and its training on the contracts of
    ``data``.
    """
    settings = record["settings"]
    trained = record.get("trained", {})
    if settings.get("kind") == LINEAR:
        return (
            "linear models over words and trees over their scores, trained on"
            f" {trained['answers']:,} annotated passages"
            f" in {trained['contracts']} training contracts of {data}"
        )
    name = f"{settings['model']} ({settings['found']})"
    if "updates" not in trained:
        return f"{name}, as it was released"
    windows = sum(trained["training_windows"].values())
    percent = trained["settings"]["percent"]
    share = "" if percent == 100 else f"{percent} % of "
    return (
        f"{name}, fine-tuned on {share}the training contracts of {data}: "
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


def to_csv(
    items: Iterable[Finding], marked: Mapping[str, Marks], review: Review
) -> str:
    """Return a line for each finding, and a line with ``found`` = no for a category
    without findings.

    The last columns are precision and recall of the category's marks in the test
    contracts (``marked``).
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    titles = review.titles()
    for finding in items:
        category_marks = marked.get(finding.category, Marks(0, 0, 0, 0))
        row = [
            finding.category,
            titles[review.group_of(finding.category)],
            "yes" if finding.found else "no",
            f"{finding.probability:.4f}",
            str(finding.start) if finding.found else "",
            str(finding.end) if finding.found else "",
            finding.text,
        ]
        for share in (category_marks.precision, category_marks.recall):
            row.append("" if share is None else f"{share:.4f}")
        writer.writerow(map(spreadsheet.cell, row))
    return out.getvalue()


# html


@dataclass(frozen=True)
class Passage:
    """A finding on the page: its number in the order of the text, its lane (level of
    underline) and the group of its category.
    """

    number: int
    lane: int
    group: str
    finding: Finding

    @property
    def classes(self) -> str:
        """The CSS classes of its marks."""
        lane = min(self.lane, LANES - 1)
        classes = f"{self.group} l{lane} f{self.number}"
        if self.finding.probability < SURE:
            classes += " faint"
        return classes

    @property
    def tooltip(self) -> str:
        """Category and confidence."""
        confidence = percent(self.finding.probability)
        return f"{shown(self.finding.category)} {confidence}"


LANES = 4  # levels of underlines
UNDERLINES = (
    "dotted .14em",
    "solid .14em",
    "dashed .1em",
    "double .08em",
    "solid .07em",
    "wavy .07em",
)
CHROMA = 0.13  # of the colours of groups, in OKLCH
BLUE_HUE = 250  # of the first group, in degrees


def shown(category: str) -> str:
    """Return a category's name with its abbreviations in capitals: ``IP Ownership
    Assignment``.
    """
    return _ABBREVIATION.sub(lambda match: match[0].upper(), category)


def percent(probability: float) -> str:
    """Return a probability in per cent, with 100 % only for 1 and 0 % only for 0."""
    rounded = round(100 * probability)
    if rounded == 100 and probability < 1:
        return ">99 %"
    if rounded == 0 and probability > 0:
        return "<1 %"
    return f"{rounded} %"


def passages(items: Iterable[Finding], review: Review) -> list[Passage]:
    """Number the spans in the order of the text, with different lanes for overlapping
    ones.
    """
    spans = [finding for finding in items if finding.found]
    spans.sort(key=lambda finding: (finding.start, -finding.end, finding.category))
    end_of: dict[int, int] = {}  # {lane: end of its last passage}
    placed = []
    for number, finding in enumerate(spans, 1):
        lane = 0
        while end_of.get(lane, 0) > finding.start:
            lane += 1
        end_of[lane] = finding.end
        group = review.group_of(finding.category)
        placed.append(Passage(number, lane, group, finding))
    return placed


def segments(
    length: int, placed: Sequence[Passage]
) -> Iterator[tuple[int, int, tuple[Passage, ...]]]:
    """Cut a text of ``length`` characters wherever a passage begins or ends.

    Yields (start, end, passages that cover it, by lane) for the whole text in order.
    """
    edges = {0, length}
    for passage in placed:
        edges.add(passage.finding.start)
        edges.add(passage.finding.end)
    open_: list[Passage] = []
    waiting = list(reversed(placed))
    for start, end in itertools.pairwise(sorted(edges)):
        open_ = [passage for passage in open_ if passage.finding.end > start]
        while waiting and waiting[-1].finding.start == start:
            open_.append(waiting.pop())
        yield start, end, tuple(sorted(open_, key=lambda passage: passage.lane))


def marked(text: str, placed: Sequence[Passage]) -> Markup:
    """Return the contract's text as HTML with marked passages, each with a note at its
    start.

    The marks of overlapping passages are nested, so that each has a separate underline.
    Ligatures are shown as letters, so that words can be searched.
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
        words = with_plain_letters(text[start:end])
        pieces.append(escape(words))
        pieces.append("</mark>" * len(over))
    return Markup("".join(pieces))


def _note(passage: Passage) -> Markup:
    """Return the link in the margin from a passage to its category in the list."""
    finding = passage.finding
    link = Markup(
        '<a class="note {}" id="f{}" href="#c-{}" title="{}: back to the list">'
        "<span>{}</span> <b>{}</b></a>"
    )
    return link.format(
        passage.classes,
        passage.number,
        _slug(finding.category),
        passage.tooltip,
        shown(finding.category),
        percent(finding.probability),
    )


def _slug(category: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", category.lower()).strip("-")


@dataclass(frozen=True)
class _Group:
    """Categories under one title.

    ``found`` are {category: its passages}; ``none`` are the findings of categories
    without a passage.
    """

    key: str
    title: str
    found: dict[str, list[Passage]]
    none: list[Finding]


def to_html(text: str, items: Sequence[Finding], title: str, about: About) -> str:
    """Return the contract with its findings as a self-contained page.

    Raises `ValueError` if a finding's text is not at its offsets.
    """
    for finding in items:
        words = text[finding.start : finding.end]
        if finding.found and (not words or words != finding.text):
            what = f"{finding.text!r} at {finding.start}"
            raise ValueError(f"{finding.category}: the contract does not have {what}")
    placed = passages(items, about.review)
    groups = list(_groups(items, placed, about.review))

    def share(category: str, name: str) -> str:
        value = None
        if category in about.marks:
            value = getattr(about.marks[category], name)
        return "–" if value is None else percent(value).replace(" ", "\u00a0")

    unsure = []
    for group in groups:
        unsure += [item for item in group.none if item.probability < SURE]
    template = TEMPLATES.get_template("page.html.j2")
    style = (HERE / "page.css").read_text(encoding="utf-8")
    body = template.render(
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
        minimum=percent(about.review.minimum),
        percent=percent,
        shown=shown,
        slug=_slug,
        snippet=snippet,
    )
    style += group_styles(list(about.review.titles())) + _highlights(placed)
    return render.page(title, Markup(body), style)


def group_styles(groups: Sequence[str]) -> str:
    """Return the colour and the underline of each group: hues at equal distances, and
    `UNDERLINES` in turn.

    The last group, of all other categories, is grey.  `page.css` has the lightness.
    """
    *coloured, other = groups
    rules = []
    for number, group in enumerate(coloured):
        hue = BLUE_HUE + 360 * number / len(coloured)
        underline = UNDERLINES[number % len(UNDERLINES)]
        rules.append(_group_style(group, f"{CHROMA} {hue % 360:.0f}", underline))
    rules.append(_group_style(other, "0 0", "solid .07em"))
    return "".join(rules)


def _group_style(group: str, colour: str, underline: str) -> str:
    line, thickness = underline.split()
    colours = f"--c: var(--lightness) {colour}"
    return f".{group} {{ {colours}; --line-style: {line}; --thick: {thickness}; }}\n"


def _highlights(placed: Sequence[Passage]) -> str:
    """Return the style that highlights the marks of a passage while its note is the
    link target or has the focus.
    """
    selectors = []
    for passage in placed:
        name = f"f{passage.number}"
        selectors.append(f":root:has(#{name}:is(:target, :focus-visible)) .{name}")
    if not selectors:
        return ""
    return f"{','.join(selectors)} {{ background: oklch(var(--c) / .35); }}\n"


def _groups(
    items: Sequence[Finding], placed: Sequence[Passage], review: Review
) -> Iterator[_Group]:
    """Yield the groups that have categories in ``items``, in the order of the page."""
    spans_of: dict[str, list[Passage]] = defaultdict(list)
    for passage in placed:
        spans_of[passage.finding.category].append(passage)
    for key, title in review.titles().items():
        group = _Group(key, title, {}, [])
        for item in items:
            if review.group_of(item.category) != key:
                continue
            if item.found:
                group.found[item.category] = spans_of[item.category]
            else:
                group.none.append(item)
        if group.found or group.none:
            yield group


def snippet(text: str, length: int = 90) -> str:
    """Return the beginning of a span as one line."""
    line = " ".join(with_plain_letters(text[: 2 * length]).split())
    if len(line) <= length and len(text) <= 2 * length:
        return line
    return f"{line[:length].rstrip()} …"
