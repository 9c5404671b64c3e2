"""Removes keys and passwords from logs, tracebacks and messages on the screen."""

import json
import logging
import os
import re
from pathlib import Path
from urllib.parse import quote

# Names of environment variables whose values are secrets.  The words of the first line
# may be anywhere in a name (MYSQL_PASSWORD_FILE).  The others must be at its end, or
# before a number or an ending such as _ID (GITHUB_TOKEN, SSH_KEY_2).
_SECRET = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API_?KEY|CONNECTION_?STRING|WEBHOOK|COOKIE"
    r"|(?:(?:^|_|ACCESS|ACCOUNT|AUTH|ENCRYPTION|LICEN[CS]E|MASTER|PRIVATE|SIGNING)KEY|TOKEN|PASSCODE|BEARER"
    r"|(?:^|_)(?:PAT|AUTH|SAS|PSK|OTP|TOTP|HMAC|PIN|PW|SIG)|JWT|SIGNATURE|MNEMONIC|(?:BIND|ROOT|ADMIN|USER|DB)PW"
    r"|AUTH_?CONFIG|(?<!COM)(?<!BY)PASS|(?<!^)(?<!OLD)PWD)(?:_?\d+|_ID|_PEM|_B(?:ASE)?64)?$",
    re.IGNORECASE,
)
SHORTEST = 8  # minimum characters; shorter values may be common words
# Words up to their last @.  Logins are looked for only in these: each search then ends
# at an @, so that the time grows only in proportion to the length of the text.
_WITH_AT = re.compile(r"(?<!\S)\S+@")
# A user name and password in a URL, such as a proxy's: https://user:secret@host.  A URL
# that was made a path has a single slash.  A password may have a slash; digits before
# one are a port instead.
_LOGIN = re.compile(
    r"(?<=[a-z0-9]:/)(/*)(?:[^/\s]+|[^/\s:]+:(?!\d+/)[^\s@]+)@", re.IGNORECASE
)
_HOST = re.compile(r"\S{0,300}")  # the host behind an @, and what follows it
# The same without a scheme: user:secret@, before a host with a point or a port, or
# localhost.
_BARE_LOGIN = re.compile(
    r"(?<![^\s'\"(])[\w.+%=-]+:[^\s@/'\"(]+@(?=[\w-]+(?:\.[\w-]|:[0-9]{2,5}\b)|localhost\b)"
)
# A parameter in the query or fragment of a URL, and the names of those that are
# secrets.
_QUERY = re.compile(r"(?<=[?&;#])([\w.-]+=)[^\s&;#'\"]*[^\s&;#'\".,:)]")
_SECRET_PARAMETER = re.compile(
    r"auth|code|credential|jwt|key|otp|pass|pwd|secret|sig|token|(?:^|[._-])(?:sas|sid|session|pw|pin)(?:$|[._=-])",
    re.IGNORECASE,
)
# The folders of an absolute path, in quotes or without blanks; a URL is none.
_FOLDERS = re.compile(r"(?<=['\"])~?/[^'\"\n]*/|(?<![\w/:.~'\"-])~?/(?:[^\s/'\"]+/)+")
ABOVE = "…/"


def redacted(text: str) -> str:
    """Return ``text`` with the values of secret variables replaced by their names, and
    URLs without secrets.

    A value is found as it is, line by line, and in the notations of JSON, Python and
    URLs.  The name of an existing file is not a secret.
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
    return _QUERY.sub(_without_value, _WITH_AT.sub(_without_login, text))


def _without_login(words: re.Match[str]) -> str:
    """Return words up to an @ (`_WITH_AT`) without logins."""
    # `_BARE_LOGIN` looks at the host, which follows the last @ and is not in the words.
    match = _HOST.match(words.string, words.end())
    host = match[0] if match else ""
    text = _BARE_LOGIN.sub("(login)@", _LOGIN.sub(r"\1(login)@", words[0]) + host)
    return text.removesuffix(host)


def _without_value(parameter: re.Match[str]) -> str:
    """Return a parameter of a URL (`_QUERY`), without its value if that is a secret."""
    if _SECRET_PARAMETER.search(parameter[1]):
        return f"{parameter[1]}(secret)"
    return parameter[0]


def without_folders(text: str) -> str:
    """Return ``text`` with absolute paths cut to the name of the file, for pages that
    other people read.
    """
    for folder in (Path.cwd(), Path.home()):
        if folder != folder.parent:
            text = text.replace(f"{folder}/", ABOVE)
    return _FOLDERS.sub(ABOVE, text)


class Redacting(logging.Formatter):
    """Formats log records, including tracebacks, without secrets (`redacted`)."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
