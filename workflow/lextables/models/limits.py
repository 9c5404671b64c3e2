"""Budget and rate limits of requests to language models."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits from the configuration; they affect duration and completion, never an answer.

    ``dollars`` and ``tokens`` apply to all jobs and reruns of one results folder together; ``tokens`` 0 means
    no token limit.  ``concurrency`` is the number of simultaneous calls of one job, ``requests_a_minute`` the
    rate of all jobs of the folder together (0: unlimited).
    """

    dollars: float = 5.0
    tokens: int = 0
    concurrency: int = 4
    requests_a_minute: int = 0
