"""The one kind of error that a user is meant to read."""

from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 400  # characters of each part of a sentence: what it quotes may be as long as a file


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


class BadInput(Exception):
    """Input that cannot be used, said in one sentence: what is wrong, where, and what to do.

    ``where`` is a file, optionally with a row (1-based, as an editor counts lines) or a key, such as
    ``qrels/test.tsv, row 17``.  Raised before anything is built from the input.
    """

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what, self.where, self.do = map(_short, (what, where, do))
        sentence = f"{self.where}: {self.what}" if where else self.what
        super().__init__(f"{sentence}; {self.do}." if do else f"{sentence}.")


@contextmanager
def loading_weights() -> Iterator[None]:
    """Raise `BadInput` for what a library raises while it loads weights; errors of code stay as they are."""
    try:
        yield
    except (BadInput, MemoryError, AssertionError, AttributeError, NameError, TypeError):
        raise
    except Exception as error:  # each library has errors of its own
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        said = f"{type(error).__name__}: {first}" if first else type(error).__name__
        raise BadInput(f"the weights do not load ({said})", do="copy or fetch them again") from error


class BadSetting(BadInput):
    """A setting that no job can work with: it stops the run, where other bad input may cost a row alone."""
