"""Types of what functions of rules return."""

from collections.abc import Callable, Mapping
from typing import Any

from snakemake.iocontainers import Wildcards

Files = list[str]  # paths: an input
Params = dict[str, Any]  # plain values, which Snakemake compares
Values = Mapping[str, Any]  # plain values that are only read
InputFunction = Callable[[Wildcards], Files]
Resource = Callable[[Wildcards, int], Any]  # its second argument is the attempt
