"""Config keys, papers and targets that were removed (`resources/removed.yaml`)."""

from collections.abc import Iterable

import yaml

from lextables import ROOT
from lextables.pipeline.errors import BadInput

VERSION = "1.0"  # the first version without them
NAMES = ROOT / "resources/removed.yaml"


def check(names: Iterable[str], where: str) -> None:
    """Raise `BadInput` for the first of ``names`` that was removed; ``where`` is the
    place they are from.
    """
    reasons = yaml.safe_load(NAMES.read_text(encoding="utf-8"))
    for name in names:
        if name not in reasons:
            continue
        what = f"{name} was removed in {VERSION} ({reasons[name]})"
        raise BadInput(what, where=where, do="see CHANGELOG.md")
