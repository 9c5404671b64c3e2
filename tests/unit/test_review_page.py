"""The review of a contract: findings, marks in the test contracts, the page and the
csv.
"""

import csv
import io
import random
import re
import time
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from helpers import stored_pages
from lextables import ROOT
from lextables.pipeline.errors import BadInput
from lextables.registry import packages
from lextables.review import marks
from lextables.review import page as review_page
from lextables.review.marks import Band, Marks
from lextables.review.page import About, Finding

REVIEW = packages.load(ROOT / "resources/papers/cuad.yaml").review
TEXT = 'SUPPLY <AGREEMENT>\n\n1.  Buyer & Seller\tagree;  no "party" may assign.\r\n\n   It\'s New York law.\n'


def rows(question: str, *predictions: tuple[str, int, int, float]) -> list[dict]:
    return [
        {
            "question_id": question,
            "rank": rank,
            "text": text,
            "start": start,
            "end": end,
            "probability": p,
        }
        for rank, (text, start, end, p) in enumerate(predictions)
    ]


def at(
    category: str, words: str, probability: float = 0.9, text: str = TEXT
) -> Finding:
    start = text.index(words)
    return Finding(category, start, start + len(words), words, probability)


def none(category: str, probability: float = 0.99) -> Finding:
    return Finding(category, -1, -1, "", probability)


@pytest.mark.parametrize(
    ("predictions", "expected"),
    [
        ([("", -1, -1, 1.0)], [(-1, -1, 1.0)]),
        (
            [("", -1, -1, 0.85), ("a", 0, 1, 0.1), ("c", 2, 3, 0.05)],
            [(-1, -1, 0.85)],
        ),  # at the threshold
        ([("a", 0, 1, 0.6), ("", -1, -1, 0.4)], [(0, 1, 0.6)]),
        # The most probable of overlapping spans, whether it is the longer or the
        # shorter one.
        ([("abc", 0, 3, 0.5), ("b", 1, 2, 0.3), ("", -1, -1, 0.2)], [(0, 3, 0.5)]),
        ([("b", 1, 2, 0.5), ("abc", 0, 3, 0.3), ("", -1, -1, 0.2)], [(1, 2, 0.5)]),
        # A span is kept if it overlaps only a span that is left out.
        (
            [("abc", 0, 3, 0.4), ("cde", 2, 5, 0.3), ("efg", 4, 7, 0.2)],
            [(0, 3, 0.4), (4, 7, 0.2)],
        ),
        # Adjacent spans are separate findings, in the order of the text.
        ([("cd", 2, 4, 0.5), ("ab", 0, 2, 0.3)], [(0, 2, 0.3), (2, 4, 0.5)]),
        # If probabilities are equal, the span with the better rank.
        ([("ab", 0, 2, 0.5), ("bc", 1, 3, 0.5)], [(0, 2, 0.5)]),
        ([("a", 0, 1, 0.09), ("", -1, -1, 0.06)], [(-1, -1, 0.06)]),
    ],
)
def test_findings_of_one_category(predictions: list, expected: list) -> None:
    findings = review_page.findings(rows("q", *predictions), {"q": "Insurance"}, 0.1)
    assert [(x.start, x.end, x.probability) for x in findings] == expected
    assert all(
        x.category == "Insurance" and x.found == (x.start >= 0) for x in findings
    )


def test_findings_keep_the_order_of_categories_and_overlaps_between_them() -> None:
    predictions = rows("b", ("abc", 0, 3, 0.5)) + rows("a", ("bc", 1, 3, 0.3))
    findings = review_page.findings(
        predictions, {"b": "Parties", "a": "Insurance"}, minimum=0.2
    )
    assert [(x.category, x.text) for x in findings] == [
        ("Parties", "abc"),
        ("Insurance", "bc"),
    ]
    findings = review_page.findings(
        predictions, {"b": "Parties", "a": "Insurance"}, minimum=0.3
    )
    assert findings[1] == none("Insurance", 0)


def test_a_question_without_predictions_is_an_error() -> None:
    with pytest.raises(BadInput, match="q2: this question has no predictions"):
        review_page.findings(
            rows("q1", ("", -1, -1, 1.0)), {"q1": "Parties", "q2": "Insurance"}, 0.1
        )


def test_scores_of_returns_only_the_scores_on_the_page() -> None:
    nan = float("nan")
    table = [
        ("AUPR", "all", 0.4),
        ("AUPR, low", "all", 0.3),
        ("AUPR, strict", "all", 0.5),
        ("AUPR", "category: Parties", 0.7),
        ("AUPR", "category: Price Restrictions", nan),
        ("precision", "threshold: 0.99", 0.2),
        ("precision at 80% recall", "all", 0.1),
        ("precision at 80% recall", "category: Parties", 0.6),
    ]
    found = review_page.scores_of(
        {"metric": m, "group": g, "value": v, "n": 1} for m, g, v in table
    )
    assert found == ({"AUPR": 0.4, "precision at 80% recall": 0.1}, {"Parties": 0.7})


def test_the_description_of_the_model() -> None:
    settings = {"model": "minilm", "found": "hub cache"}
    trained = {
        "settings": {"percent": 100},
        "updates": 1600,
        "training_windows": {"with an answer": 9000, "without": 9001},
    }
    assert review_page.model_of({"settings": settings, "trained": trained}, "CUAD") == (
        "minilm (hub cache), fine-tuned on the training contracts of CUAD: "
        "1,600 updates on 18,001 windows of text"
    )
    part = {"settings": settings, "trained": trained | {"settings": {"percent": 30}}}
    assert "fine-tuned on 30 % of the training contracts" in review_page.model_of(
        part, "CUAD"
    )
    # A model without fine-tuning, and the released weights, which are unpacked and not
    # trained.
    for record in (
        {"settings": settings},
        {"settings": settings, "trained": {"files": ["config.json"]}},
    ):
        assert (
            review_page.model_of(record, "CUAD")
            == "minilm (hub cache), as it was released"
        )
    linear = {
        "settings": {"kind": "linear"},
        "trained": {"answers": 11_180, "contracts": 408},
    }
    assert review_page.model_of(linear, "CUAD") == (
        "linear models over words and trees over their scores, trained on 11,180 annotated passages in "
        "408 training contracts of CUAD"
    )


def test_the_page_shows_precision_and_recall_of_marks_in_test_contracts() -> None:
    marked = {"Parties": Marks(8, 6, 10, 5), "Insurance": Marks(0, 0, 4, 0)}
    bands = (Band(0.1, 0.5, 40, 10), Band(0.5, 0.9, 0, 0), Band(0.9, 1.0, 10, 9))
    findings = [at("Parties", "Buyer"), none("Insurance"), none("Audit Rights")]
    about = About(
        REVIEW,
        "m",
        categories={"Parties": 0.6, "Insurance": 0.1},
        marks=marked,
        bands=bands,
    )
    page = " ".join(review_page.to_html(TEXT, findings, "R", about).split())
    assert '<small class="soft">right 75 %, found 50 %</small>' in page
    assert "<td>60.0 %</td> <td>75 %</td><td>50 %</td>" in page
    assert "<td>10.0 %</td> <td>–</td><td>0 %</td>" in page
    said = "25 % of the marks of 10 % to 50 % were right, 90 % of the marks of 90 % to 100 % were right."
    assert f"In the test contracts {said}" in page


def test_each_of_41_categories_is_in_one_group() -> None:
    categories = []
    for group in REVIEW.groups.values():
        categories += group.categories
    assert len(categories) == len(set(categories)) == 41


def test_the_csv_has_a_line_for_every_finding_and_every_missing_category() -> None:
    text = '=SUM(A1), "x"\nnext'
    findings = [
        Finding("Parties", 3, 20, text, 0.98765),
        none("Insurance"),
        Finding("New", 0, 1, "a", 0.2),
    ]
    marked = {"Parties": Marks(4, 3, 0, 0), "Insurance": Marks(0, 0, 8, 0)}
    assert list(
        csv.reader(io.StringIO(review_page.to_csv(findings, marked, REVIEW)))
    ) == [
        list(review_page.FIELDS),
        [
            "Parties",
            "General information",
            "yes",
            "0.9877",
            "3",
            "20",
            f"'{text}",
            "0.7500",
            "",
        ],
        ["Insurance", "Liability", "no", "0.9900", "", "", "", "", "0.0000"],
        ["New", "Other", "yes", "0.2000", "0", "1", "a", "", ""],
    ]


def test_segments_cover_the_text_with_every_overlap() -> None:
    draw = random.Random(0)
    for _ in range(200):
        length = draw.randrange(1, 40)
        found = []
        for n in range(draw.randrange(8)):
            start = draw.randrange(length)
            found.append(
                Finding(str(n), start, draw.randrange(start + 1, length + 1), "x", 0.5)
            )
        placed = review_page.passages(found, REVIEW)
        assert [x.number for x in placed] == list(range(1, len(found) + 1))
        reached = 0
        for start, end, over in review_page.segments(length, placed):
            assert start == reached < end
            assert len({x.lane for x in over}) == len(over)
            reached = end
            for at in (start, end - 1):
                covering = [x for x in found if x.start <= at < x.end]
                shown = [x.finding for x in over]
                assert sorted(shown, key=str) == sorted(covering, key=str)
        assert reached == length


class Page(HTMLParser):
    """The content of a page: the contract's text, its marks as (classes, text), notes,
    ids, links, tags.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.notes = "", []
        self.marks: list[tuple[tuple[str, ...], str]] = []
        self.ids, self.links, self.tags = [], [], set()
        self._open: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        given = dict(attributes)
        self.tags.add(tag)
        for name, kept in (("id", self.ids), ("href", self.links)):
            if name in given:
                kept.append(given[name])
        if tag not in ("meta", "br"):
            self._open.append((tag, given.get("class") or ""))
        if (given.get("class") or "").startswith("note "):
            self.notes.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        classes = [kind for _, kind in self._open]
        if any(kind.startswith("note ") for kind in classes):
            self.notes[-1] += data
        elif "words" in classes:
            self.text += data
            self.marks.append(
                (tuple(kind for tag, kind in self._open if tag == "mark"), data)
            )


FOUND = [
    at("Document Name", "SUPPLY <AGREEMENT>", 0.97),
    at("Parties", "Buyer & Seller", 0.3),
    at("Anti-Assignment", 'Buyer & Seller\tagree;  no "party" may', 0.8),
    at("Change Of Control", 'agree;  no "party" may assign.\r\n\n   It\'s', 0.6),
    none("Insurance"),
    none("Ip Ownership Assignment", 0.2),
    at("Something <New>", "It's New York law.\n", 0.999),
]


def test_the_page_contains_the_contract_and_every_mark() -> None:
    page = Page(
        review_page.to_html(
            TEXT, FOUND, "Review of a & b.txt", About(REVIEW, "a model")
        )
    )
    assert page.text == TEXT
    assert page.marks == [
        (("general l0 f1",), "SUPPLY <AGREEMENT>"),
        ((), "\n\n1.  "),
        (("change l0 f2", "general l1 f3 faint"), "Buyer & Seller"),
        (("change l0 f2",), "\t"),
        (("change l0 f2", "change l1 f4"), 'agree;  no "party" may'),
        (("change l1 f4",), " assign.\r\n\n   "),
        (("other l0 f5", "change l1 f4"), "It's"),
        (("other l0 f5",), " New York law.\n"),
    ]


@pytest.mark.parametrize("number", [1, 6, 13])
def test_each_group_of_categories_has_its_own_colour(number) -> None:
    names = [f"group{place}" for place in range(number)]
    style = review_page.group_styles([*names, "other"])
    found = re.findall(r"\.(\w+) { --c: var\(--lightness\) (\S+) (\S+);", style)
    assert [name for name, _, _ in found] == [*names, "other"]
    hues = sorted(int(hue) for _, chroma, hue in found if chroma != "0")
    assert len(hues) == number
    distances = [later - earlier for earlier, later in pairwise(hues)]
    assert all(distance >= 360 // number - 1 for distance in distances)


def test_the_page_has_valid_links_and_no_external_resources() -> None:
    html = review_page.to_html(TEXT, FOUND, "Review", About(REVIEW, "a model"))
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert {f"#f{n}" for n in range(1, 6)} <= set(page.links)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "base"}
    assert not re.search(r"https?:|url\(|@import|src=", html)


HOSTILE = "</div></style><script>alert(1)</script> \" ' & &lt; <!-- ]]> \u202e {{ 7 * 7 }} {} {0}"


def test_everything_is_escaped() -> None:
    findings = [
        Finding(HOSTILE, 3, len(HOSTILE) - 2, HOSTILE[3:-2], 0.7),
        none(HOSTILE + "2", 0.1),
    ]
    about = About(
        REVIEW,
        HOSTILE,
        scores={HOSTILE: 0.5},
        categories={HOSTILE: 0.5},
        warning=HOSTILE,
        unread=(HOSTILE,),
    )
    page = Page(review_page.to_html(HOSTILE, findings, HOSTILE, about))
    assert page.text == HOSTILE
    assert page.notes == [f"{HOSTILE} 70 %"]
    assert "script" not in page.tags


def test_words_with_ligatures_can_be_searched_on_the_page() -> None:
    text = "North\ufb01eld Inc. and its a\ufb03liates"
    findings = [at("Parties", "North\ufb01eld Inc.", 0.9, text)]
    page = Page(review_page.to_html(text, findings, "R", About(REVIEW, "MiniLM")))
    assert page.text == "Northfield Inc. and its affiliates"
    assert "North\ufb01eld" not in review_page.to_html(
        text, findings, "R", About(REVIEW, "MiniLM")
    )
    assert "North\ufb01eld Inc." in review_page.to_csv(findings, {}, REVIEW)


@pytest.mark.golden
def test_the_page_is_as_stored() -> None:
    """The style, which is that of all tables, is left out."""
    about = About(
        REVIEW.model_copy(update={"minimum": 0.25}),
        "MiniLM",
        scores={"AUPR": 0.4523, "precision at 80% recall": 0.31},
        categories={"Joint Ip Ownership": 0.123},
        warning="Trained on the sample.",
        unread=("Page 3 was not read.", "Footnotes were not read."),
    )
    plain = review_page.to_html(TEXT, [none("Insurance")], "R", About(REVIEW, "MiniLM"))
    for name, page in {
        "review": review_page.to_html(TEXT, FOUND, "Review of a & b.txt", about),
        "review-without-passages": plain,
    }.items():
        body = re.sub("<style>.*?</style>", "", page, flags=re.S)
        stored_pages.check(f"{name}.html", body)


@pytest.mark.parametrize(
    "wrong", [Finding("Parties", 0, 3, "xyz", 0.5), Finding("Parties", 3, 3, "", 0.5)]
)
def test_a_finding_that_is_not_in_the_contract_is_an_error(wrong: Finding) -> None:
    with pytest.raises(ValueError, match="Parties: the contract does not have"):
        review_page.to_html(TEXT, [wrong], "R", About(REVIEW, "m"))


def test_a_contract_of_300_000_characters_makes_a_small_page_fast() -> None:
    draw = random.Random(0)
    text = "The term of this Agreement is two years.\n\n" * 7200
    found = []
    for n in range(400):
        start = draw.randrange(len(text) - 1000)
        end = start + draw.randrange(1, 900)
        found.append(
            Finding(f"Category {n % 41}", start, end, text[start:end], draw.random())
        )
    begun = time.monotonic()
    html = review_page.to_html(text, found, "R", About(REVIEW, "m"))
    assert time.monotonic() - begun < 3
    assert len(html) < 3 * len(text)


# Marks in the test contracts

CONTRACT = "The Buyer pays. The Seller ships the goods. This is governed by Ohio law. Buyer may audit."
QUESTIONS = [
    {"question_id": f"c__{category}", "contract_id": "c", "category": category}
    for category in ("Parties", "Governing Law", "Audit Rights")
]


def span(question: str, rank: int, words: str, probability: float) -> dict:
    start = CONTRACT.index(words) if words else -1
    end = start + len(words) if words else -1
    texts = {"released_text": words, "text": words}
    return {
        "question_id": question,
        "rank": rank,
        "start": start,
        "end": end,
        "probability": probability,
        **texts,
    }


def answer(question: str, index: int, words: str) -> dict:
    start = CONTRACT.index(words)
    return {
        "question_id": question,
        "index": index,
        "text": words,
        "start": start,
        "end": start + len(words),
    }


PREDICTIONS = [
    # The second span is inside the first and is not marked, although it is the
    # annotated one.
    span("c__Parties", 0, "The Buyer pays", 0.9),
    span("c__Parties", 1, "Buyer", 0.8),
    span("c__Parties", 2, "ships the goods", 0.3),
    span("c__Parties", 3, "", 0.1),
    span("c__Governing Law", 0, "This is governed by Ohio law", 0.7),
    span("c__Governing Law", 1, "", 0.3),
    span("c__Audit Rights", 0, "", 0.95),
    span("c__Audit Rights", 1, "Buyer may audit", 0.1),  # not above the minimum
]
ANSWERS = [
    answer("c__Parties", 0, "Buyer"),
    answer("c__Parties", 1, "The Seller"),
    answer("c__Governing Law", 0, "governed by Ohio law"),
    answer("c__Audit Rights", 0, "Buyer may audit"),
]


def counted(relaxed: str | None = None) -> list[dict]:
    return marks.count(PREDICTIONS, QUESTIONS, ANSWERS, relaxed, 0.1)


def test_marks_are_counted_by_category_and_confidence():
    assert marks.by_category(counted(), 0.1) == {
        "Parties": Marks(2, 0, 2, 0),
        "Governing Law": Marks(1, 1, 1, 1),
        "Audit Rights": Marks(0, 0, 1, 0),
    }
    # In a relaxed category, a mark that contains the answer is right.
    assert marks.by_category(counted("Parties"), 0.1)["Parties"] == Marks(2, 1, 2, 1)
    assert marks.bands(counted("Parties")) == [
        Band(0.1, 0.2, 0, 0),
        Band(0.2, 0.4, 1, 0),
        Band(0.4, 0.6, 0, 0),
        Band(0.6, 0.8, 1, 1),
        Band(0.8, 1.0, 1, 1),
    ]


def test_bands_start_at_the_minimum_probability():
    rows = marks.count(PREDICTIONS, QUESTIONS, ANSWERS, None, 0.5)
    assert {row["above"] for row in rows} == {0.5, 0.6, 0.8}
    assert marks.by_category(rows, 0.5)["Parties"] == Marks(1, 0, 2, 0)


def test_precision_without_marks_and_recall_without_answers_are_none():
    assert (Marks(4, 3, 0, 0).precision, Marks(4, 3, 0, 0).recall) == (0.75, None)
    assert (Marks(0, 0, 4, 1).precision, Marks(0, 0, 4, 1).recall) == (None, 0.25)


def test_marks_need_predictions_for_each_question():
    with pytest.raises(BadInput, match="1 question is asked and not predicted"):
        marks.count(PREDICTIONS[:-2], QUESTIONS, ANSWERS, None, 0.1)
