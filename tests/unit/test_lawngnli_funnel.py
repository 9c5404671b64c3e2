"""The funnel from citations to examples."""

from lextables.papers.lawngnli.statistics import funnel


def test_funnel():
    steps = funnel([("citations", 200), ("parentheticals", 50), ("resolved", 0), ("twinned", 8)])
    assert [(s.step, s.left, s.of_previous) for s in steps] == [
        ("citations", 200, 1.0),
        ("parentheticals", 50, 0.25),
        ("resolved", 0, 0.0),
        ("twinned", 8, None),
    ]
    assert funnel([]) == []
