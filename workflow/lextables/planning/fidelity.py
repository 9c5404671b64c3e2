"""The tables of docs/fidelity.md: settings of a paper or its released code, next to the
settings in the registry.

    PYTHONPATH=workflow python -m lextables.planning.fidelity

writes the tables.  A test fails if they are not current.
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import TypeAdapter, model_validator

from lextables import ROOT
from lextables.pipeline.entries import Entry, content
from lextables.pipeline.errors import BadInput

PAGE = ROOT / "docs/fidelity.md"
SETTINGS = ROOT / "resources/fidelity.yaml"
START = "<!-- settings: written by lextables.planning.fidelity -->\n"
END = "<!-- end of settings -->\n"


class Setting(Entry):
    """A setting of a paper: the paper's value ``theirs`` with its ``source``, and ours.

    Our value is either in the registry at ``key``, and is compared with ``theirs``; or
    it is the text ``ours``, and ``same`` says whether it agrees.  A difference needs a
    reason, ``why``.
    """

    setting: str
    source: str
    theirs: Any
    key: str = ""
    ours: Any = None
    same: bool | None = None
    why: str = ""

    @model_validator(mode="after")
    def _check_ours(self) -> Self:
        has_ours = self.ours is not None
        has_same = self.same is not None
        is_text = not self.key
        if has_ours != is_text or has_same != is_text:
            raise ValueError(f"{self.setting!r} needs either a key, or ours and same")
        return self


def tables() -> str:
    """Return a table for each paper, as Markdown; `BadInput` for a difference without a
    reason.
    """
    settings = TypeAdapter(dict[str, list[Setting]]).validate_python(content(SETTINGS))
    lines = []
    for paper, rows in settings.items():
        registry = content(ROOT / f"resources/papers/{paper}.yaml")
        lines += [f"## {registry['title'].partition(':')[0]}", ""]
        lines += [
            "| setting | paper or released code | source | here | same |",
            "|---|---|---|---|---|",
        ]
        for row in rows:
            lines.append(_line(row, registry["tasks"]))
        lines.append("")
    return "\n".join(lines)


def _line(row: Setting, tasks: Mapping[str, Any]) -> str:
    """Return the line of a setting; `BadInput` for a difference without a reason."""
    ours = row.ours
    same = row.same
    if row.key:
        ours = _at(tasks, row.key)
        if isinstance(row.theirs, dict):
            ours = {name: ours.get(name) for name in row.theirs}
        same = ours == row.theirs
    shown_ours = _shown(ours)
    shown_theirs = _shown(row.theirs)
    if not same and not row.why:
        what = f"{row.setting!r} is {shown_ours}, not {shown_theirs}"
        raise BadInput(what, where=SETTINGS.name)
    verdict = "yes" if same else "no"
    if row.why:
        verdict += f": {row.why}"
    cells = [row.setting, shown_theirs, row.source, shown_ours, verdict]
    return f"| {' | '.join(cells)} |"


def _at(tasks: Mapping[str, Any], key: str) -> Any:
    """Return the setting at a dotted ``key``; `BadInput` if there is none."""
    value: Any = tasks
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            raise BadInput(f"there is no setting {key}", where=SETTINGS.name)
        value = value[part]
    return value


def _shown(value: Any) -> str:
    """Return a value of the registry as text."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(field)}" for name, field in value.items())
    if isinstance(value, list):
        return "; ".join(map(_shown, value))
    if isinstance(value, float):
        return f"{value:g}"
    if value is None:
        return "none"
    return str(value)


def page(text: str) -> str:
    """Return the page ``text`` with current tables."""
    before, _, rest = text.partition(START)
    return f"{before}{START}\n{tables()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
