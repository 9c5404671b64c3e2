"""The mistakes of `tests/workflow/mistakes.yaml`, and the page that lists them.

PYTHONPATH=tests .venv/bin/python -m mistakes      writes docs/mistakes.md
"""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/mistakes.md"
ALL = yaml.safe_load((ROOT / "tests/workflow/mistakes.yaml").read_text(encoding="utf-8"))
INTRODUCTION = """# Error messages

A run that fails ends with one sentence as the last line: what is wrong, where, and how to fix it. These are
examples; `…` stands for what differs. How a run that was killed continues is in [recovery.md](recovery.md).
"""


def page() -> str:
    entries = [
        f"- Who {each['did']} (`.venv/bin/{each['types']}`) reads:\n\n      {each['says']}\n" for each in ALL
    ]
    return "\n".join([INTRODUCTION, *entries])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
