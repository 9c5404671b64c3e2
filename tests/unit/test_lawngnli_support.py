"""How much of a hypothesis its premise contains (LawngNLI)."""

import pytest

from lextables.papers.lawngnli.dataset.support import content_lemmas, support

PREMISE = "The harbor boards had levied 1,200 tolls on smaller vessels."


@pytest.mark.parametrize(
    ("hypothesis", "share"),
    [
        ("harbor board levies tolls", 1.0),
        ("the board did not levy a toll", 1.0),
        ("small vessel may sail", 2 / 3),
        ("1,200 ferries", 0.5),
        ("12 ferries", 0.0),
        ("it is not", 1.0),
        ("", 1.0),
    ],
)
def test_support_is_the_share_of_content_words(hypothesis: str, share: float) -> None:
    assert support(hypothesis, content_lemmas(PREMISE)) == pytest.approx(share)


def test_nothing_supports_words_on_an_empty_page() -> None:
    assert support("the toll is due", content_lemmas("")) == 0.0
