"""The outcomes of published cells: as counts, in words, and as a picture with one mark per cell."""

from collections import Counter
from collections.abc import Iterable, Mapping

from markupsafe import Markup

from lextables.tables.cells import Line

# In the order of the picture.  Values without a verdict are `unjudged` if the data are the paper's, and
# `elsewhere` if they are not.
WORDS = {
    "match": "match",
    "near": "near",
    "off": "off",
    "unjudged": "without a verdict",
    "elsewhere": "with a value from other data",
    "not run": "not run",
}
ACROSS, STEP = 24, 8  # marks in a line, and units from one to the next
# Outcomes differ in shape as well as colour; each is drawn in a square of six units.
SHAPES = {
    "match": "M{x} {y}h6v6h-6z",
    "near": "M{mx} {y}l3 3-3 3-3-3z",
    "off": "M{x} {y}l6 6m0-6l-6 6",
    "unjudged": "M{x} {y}h6v6h-6z",
    "elsewhere": "M{mx} {my}h0",
    "not run": "M{mx} {my}h0",
}

Counts = Mapping[str, int]


def of(line: Line) -> str:
    """The outcome of a published cell, one of `WORDS`."""
    return line.verdict or ("elsewhere" if line.ours else "unjudged")


def count(lines: Iterable[Line]) -> Counts:
    """Count published cells by outcome, in the order of `WORDS`."""
    found = Counter(of(line) for line in lines if line.published)
    return {name: found[name] for name in WORDS}


def add(counts: Iterable[Counts]) -> Counts:
    """Add counts of several tables."""
    total = Counter()
    for each in counts:
        total.update(each)
    return {name: total[name] for name in WORDS}


def in_words(counts: Counts) -> str:
    """Return counts as a clause: ``3 match, 2 not run``."""
    said = [f"{n:,} {WORDS[name]}" for name, n in counts.items() if n]
    return ", ".join(said) or "no printed value to compare"


def of_table(lines: Iterable[Line]) -> str:
    """Return the outcome of a table in words; without published values the number of its values."""
    lines = list(lines)
    if any(line.published for line in lines):
        return in_words(count(lines))
    n = sum(bool(line.reproduced or line.ours) for line in lines)
    return f"{n:,} value{'' if n == 1 else 's'} in additional rows, none published"


def picture(counts: Counts) -> Markup:
    """Draw one mark for each published cell, by outcome; empty without any."""
    marks = [name for name, n in counts.items() for _ in range(n)]
    if not marks:
        return Markup()
    paths: dict[str, list[str]] = {}
    for at, name in enumerate(marks):
        x, y = at % ACROSS * STEP + 1, at // ACROSS * STEP + 1
        paths.setdefault(name, []).append(SHAPES[name].format(x=x, y=y, mx=x + 3, my=y + 3))
    width, height = min(len(marks), ACROSS) * STEP, -(-len(marks) // ACROSS) * STEP
    drawn = Markup().join(
        Markup('<path class="{}" d="{}"/>').format(name.replace(" ", "-"), "".join(of_name))
        for name, of_name in paths.items()
    )
    size = Markup('viewBox="0 0 {w} {h}" style="--w:{w}"').format(w=width, h=height)
    return Markup('<svg class="marks" {} aria-hidden="true">{}</svg>').format(size, drawn)
