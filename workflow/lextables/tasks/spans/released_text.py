"""White space as the released code reads and writes it."""

import re

# What parts two words for it: no tab of another kind, and no other blank.
PARTING = " \t\r\n\u202f"
_PARTING = re.compile(f"[{PARTING}]+")


def collapsed(text: str) -> str:
    """Return ``text`` with a single blank wherever white space parts two words, as the release joins them."""
    return _PARTING.sub(" ", text)
