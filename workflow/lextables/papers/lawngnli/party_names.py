"""LawngNLI, Appendix A.1.2: the parties in the name of a case, so that two names can be compared."""

import re

_VERSUS = re.compile(r"\s(?:v|vs|versus|against)\.?\s", re.IGNORECASE)
# The words that say only on which side a party stands.  The released code has the first six.
_ROLES = re.compile(
    r"\b(?:plaintiff|defendant|petitioner|respondent|appellant|appellee|cross(?=-)|in error|et al|et ux)s?\b"
)
_NOT_A_LETTER = re.compile(r"[^\w]+")


def parties(name: str) -> tuple[str, ...]:
    """Return the parties that a case's name names, in its order, in a form that can be compared.

    Lower case, without the words for their roles and without punctuation: ``("roe", "wade")`` for
    ``ROE, Plaintiff-Appellant, v. WADE, Appellee``.
    """
    sides = (_NOT_A_LETTER.sub(" ", _ROLES.sub(" ", side.lower())).strip() for side in _VERSUS.split(name))
    return tuple(side for side in sides if side)
