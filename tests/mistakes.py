"""The mistakes of `tests/workflow/mistakes.yaml`: what each is answered with, and the page that lists them.

PYTHONPATH=tests .venv/bin/python -m mistakes      writes docs/mistakes.md
"""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/mistakes.md"
GROUPS: list[dict[str, Any]] = yaml.safe_load(
    (ROOT / "tests/workflow/mistakes.yaml").read_text(encoding="utf-8")
)
ALL: dict[str, dict[str, Any]] = {
    mistake["did"]: mistake for group in GROUPS for mistake in group["mistakes"]
}


def sentence(did: str, **place: Any) -> str:
    """Return the regular expression of the last line that a mistake ends with; `…` stands for anything.

    ``place`` says what stands for a word of it on this machine, such as ``data="/tmp/x"`` for `/data`.
    """
    # Each is made in a folder of its own, and the environment lies outside of it.
    said = ALL[did]["says"].replace(".venv/bin/snakemake --", "snakemake --")
    for word, there in place.items():
        said = re.sub(rf"(?<!\w)/{word}\b", str(there), said)
    return re.escape(said).replace("…", ".+")


def page() -> str:
    """Return the page for users, grouped as the list is."""
    lines = [
        "# What a sentence on the screen means",
        "",
        f"Each of these {len(ALL)} mistakes ends with one sentence, the last on the screen: what is wrong,",
        "where, and what to do. Search this page for words of the one that you see; `…` stands for what",
        "differs. The list is a test (`tests/workflow/mistakes.yaml`), and this page is made of it. How a",
        "run that was stopped or killed goes on is in [recovery.md](recovery.md).",
    ]
    for group in GROUPS:
        lines += ["", f"## {group['about']}", ""]
        for mistake in group["mistakes"]:
            typed = f" (`.venv/bin/{mistake['types']}`)" if "types" in mistake else ""
            lines += [f"- Who {mistake['did']}{typed} reads:", "", f"      {mistake['says']}", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
