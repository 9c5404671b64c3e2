"""The funnel from citations to examples, and what is said where it leaves nothing."""

import pytest

from lextables.errors import BadInput
from lextables.lawngnli.funnel import check_left, funnel


def test_funnel():
    steps = funnel([("citations", 200), ("parentheticals", 50), ("resolved", 0), ("twinned", 8)])
    assert [(s.step, s.left, s.dropped) for s in steps] == [
        ("citations", 200, 0),
        ("parentheticals", 50, 150),
        ("resolved", 0, 50),
        ("twinned", 8, -8),
    ]
    assert [s.of_first for s in steps] == [1.0, 0.25, 0.0, 0.04]
    assert steps[1].of_previous == 0.25
    assert steps[3].of_previous is None
    assert funnel([]) == []


def test_a_data_set_that_keeps_an_example_is_let_through():
    check_left([("citations", 200), ("balanced", 6), ("with twins", 12)])


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (
            [("citations", 1200), ("balanced", 0), ("with twins", 0)],
            "LawngNLI: no example is left: 0 after the step 'balanced', 1,200 before it; "
            "name more volumes in caselaw, such as those that these cite.",
        ),
        (
            [("citations", 0), ("balanced", 0)],
            "LawngNLI: no example is left: 0 after the step 'citations'; "
            "name more volumes in caselaw, such as those that these cite.",
        ),
    ],
)
def test_an_empty_data_set_is_a_sentence_with_the_step_that_emptied_it(counts, sentence):
    with pytest.raises(BadInput) as error:
        check_left(counts)
    assert str(error.value) == sentence
