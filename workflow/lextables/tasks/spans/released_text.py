"""White space as in the released code."""

import re

# Its word separators.  Other white space, such as vertical tabs, does not separate words.
PARTING = " \t\r\n\u202f"
_PARTING = re.compile(f"[{PARTING}]+")


def collapsed(text: str) -> str:
    """Return ``text`` with a single blank for each run of separators, as the release joins words."""
    return _PARTING.sub(" ", text)
