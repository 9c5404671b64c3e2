"""Records the seeds that the parts of a training receive."""

import inspect
from types import ModuleType

import pytest


def record_seeds(
    monkeypatch: pytest.MonkeyPatch, *parts: tuple[ModuleType | type, str]
) -> dict[str, set[int]]:
    """Return {name of a part: seeds}, filled by each later call of these functions or
    classes.

    ``parts`` are the places where a training looks them up, with their names; each has
    the parameter ``seed``.
    """
    seeds: dict[str, set[int]] = {}

    def record(place: ModuleType | type, name: str) -> None:
        part = getattr(place, name)
        parameters = inspect.signature(part)
        seeds[name] = set()

        def recorded(*args, **kwargs):
            bound = parameters.bind(*args, **kwargs)
            seeds[name].add(bound.arguments.get("seed", bound.kwargs.get("seed")))
            return part(*args, **kwargs)

        monkeypatch.setattr(place, name, recorded)

    for place, name in parts:
        record(place, name)
    return seeds
