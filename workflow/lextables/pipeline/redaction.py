"""Keys and passwords, kept out of what is written: logs with tracebacks, and sentences on the screen."""

import json
import logging
import os
import re
from urllib.parse import quote

# The names of variables of the environment whose values are secrets, whole or by a word at the end of a part.
_SECRET = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API_?KEY|CONNECTION_?STRING|WEBHOOK|COOKIE"
    r"|(?:(?:^|_|ACCESS|ACCOUNT|AUTH|ENCRYPTION|LICEN[CS]E|MASTER|PRIVATE|SIGNING)KEY|TOKEN|(?:^|_)(?:PAT|AUTH)"
    r"|(?<!COM)(?<!BY)PASS|(?<!^)(?<!OLD)PWD)(?:_?\d+|_ID|_B(?:ASE)?64)?$",
    re.IGNORECASE,
)
SHORTEST = 8  # characters; a shorter value may be any word
# A name and a password in an address, as of a proxy.
_LOGIN = re.compile(r"(?<=://)[^/\s'\"]+@")


def redacted(text: str) -> str:
    """Return ``text`` with the names of secret variables for their values, and no login in an address.

    A value is found as it is, line by line, and as JSON, Python and addresses write it.  One that names a
    file here is none.
    """
    secrets = {
        written: name
        for name, value in os.environ.items()
        if _SECRET.search(name) and not (value.startswith("/") and os.access(value, os.F_OK))
        for line in value.splitlines()
        for plain in [line.strip()]
        for written in (plain, json.dumps(plain)[1:-1], repr(plain)[1:-1], quote(os.fsencode(plain), safe=""))
        if len(plain) >= SHORTEST
    }
    for value in sorted(secrets, key=len, reverse=True):
        text = text.replace(value, f"({secrets[value]})")
    return _LOGIN.sub("(login)@", text)


class Redacting(logging.Formatter):
    """Writes each record of a log as `redacted`, with its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
