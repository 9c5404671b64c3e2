"""Types of the arguments and results of functions that rules call."""

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any


class Wildcards(SimpleNamespace):
    """The values of a rule's wildcards, such as ``wildcards.dataset``.

    Snakemake passes objects of its own class, with the same interface.  That class is
    not imported here, because scores in a notebook need no Snakemake.
    """

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the pairs of names and values."""
        return vars(self).items()


Files = list[str]  # paths: an input
Params = dict[str, Any]  # plain values, which Snakemake compares
Values = Mapping[str, Any]  # plain values that are only read
InputFunction = Callable[[Wildcards], Files]
Resource = Callable[[Wildcards, int], Any]  # its second argument is the attempt
