"""Faults that do not stop a run: counted by kind, one sentence each."""

import logging
from collections import Counter, defaultdict
from typing import Any

SHOWN = 20

_log = logging.getLogger("lextables.corpora.edgar")


class Faults:
    """A count for each kind of fault; every sentence goes to the log, the first `SHOWN` to the report."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.sentences: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, kind: str, where: str, what: str) -> None:
        """Count and log one fault of ``kind``."""
        sentence = f"{where}: {what}."
        self.counts[kind] += 1
        if self.counts[kind] <= SHOWN:
            self.sentences[kind].append(sentence)
        _log.info("%s: %s", kind, sentence)

    def record(self) -> dict[str, Any]:
        """``{kind: {"count": n, "sentences": [the first ones]}}``, kinds in alphabetical order."""
        return {
            kind: {"count": self.counts[kind], "sentences": self.sentences[kind]}
            for kind in sorted(self.counts)
        }
