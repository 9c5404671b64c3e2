"""LawngNLI's report pages: the funnel of candidates, and examples with their twins."""

from itertools import islice, pairwise
from pathlib import Path

from lextables.pipeline import dataset
from lextables.pipeline.files import read_json
from lextables.report.exhibits import (
    Example,
    Examples,
    Funnel,
    Piece,
    Section,
    Statement,
    cut,
    edited,
)

# The columns of `examples.parquet` that are read.
COLUMNS = [
    "example_id",
    "is_twin",
    "label",
    "hypothesis",
    "short_premise",
    "premise_example_id",
    "fault",
]
LABELS = ("entail", "contradict", "neutral")
PAIRS_PER_LABEL = 2
MAX_ROWS = 20_000  # the first rows of the table, from which examples are chosen
MAX_CHARACTERS = 900  # a longer premise is cut
TITLES = {
    "entail": "A court’s description of a case that it cites",
    "contradict": "A description whose meaning was reversed",
    "neutral": "A description of one case with the opinion of another",
}
ORIGIN = "The premise is that of another parenthetical ({}); it neither entails nor contradicts the hypothesis."
# The length of the premises that are chosen first: short enough to read, long enough to
# understand.
PREFERRED_CHARACTERS = 350


def sections(data: Path) -> list[Section]:
    """Return the funnel from citations to examples, and some examples with their twins.

    ``data`` is the folder of all data sets.
    """
    folder = data / "lawngnli"
    census = read_json(folder / "census.json")
    funnel = Funnel(
        "From citations to examples",
        "What remains after each step, from all citations of a case to pairs of examples.",
        [(step, n) for step, n in census.get("funnel", [])],
    )
    pairs = [_example(*pair) for pair in preferred_pairs(folder / "examples.parquet")]
    examples = Examples(
        "Examples, and the edit that reverses their meaning",
        "A premise is the text of the cited pages, a hypothesis the citing court's description of them. The "
        "twin has the same premise and a hypothesis with the opposite meaning; the changes are marked.",
        pairs,
    )
    return [
        section
        for section, content in ((funnel, funnel.steps), (examples, pairs))
        if content
    ]


def preferred_pairs(path: Path) -> list[tuple[dataset.Row, dataset.Row]]:
    """Return `PAIRS_PER_LABEL` pairs (example, twin) of each label.

    Examples that pass the difficulty filters come first, and then the examples whose
    premises are closest to `PREFERRED_CHARACTERS` in length.
    """
    by_label: dict[str, list[tuple[dataset.Row, dataset.Row]]] = {
        label: [] for label in LABELS
    }
    rows = list(islice(dataset.read(path, COLUMNS), MAX_ROWS))
    # In the table each example is followed by its twin.
    for row, twin in pairwise(rows):
        if twin["is_twin"]:
            by_label[row["label"]].append((row, twin))
    preferred = []
    for pairs in by_label.values():
        preferred += sorted(pairs, key=_preference)[:PAIRS_PER_LABEL]
    return preferred


def _preference(pair: tuple[dataset.Row, dataset.Row]) -> tuple[bool, int, str]:
    """Return the sort key of a pair; the lowest is preferred."""
    row, _ = pair
    return (
        row["fault"] is not None,
        abs(len(row["short_premise"]) - PREFERRED_CHARACTERS),
        row["example_id"],
    )


def _example(row: dataset.Row, twin: dataset.Row) -> Example:
    """Return the page's example of a row: premise, hypothesis and the edit to its
    twin.
    """
    premise = cut(row["short_premise"], MAX_CHARACTERS)
    hypothesis = row["hypothesis"]
    statements = [
        Statement("Premise", [Piece(premise)]),
        Statement("Hypothesis", [Piece(hypothesis)], row["label"]),
        Statement("Its twin", edited(hypothesis, twin["hypothesis"]), twin["label"]),
    ]
    origin = ""
    if row["premise_example_id"] != row["example_id"]:
        origin = ORIGIN.format(row["premise_example_id"])
    return Example(TITLES[row["label"]], statements, origin)
