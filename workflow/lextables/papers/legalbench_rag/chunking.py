"""How a file is cut into passages: every so many characters, or by a recursive character text splitter.

Both part the text: passages neither overlap nor leave anything out.
"""

from collections.abc import Iterator, Sequence


def fixed(text: str, size: int) -> list[str]:
    """Cut every ``size`` characters (the paper's naive chunking)."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def recursive(text: str, size: int, separators: Sequence[str]) -> list[str]:
    """Cut at the first of ``separators`` that the text has, and pieces of ``size`` or more at the next ones.

    Neighbouring shorter pieces are joined as far as they have at most ``size`` characters together.  This is
    LangChain's RecursiveCharacterTextSplitter as the authors call it: without overlap, with separators kept
    at the head of the piece that follows, and nothing stripped.  The last separator is the empty one, which
    cuts anywhere.
    """
    at = next(place for place, separator in enumerate(separators) if separator in text)
    passages: list[str] = []
    short: list[str] = []
    for piece in _pieces(text, separators[at]):
        if len(piece) < size:
            short.append(piece)
            continue
        passages += _joined(short, size)
        short = []
        rest = separators[at + 1 :]
        passages += recursive(piece, size, rest) if rest else [piece]
    return [*passages, *_joined(short, size)]


def _pieces(text: str, separator: str) -> list[str]:
    """The text from one separator to the next, each with the one that it begins with."""
    if not separator:
        return [*text]
    head, *rest = text.split(separator)
    return [piece for piece in (head, *(separator + part for part in rest)) if piece]


def _joined(pieces: Sequence[str], size: int) -> Iterator[str]:
    joined = ""
    for piece in pieces:
        if joined and len(joined) + len(piece) > size:
            yield joined
            joined = ""
        joined += piece
    if joined:
        yield joined
