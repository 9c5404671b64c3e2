"""Keys and passwords, kept out of what is written: logs with tracebacks, and sentences on the screen."""

import logging
import os
import re

# Variables of the environment whose values are secrets.
_SECRET = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE)$", re.IGNORECASE)
SHORTEST = 8  # characters; a shorter value may be any word
# A name and a password in an address, as of a proxy.
_LOGIN = re.compile(r"(?<=://)[^/\s@'\"]+@")


def redacted(text: str) -> str:
    """Return ``text`` with the names of secret variables for their values, and no login in an address."""
    secrets = {value: name for name, value in os.environ.items() if _SECRET.search(name)}
    for value in sorted(secrets, key=len, reverse=True):
        if len(value) >= SHORTEST:
            text = text.replace(value, f"({secrets[value]})")
    return _LOGIN.sub("(login)@", text)


class Redacting(logging.Formatter):
    """Writes each record of a log as `redacted`, with its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
