"""How much may be asked of language models, and how fast."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What the configuration allows; it changes how long asking takes or whether it ends, never an answer.

    ``dollars`` and ``tokens`` hold over all jobs and reruns of one folder of results; ``tokens`` 0 is no
    limit beside the dollars.  ``concurrency`` is how many calls one job has under way at once,
    ``requests_a_minute`` how many all jobs of the folder together begin in a minute, 0 as many as they can.
    """

    dollars: float = 5.0
    tokens: int = 0
    concurrency: int = 4
    requests_a_minute: int = 0
