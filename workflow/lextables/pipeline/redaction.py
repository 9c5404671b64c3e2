"""Removes keys and passwords from logs, tracebacks and messages on the screen."""

import json
import logging
import os
import re
from pathlib import Path
from urllib.parse import quote

# Names of environment variables whose values are secrets: complete, or by the last word of a part.
_SECRET = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API_?KEY|CONNECTION_?STRING|WEBHOOK|COOKIE"
    r"|(?:(?:^|_|ACCESS|ACCOUNT|AUTH|ENCRYPTION|LICEN[CS]E|MASTER|PRIVATE|SIGNING)KEY|TOKEN|(?:^|_)(?:PAT|AUTH)"
    r"|(?<!COM)(?<!BY)PASS|(?<!^)(?<!OLD)PWD)(?:_?\d+|_ID|_B(?:ASE)?64)?$",
    re.IGNORECASE,
)
SHORTEST = 8  # minimum characters; shorter values may be common words
# A user name and password in a URL, such as a proxy's; as a path, it has a single slash.  A password may have
# a slash; a port is none.
_LOGIN = re.compile(
    r"(?<=[a-z0-9]:/)(/*)(?:[^/\s]+|[^/\s:]+:(?!\d+/)[^\s@]+)@", re.IGNORECASE
)
# A secret in the query or fragment of a URL.
_QUERY = re.compile(
    r"(?<=[?&;#])([\w.-]*(?:auth|code|credential|key|pass|pwd|secret|sig|signature|token)[\w.-]*=)"
    r"[^\s&;#'\"]*[^\s&;#'\".,:)]",
    re.IGNORECASE,
)
# The folders of an absolute path, in quotes or without blanks; a URL is none.
_FOLDERS = re.compile(r"(?<=['\"])~?/[^'\"\n]*/|(?<![\w/:.~'\"-])~?/(?:[^\s/'\"]+/)+")
ABOVE = "…/"


def redacted(text: str) -> str:
    """Return ``text`` with the values of secret variables replaced by their names, and URLs without secrets.

    A value is found as it is, line by line, and in the notations of JSON, Python and URLs.  The name of an
    existing file is not a secret.
    """
    secrets = {}
    for name, value in os.environ.items():
        is_file = value.startswith("/") and os.access(value, os.F_OK)
        if is_file or not _SECRET.search(name):
            continue
        for line in map(str.strip, value.splitlines()):
            if len(line) < SHORTEST:
                continue
            secrets[line] = name
            secrets[json.dumps(line)[1:-1]] = name
            secrets[repr(line)[1:-1]] = name
            secrets[quote(os.fsencode(line), safe="")] = name
    for value in sorted(secrets, key=len, reverse=True):
        text = text.replace(value, f"({secrets[value]})")
    return without_url_secrets(text)


def without_url_secrets(text: str) -> str:
    """Return ``text`` without the logins of URLs and the secrets in their queries."""
    return _QUERY.sub(r"\1(secret)", _LOGIN.sub(r"\1(login)@", text))


def without_folders(text: str) -> str:
    """Return ``text`` with absolute paths cut to the name of the file, for pages that other people read."""
    for folder in (Path.cwd(), Path.home()):
        if folder != folder.parent:
            text = text.replace(f"{folder}/", ABOVE)
    return _FOLDERS.sub(ABOVE, text)


class Redacting(logging.Formatter):
    """Formats log records, including tracebacks, as `redacted`."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
