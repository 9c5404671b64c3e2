"""The mistakes of `tests/workflow/mistakes.yaml`, and the section of the documentation that lists them.

PYTHONPATH=tests .venv/bin/python -m mistakes      rewrites the end of docs/troubleshooting.md
"""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/troubleshooting.md"
ALL = yaml.safe_load(
    (ROOT / "tests/workflow/mistakes.yaml").read_text(encoding="utf-8")
)
HEADING = "\n## Examples of error messages\n"


def page() -> str:
    """Return the page with its last section rewritten from the list."""
    text = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    entries = [
        f"- {each['did'].capitalize()}: `.venv/bin/{each['types']}`\n\n      {each['says']}\n"
        for each in ALL
    ]
    return "\n".join([text + HEADING, "`…` stands for text that differs.\n", *entries])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
