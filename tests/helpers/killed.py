"""The end of a process at a chosen call, for tests of killed and resumed work."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Killed(Exception):
    """Simulates the end of the process."""


@contextmanager
def killed(owner: Any, name: str, call: int = 1) -> Iterator[None]:
    """End the block at the call number ``call`` (from 1) of ``owner.name``.

    The function is restored afterwards.  The test fails if the block ends otherwise.
    """
    original = getattr(owner, name)
    calls = itertools.count(1)

    def called(*arguments, **named):
        if next(calls) == call:
            raise Killed
        return original(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, called)
        with pytest.raises(Killed):
            yield
