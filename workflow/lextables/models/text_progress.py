"""The progress of a job that encodes texts."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from lextables.pipeline.job_files import Progress

# More than a token of English has on average, so that all that a model reads of a text
# counts.
CHARACTERS_OF_TOKEN = 6


class TextProgress:
    """Counts encoded texts by their length, since long ones take longer.

    Of a text that the model cuts at ``max_length`` tokens only the first part counts.
    """

    def __init__(
        self, log: str | Path, texts: Iterable[str], max_length: int | None
    ) -> None:
        self.longest = CHARACTERS_OF_TOKEN * max_length if max_length else None
        self.progress = Progress(log, sum(map(self.characters, texts)))

    def characters(self, text: str) -> int:
        """Return the number of characters that count, one at least."""
        length = max(1, len(text))
        return min(length, self.longest) if self.longest else length

    def __call__(self, texts: Sequence[str]) -> None:
        """Add texts whose vectors are ready."""
        self.progress.add(sum(map(self.characters, texts)))
