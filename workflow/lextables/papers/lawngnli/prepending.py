"""LawngNLI, Appendix A.1.9: the end of a long premise, which models get once more at its front."""

from collections.abc import Callable

PREPENDED_TOKENS = 512


def closing_paragraphs(text: str, count: Callable[[str], int], tokens: int = PREPENDED_TOKENS) -> int:
    """Return the least number of paragraphs from the end of ``text`` that hold ``tokens`` tokens.

    They are what models get before the text (A.1.9).  A paragraph is a line; the line ends between the
    paragraphs count as the tokens that they are.  A text that holds fewer tokens gives all its paragraphs.
    ``count`` gives a text's byte-pair tokens without special tokens
    (`lextables.models.token_count.TokenCounter.tokens`).

    This is the paper's rule and, but for the count of runs of empty lines, the released code's: there the
    line ends among the last 512 token ids are counted, and one more paragraph than that is taken.
    """
    paragraphs = text.split("\n")
    taken = 1
    while taken < len(paragraphs) and count("\n".join(paragraphs[-taken:])) < tokens:
        taken += 1
    return taken
