"""The segments of contracts, and which of them answer a category."""

import numpy as np
import pytest

from lextables.tasks.spans.segment_model import answer_labels
from lextables.tasks.spans.segments import Segments, find_segments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two there.", ["One here.", "Two there."]),
        ("Acme Inc. Holds it. Next.", ["Acme Inc. Holds it.", "Next."]),
        (
            "Under Section 2. 1 it ends! Does it? Yes",
            ["Under Section 2. 1 it ends!", "Does it?", "Yes"],
        ),
        ("By J. Smith.\n\n  12.3 Law. Ohio", ["By J. Smith.", "12.3 Law.", "Ohio"]),
        ("it goes on\n\nover the page", ["it goes on\n\nover the page"]),
        ("the list:\n(a) one;\n(b) two", ["the list:", "(a) one;", "(b) two"]),
        ("wrapped\nwithin a line; And on", ["wrapped\nwithin a line; And on"]),
        (" \n ", []),
        ("", []),
    ],
)
def test_segments_are_sentences_list_items_and_lines(text, expected):
    assert [text[start:end] for start, end in find_segments(text)] == expected


def test_only_white_space_is_between_segments():
    rng = np.random.default_rng(0)
    for _ in range(300):
        text = "".join(rng.choice(list('aB1 .;:\n"()'), 60).tolist())
        outside, after = "", 0
        for start, end in find_segments(text):
            segment = text[start:end]
            assert segment == segment.strip() != ""
            outside += text[after:start]
            after = end
        assert not (outside + text[after:]).strip()


def test_segments_answer_if_they_overlap_an_answer_by_half():
    segments = Segments.from_texts(["One is here. Two is there. Three."])
    answers = {0: [(0, (13, 26)), (1, (0, 26)), (2, (10, 14))]}
    labels = answer_labels(segments, answers, 3)
    assert labels.tolist() == [
        [False, True, True],
        [True, True, False],
        [False, False, False],
    ]
