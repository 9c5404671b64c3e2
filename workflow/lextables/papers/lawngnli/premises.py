"""LawngNLI, Appendix A.1.1: short premises, the cited pages of a majority opinion in whole paragraphs."""

from collections.abc import Sequence
from dataclasses import dataclass

from lextables.papers.lawngnli.majority_opinions import MajorityOpinion


@dataclass(frozen=True)
class Premise:
    """A short premise: its text, and the spans of the majority opinion it is made of, ascending."""

    text: str
    spans: tuple[tuple[int, int], ...]


def short_premise(opinion: MajorityOpinion, pages: Sequence[str]) -> Premise | None:
    """Return the cited pages of ``opinion``, grown to whole paragraphs (A.1.1).

    None if none of the pages is in the opinion.  Paragraphs stand once and in their order; the
    released code repeats those that two cited pages share, and takes the whole opinion up to or from
    a page whose neighbour has no label.  Footnotes behind the last page are not of that page.
    """
    wanted = set(pages)
    spans: list[tuple[int, int]] = []
    for place, page in enumerate(opinion.pages):
        if page.label not in wanted:
            continue
        following = opinion.pages[place + 1].offset if place + 1 < len(opinion.pages) else opinion.body_end
        span = _paragraphs(opinion.text, page.offset, min(following, opinion.body_end))
        if span is None:
            continue
        if spans and span[0] <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(spans[-1][1], span[1]))
        else:
            spans.append(span)
    if not spans:
        return None
    return Premise("\n".join(opinion.text[start:end] for start, end in spans), tuple(spans))


def _paragraphs(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The paragraphs of which a part stands between two offsets; None if only white space does."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start >= end:
        return None
    closing = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, len(text) if closing < 0 else closing
