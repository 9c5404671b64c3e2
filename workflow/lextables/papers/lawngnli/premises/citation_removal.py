"""LawngNLI, Appendix A.1.9: in-line citations taken out of premises.

eyecite finds the citations of a paragraph.  Around each citation, this module finds the
case name before it, and the pincites (cited pages), year and parentheticals after it.
It joins citations that follow each other into a string, and removes the string by its
role in the sentence:

- a *citation sentence* ("... held so. See Roe v. Wade, 410 U.S. 113, 153 (1973); id. at
  155. The ...")  goes whole, with its signal and its full stop;
- a *citation clause* ("a right, Roe v. Wade, 410 U.S. 113 (1973), that ...") goes with
  its signal and the comma or semicolon before it, and in parentheses with the
  parentheses;
- citations that are *part of the sentence* ("In Roe v. Wade, 410 U.S. 113 (1973), the
  Court held") keep the names of the cases and lose the rest.  A citation without a
  name, such as a statute ("under 42 U.S.C. 1983"), stays, because the sentence would
  not read without it.  Named cases between commas that are the subject of a verb
  ("Thereafter, Roe v. Wade, 410 U.S. at 153, held") also keep their names; the released
  code removes the subject of such a sentence.

`remove_citations` does this for a text, `removed_spans` for a paragraph, and `_removed`
decides what a string of citations is.

The released code sorts citations in the same way, by the punctuation before them, but
one by one.  Its errors: a string of citations leaves the words between its members, the
pincites of short forms stay, a field such as the year is cut at its first occurrence
anywhere after the citation, section signs and statutes go from the middle of sentences,
and every "|" of the text is lost.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, zip_longest
from operator import itemgetter

from eyecite.models import (
    CitationBase,
    FullCaseCitation,
    FullJournalCitation,
    FullLawCitation,
    IdCitation,
    ReferenceCitation,
    ShortCaseCitation,
    SupraCitation,
)
from eyecite.tokenizers import Tokenizer

from lextables.papers.lawngnli.citations.resolution import citations_of, searchable
from lextables.papers.lawngnli.citations.resolution import tokenizer as hyperscan
from lextables.papers.lawngnli.dataset.support import figures
from lextables.papers.lawngnli.hypotheses import morphology

_REMOVED = (
    FullCaseCitation,
    FullJournalCitation,
    FullLawCitation,
    IdCitation,
    ReferenceCitation,
    ShortCaseCitation,
    SupraCitation,
)
_NAMED = (FullCaseCitation, ShortCaseCitation, SupraCitation)  # may follow a case name

# What introduces a citation (Bluebook rule 1.2), longest first.
_SIGNALS = (
    "see also, e.g.,",
    "see, e.g.,",
    "see e.g.,",
    "see also",
    "see generally",
    "see",
    "but see, e.g.,",
    "but see",
    "but cf.",
    "cf.",
    "accord,",
    "accord",
    "compare, e.g.,",
    "compare",
    "contra,",
    "contra",
    "e.g.,",
    "with",
)
# What joins one citation to the next in a string.
_JOINTS = (
    *_SIGNALS,
    "and",
    "citing",
    "quoting",
    "quoted in",
    "cited in",
    "in turn",
    "following",
    "aff'd per curiam,",
    "aff'd sub nom.",
    "aff'd,",
    "aff'd",
    "affirmed,",
    "rev'd sub nom.",
    "rev'd on other grounds,",
    "rev'd,",
    "rev'd",
    "vacated,",
    "modified,",
    "overruled on other grounds,",
    "cert. denied sub nom.",
    "cert. denied,",
    "cert. granted,",
    "cert. dismissed,",
    "rehearing denied,",
    "reh'g denied,",
    "appeal dismissed,",
    "appeal pending,",
    "appeal docketed,",
    "prob. juris. noted,",
)


def _alternatives(phrases: Iterable[str]) -> str:
    """Return a pattern of these phrases, in any white space and with either
    apostrophe.
    """
    longest_first = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    patterns = (
        re.escape(phrase).replace("'", "['’]").replace(r"\ ", r"\s+")
        for phrase in longest_first
    )
    return "|".join(pattern.replace(r"e\.g\.", r"e\.\s?g\.") for pattern in patterns)


_LONGEST_SIGNAL = 24  # characters
_SIGNAL_BEFORE = re.compile(rf"(?<!\w)(?:{_alternatives(_SIGNALS)})\s*$", re.IGNORECASE)
_JOINT = re.compile(
    rf"[\s,;]*+(?:(?<!\w)(?:{_alternatives(_JOINTS)})(?!\w)[\s,;]*+)*+", re.IGNORECASE
)

# Possessive quantifiers (*+ and ++) keep the time linear: what follows white space is
# never white space, so no shorter match has to be tried.
_PAGE = r"\*?(?:[A-Z]-)?\d+[a-z]?\b(?:\s*+[-–—]\s*+\*?(?:[A-Z]-)?\d+[a-z]?\b)?"
_NOTE = (
    r"(?:,?\s*+(?:and\s++)?&?\s*+(?:n\.?\s*+\d+|nn\.?\s*+\d+(?:\s++(?:and\s++)?\d+(?!\w))?)"
    r"(?:\s*+[-–—,]\s*+\d+(?!\w))*)"
)
# "§ 20 of the Criminal Code" is a section of that code, and not of the cited work.
_SECTION = r"(?:,?\s+(?:§§?|¶¶?)\s*\d[\w.()-]*\w(?!\s+of\b|\w))"
# "§§ 1471.2(b), 1473.25, and 1475.3(a)": a number with a full stop or parentheses
# inside is a section too.
_MORE_SECTIONS = r"(?:,\s+(?:and\s+|or\s+)?\d[\w-]*(?:\.\d[\w-]*|\(\w+\))+)"
# A number after the comma is a page only where the citation goes on or ends.
_PINCITES = re.compile(
    rf"(?:(?<=\bat\s)|,?\s+at\s+(?:pp?\.\s*)?|,\s*|\s*[-–—]\s*){_PAGE}"
    rf"(?={_NOTE}|\s*(?:$|[,;:?!\])(\[—]|\.(?!\d)|and\b|&))|{_NOTE}|{_SECTION}|{_MORE_SECTIONS}"
)
_PARENTHETICAL = re.compile(
    r"\s*+(?:\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\)|\[\(\d{4}\)\])"
)
# Cross-references inside the same report, which eyecite does not look for, and an
# "Ibid." that it misses.
_CROSS_REFERENCE = re.compile(
    r"(?<!\w)(?:(?:ante|post|infra|supra)(?:"
    rf"\s*+,?\s*+(?:at(?:\s++pp?\.)?|pp?\.)\s*(?:{_PAGE}(?:,\s*+{_PAGE})*{_NOTE}?)?"
    rf"|{_NOTE}|,?\s+this\s+page\b{_NOTE}?|(?<=see infra|see supra)(?=\.))"
    r"|(?:Id|Ibid)\.(?=,\s*(?:quoting|citing)\b))",
    re.IGNORECASE,
)
_SUPRA_BEFORE = re.compile(r"(?<!\w)supra,\s*$")
_PAGE_LABEL = re.compile(r"(?<!\w)(?:Pp?\.|Pages?)\s*$")
# Author and title of an article.  They are recognised after a signal only, where
# nothing but a citation can stand.
_LONGEST_TITLE = 300  # characters
_ARTICLE = re.compile(
    rf"(?:^|[.;:?!\])\"”’]\s*)(?:{_alternatives(_SIGNALS)})\s+"
    r"(?P<article>[^\W\d][^;?!]*?,\s(?:to be published in\s)?)$",
    re.IGNORECASE,
)

_LONE_STOP = re.compile(r"\.(?!\.)")
_PAIRS = ("()", "[]")
# Words of the signals, and small words of case names.
_IN_STRINGS = frozenset(" ".join(_SIGNALS).replace(",", "").split())
_NAME_JOINTS = frozenset(
    "v. vs. of the and for ex rel rel. parte re de la du von van et al. & on".split()
)
# Words in lower case that a string of citations may have; none of them is a verb.
_LOWER_CASE = (
    _NAME_JOINTS
    | _IN_STRINGS
    | frozenset(
        "aff'd at c. cert. cited citing denied in n. nn. no. nom. pending quoting rev'd sub".split()
    )
)
# What may follow a comma inside a name: "Acme, Inc.".
_COMPANY = re.compile(
    r"(?:Inc|Ltd|Co|Corp|LLC|L\.L\.C|LLP|S\.A|N\.A|P\.C|Jr|Sr|II|III)\.?,?$"
)
# "Atchison, T. & S. F. R. Co.", "Chicago, M., St. P. & P. R. Co."
_INITIALS = re.compile(r"[A-Z]\.,?$|St\.$")
# Abbreviations before numbers and dates; and beginnings of a sentence, which are not
# numbers or small letters.
_BEFORE_NUMBERS = re.compile(
    r"(?:^|[.(\[])(?:Arts?|Tit|[Cc]h|[Cc]|[Cc]ls?|nn?|pp?|[Pp]ts?|[Ss]ecs?|Stat|seq|Vol|Jan|Feb|Mar|Apr|Aug|Sept?"
    r"|Oct|Nov|Dec|Supp|Rev|Ann|App|Cas|Doc|Reps?|Sens?|L)\.$"
)
_OPENS_SENTENCE = re.compile(r"[\"“‘'(\[]*[A-Z](?![IVXLC]*[.,;]?$)|[IA]$|[*§]")
# A word that ends in a full stop and yet does not end a sentence: initials, words with
# a full stop inside ("H.R.Conf.Rep."), and what names abbreviate.
_ABBREVIATION = re.compile(
    r"[A-Z]\.$|(?<![\w.])(?=[\w.]*+(?<=\.)$)[\w.]*?(?<![A-Za-z])[a-z]*+[A-Z][A-Za-z]*+\.[A-Z]"
    r"|(?:Inc|Ltd|Co|Corp|Cos|Bros|Assn|Ass[’']n|Dept|Dep[’']t|Comm|Comm[’']n|Commr|Comm[’']r"
    r"|Intl|Int[’']l|Natl|Nat[’']l|Govt|Gov[’']t|Mfg|Mfrs|Ins|Ry|No|Nos|Dist|Cty|Cnty|Ct|Educ|Elec|Tel|Pac|Ste?|Mr"
    r"|Mrs|Ms|Dr|Jr|Sr|Univ|Sch|Bd|Auth|Hosp|Indus|Eng[’']g|Fed|Fin|Sav|Prods|Prod|Serv|Servs|Sec|Sys|Tech"
    r"|Transp|Util|Wash|Cal|Ill|Mass|Mich|Minn|Miss|Pa|Tex|Va|Fla|Ga|Ala|Ariz|Ark|Colo|Conn|Del|Ind|Kan|Ky"
    r"|La|Md|Me|Mo|Mont|Neb|Nev|Okla|Ore|Tenn|Vt|Wis|Wyo|Am|Broad|Chem|Constr|Dev|Distrib|Equip|Exch|Gen"
    r"|Acad|Admin|Bldg|Cent|Coll|Consol|Coop|Fid|Found|Guar|Hous|Indem|Inst|Lab|Mach|Mem|Merch|Metro|Mun"
    r"|Mut|Nat|Org|Petrol|Pub|R\.R|Reg[’']l|Rel|S\.S|Soc[’']y|Twp|Ent|Att[’']y|v|vs|al|rel)\.$"
)
_OPENED_NAME = re.compile(r"[(\[\"“‘'][A-Z]")
_FORENAME = re.compile(r"\([A-Z]\w+\)$")  # "Roberts (Harry) v. Louisiana"
# Words that begin a sentence or a clause, and no name, although they have a capital.
_NOT_A_NAME = frozenset(
    "in see under compare cf. accord but also contra with by from as to when where while since although "
    "because thus moreover further furthermore however indeed similarly likewise finally "
    "and both after before unlike like".split()
)
_CLOSERS = "\"'”’)] "
_ENDS = ".?!"
# After a citation between commas: adverbs, and a word that may be the verb of which it
# is the subject.
_VERB = re.compile(
    r",\s+(?:(?:also|then|thus|too|itself|later|however|likewise|never|first|\w+ly),?\s+)*(?P<verb>[a-z]+)\b"
)
_AUXILIARIES = frozenset(
    "is are was were has have had do does did can could may might must shall should will would cannot".split()
)
# What may open a sentence before its subject: an adverb, or a phrase of a preposition.
_OPENING = re.compile(
    r"(?:[A-Z][a-z]+ly|Accordingly|Again|Also|Besides|Further|Furthermore|Hence|Here|However|Indeed|Instead"
    r"|Later|Likewise|Moreover|Nevertheless|Nonetheless|Now|Otherwise|Still|Then|Thereafter|Thus|Today|Too"
    r"|(?:After|At|By|For|In|Of|On)(?: [a-z]+){1,2}),\s*"
)
_LAST_CLAUSE = re.compile(r"(?:^|[.?!][\"'”’)\]]*+\s++)\s*+(?P<clause>[^.?!,;]*+,)$")
# What stands between a case and the verb of which it is the subject: "which is old",
# "and its progeny".
_GOES_ON = re.compile(
    r",\s+(?:which|whose|(?:and|or)\s+(?:its|the|other|similar|later|subsequent))\b"
)
# Words that the lexicon has as verbs too, but that are no verbs after a citation.
_NO_VERBS = frozenset(
    "adhered aff affirmed and as both but cited decided enforced even given in like modified near or "
    "out over overruled past quoted rev reversed save see so still than though under up vacated while "
    "yet".split()
)
_FOOTNOTE_MARK = re.compile(
    r"^\s*+\[Footnote (?:\d+/)?[\d*]+\]\s*|(?:(?<!\s)\s++)?\[Footnote (?:\d+/)?[\d*]+\]"
)
# The mark of a footnote, after a sentence or before the note's own text.
_LONGEST_FOOTNOTE = 100
_FOOTNOTE = re.compile(
    r"(?:(?:(?<!\s)\s++)?\[(?:Footnote )?(?:\d+/)?[\d*]+\]|(?<=[.?!\"”’)\]])\d{1,3}|^\s*\d{1,3})$"
)


@dataclass(frozen=True)
class _Cite:
    """A citation, by offsets in its paragraph."""

    name: int
    """Where the case name begins; ``start`` if there is none."""
    name_end: int
    """Where the case name ends, without the comma after it; ``name`` if there is
    none.
    """
    start: int
    """Where the citation itself begins."""
    end: int
    """Where it ends, with pincites and parentheticals."""
    label: bool
    """Whether it is a page label of the report itself ("Page 410 U.S. 114")."""


def remove_citations(text: str, tokenizer: Tokenizer | None = None) -> str:
    """Return ``text`` without the in-line citations that can be removed (A.1.9).

    Characters are only taken out, never added.  A paragraph is a line; a paragraph of
    nothing but citations is removed with its line.  ``tokenizer`` is eyecite's, by
    default `resolution.tokenizer`.
    """
    paragraphs = []
    for paragraph in text.split("\n"):
        shorter = _without(paragraph, removed_spans(paragraph, tokenizer))
        if shorter.strip() or not paragraph.strip():
            paragraphs.append(shorter)
    return "\n".join(paragraphs)


def keeps_figures_of(premise: str, hypothesis: str) -> bool:
    """Return whether the premise without its citations has every figure of the
    hypothesis.
    """
    stated = figures(hypothesis)
    if not stated:
        return True
    # Looking for citations takes long, and most premises lack a figure anyway.
    if not stated <= figures(premise):
        return False
    return stated <= _figures_without_citations(premise)


# One Neutral candidate is compared with many hypotheses.
@lru_cache(1024)
def _figures_without_citations(premise: str) -> frozenset[str]:
    return frozenset(figures(remove_citations(premise)))


def removed_spans(
    paragraph: str, tokenizer: Tokenizer | None = None
) -> list[tuple[int, int]]:
    """Return the (start, end) spans to take out of one paragraph, ascending and without
    overlap.
    """
    if not paragraph.strip():
        return []
    cites = _cites(paragraph, tokenizer or hyperscan())
    chain_spans: list[tuple[int, int]] = []
    for chain in _chains(paragraph, cites):
        chain_spans += _removed(paragraph, chain)
    citations = _merged(chain_spans)
    # What goes with the citations: marks of footnotes, sentences of which only names
    # are left, and full stops that would be doubled.
    spans = [match.span() for match in _FOOTNOTE_MARK.finditer(paragraph)]
    if citations:
        spans += _names_alone(paragraph, citations)
    for start, end in citations:
        # A name that ends in an abbreviation brings a full stop of its own.
        if paragraph[:start].endswith(".") and _LONE_STOP.match(paragraph, end):
            spans.append((end, end + 1))
    return _merged([*citations, *spans])


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ``spans``, ascending, without empty ones; spans that overlap or touch are
    joined.
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged:
            first, last = merged[-1]
            if start <= last:
                merged[-1] = first, max(end, last)
                continue
        if start < end:
            merged.append((start, end))
    return merged


def _names_alone(
    paragraph: str, citations: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the sentences of which nothing but names is left once ``citations`` are
    taken out.

    Such a sentence is a string of citations, of which eyecite does not know all: "See
    Koch v. Poe, 1 Cal. 2d 3; Act of June 24, 1948, c. 5."
    """
    positions: list[int] = []  # of the characters of ``shorter`` in the paragraph
    gaps = set()  # offsets in ``shorter`` where a citation was
    kept_from = 0
    for start, end in citations:
        positions += range(kept_from, start)
        gaps.add(len(positions))
        kept_from = end
    positions += range(kept_from, len(paragraph))
    shorter = _without(paragraph, citations)
    for start, end in _sentences(shorter):
        text = shorter[start:end]
        is_balanced = all(text.count(pair[0]) == text.count(pair[1]) for pair in _PAIRS)
        if not is_balanced or not all(map(_is_name, text.split())):
            continue
        if gaps.isdisjoint(range(start + 1, end)):
            continue
        before = len(shorter[:start].rstrip())
        first = 0
        if before:
            first = positions[before]
        yield first, positions[end - 1] + 1


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the sentences of ``text`` that have a full stop begin and end."""
    start = None
    words = list(re.finditer(r"\S+", text))
    for word, following in zip_longest(words, words[1:]):
        start = word.start() if start is None else start
        bare = word.group().rstrip(_CLOSERS)
        if len(bare) < 2 or bare[-1] not in _ENDS or bare.lower() in _IN_STRINGS:
            continue
        abbreviated = bare[-2:] != ".." and (
            _ABBREVIATION.search(bare) or _BEFORE_NUMBERS.search(bare)
        )
        if following is None or (
            not abbreviated and _OPENS_SENTENCE.match(following.group())
        ):
            yield start, word.end()
            start = None


def _is_name(word: str) -> bool:
    """Return whether ``word`` can stand in a string of citations: a capital, a number,
    a signal or "of".
    """
    bare = word.strip("\"“”'‘’()[],;.")
    return not bare[:1].islower() or not _LOWER_CASE.isdisjoint((bare, f"{bare}."))


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` without ``spans``, which are in order."""
    pieces = []
    piece_start = 0
    for start, end in spans:
        pieces.append(text[piece_start:start])
        piece_start = end
    return "".join([*pieces, text[piece_start:]])


def _cites(paragraph: str, tokenizer: Tokenizer) -> list[_Cite]:
    """Return the citations and cross-references of a paragraph, ascending and without
    overlap.
    """
    spans: list[tuple[int, int, type[CitationBase] | None]] = []
    for citation in citations_of(searchable(paragraph), tokenizer):
        # eyecite's own full span is not used: its end can run over the next citation,
        # and its start, where the name holds no "v.", into the sentence before.
        if isinstance(citation, _REMOVED):
            spans.append((*_core(citation), type(citation)))
    for match in _CROSS_REFERENCE.finditer(paragraph):
        spans.append((*match.span(), None))
    cites: list[_Cite] = []
    last = 0  # where the citation before ends, with its parentheticals
    for start, end, kind in sorted(spans, key=itemgetter(0, 1)):
        if end <= last:
            continue
        start = max(start, last)
        # A "supra," before a citation and the "Page" of a page label are parts of it.
        supra = _SUPRA_BEFORE.search(paragraph, last, start)
        if supra:
            start = supra.start()
        label = _PAGE_LABEL.search(paragraph, last, start)
        if label:
            start = label.start()
        name = start
        name_end = start
        if kind in _NAMED or kind is None:
            name, name_end = _name(paragraph, last, start)
            # Before a cross-reference only a name with "v." is surely one.
            if kind is None and " v. " not in paragraph[name:name_end]:
                name = start
                name_end = start
        elif kind is FullJournalCitation:
            article = _article(paragraph, last, start)
            if article:
                name = article
                name_end = article
        last = _tail(paragraph, end)
        cites.append(_Cite(name, name_end, start, last, label is not None))
    return cites


def _core(cite: CitationBase) -> tuple[int, int]:
    """Return the span of a citation without name, pincites and parentheticals."""
    start, end = cite.span()
    if isinstance(cite, SupraCitation):  # its span has the mark after it
        end = start + len(cite.matched_text().rstrip(" ,."))
    return start, end


def _article(paragraph: str, begin: int, start: int) -> int | None:
    """Return where author and title of the article cited at ``start`` begin, if a
    signal shows it.
    """
    match = _ARTICLE.search(paragraph, max(begin, start - _LONGEST_TITLE), start)
    if match is None:
        return None
    return match.start("article")


def _tail(paragraph: str, end: int) -> int:
    """Return where the pincites, footnotes and parentheticals that follow ``end`` are
    over.
    """
    while True:
        match = _PINCITES.match(paragraph, end) or _PARENTHETICAL.match(paragraph, end)
        if match is None or match.end() == end:
            return end
        end = match.end()


def _name(paragraph: str, begin: int, start: int) -> tuple[int, int]:
    """Return where the case name right before ``start`` begins and ends; (start, start)
    if none is there.

    The name is the run of capitalised words and of the small words of names that ends
    at the comma (or, for "supra", at the space) before the citation.
    """
    before = paragraph[begin:start].rstrip()
    if not before.endswith(","):
        return start, start
    words = list(re.finditer(r"\S+", before[:-1]))
    # A comma may stand inside the defendant's name, which the "v." before it shows.
    first, versus = _walk(words, len(words), commas=True)
    first, _ = _walk(words, versus if versus is not None else len(words), commas=False)
    while first < len(words) and not _begins_name(words, first):
        first += 1
    if first == len(words):
        return start, start
    opened = _OPENED_NAME.match(words[first].group())
    return begin + words[first].start() + bool(opened), begin + words[-1].end()


def _walk(
    words: list[re.Match[str]], first: int, *, commas: bool
) -> tuple[int, int | None]:
    """Walk left from ``words[first]`` while the words can belong to one case name.

    Returns the first word reached, and the index of the last "v." passed, None if there
    is none; with ``commas``, the walk ends at that "v." and goes past commas.
    """
    while first > 0:
        word = words[first - 1].group()
        following = words[first].group() if first < len(words) else None
        if following is not None and _breaks(word, following, commas):
            break
        if word in ("v.", "vs.") and following is not None:
            if commas:
                return first - 1, first - 1
        elif not (
            _FORENAME.match(word)
            or word[0].isupper()
            or word[0].isdigit()
            or word.rstrip(",") in _NAME_JOINTS
        ):
            if _OPENED_NAME.match(
                word
            ):  # a name that begins a quotation or a parenthesis
                first -= 1
            break
        first -= 1
    return first, None


def _breaks(word: str, following: str, commas: bool) -> bool:
    """Return whether a case name cannot have ``word`` and then ``following``."""
    if word[-1] == ",":
        return not (
            commas
            or _COMPANY.match(following)
            or _INITIALS.match(following)
            or following == "ex"
        )
    if word[-1] == ".":
        # On the way to a "v." a short word with a full stop is taken for an
        # abbreviation.
        return not (
            _ABBREVIATION.search(word)
            or following in ("v.", "vs.")
            or (commas and len(word) <= 5)
        )
    return word[-1] in ';:?!"”)]' and not (_FORENAME.match(word) and following == "v.")


def _begins_name(words: list[re.Match[str]], place: int) -> bool:
    """Return whether a case name can begin with the word at ``place``."""
    written = words[place].group()
    word = written.lower().rstrip(",")
    for following in words[place + 1 : place + 2]:
        if (word, following.group().lower()) in (("in", "re"), ("ex", "parte")):
            return True
    if written[0].isupper() and word not in _NOT_A_NAME:
        return True
    return bool(_OPENED_NAME.match(word.title())) and word[1:] not in _NOT_A_NAME


def _chains(paragraph: str, cites: list[_Cite]) -> Iterator[list[_Cite]]:
    """Yield the strings of citations: citations with nothing between them but words and
    marks that join citations (`_JOINTS`).
    """
    chain: list[_Cite] = []
    for cite in cites:
        if chain and not _JOINT.fullmatch(paragraph, chain[-1].end, cite.name):
            yield chain
            chain = []
        chain.append(cite)
    if chain:
        yield chain


def _removed(paragraph: str, chain: list[_Cite]) -> list[tuple[int, int]]:
    """Return the spans to take out for one string of citations.

    The cases are tried in this order: citation sentence, in parentheses, citation
    clause, part of the sentence.
    """
    start, signalled = _signal(paragraph, chain[0].name)
    end = chain[-1].end
    before = paragraph[:start].rstrip()
    after = paragraph[end:]
    following = after.lstrip()[:1]
    if _opens_sentence(before) and _ends_sentence(paragraph, end, signalled):
        return [_sentence(paragraph, start, end)]
    if before.endswith("(") and following == ")":
        opening = len(before[:-1].rstrip())
        closing = end + after.index(")") + 1
        return [(opening, closing)]
    unquoted = before.rstrip(_CLOSERS)
    follows_comma = before.endswith((",", ";")) or unquoted.endswith((",", ";"))
    is_clause = follows_comma and following in ("", *",;.?!:)–—-")
    if is_clause and (signalled or not _is_subject(paragraph, chain, before, after)):
        return _clause(paragraph, before, end, following)
    return list(_inside_sentence(paragraph, chain))


def _is_subject(paragraph: str, chain: list[_Cite], before: str, after: str) -> bool:
    """Return whether the cases of a string may be a subject, as in "Later, Roe v. Wade,
    410 U.S. 113, held".

    The first case has a name, semicolons do not join the citations, and after the comma
    comes a finite verb, maybe after adverbs.  A citation after a quotation is the
    source of the quotation and no subject.  If the sentence has only an opening phrase
    before the citations ("Of course, ..."), semicolons may join them, the name may be
    missing, and more words may precede the verb.
    """
    match = _VERB.match(after)
    if before[-1] not in ",;":
        return False
    opens = _opens(before)
    if chain[0].name == chain[0].name_end and not opens:
        return False
    if opens and _GOES_ON.match(after):
        return True
    if match is None:
        return False
    if not opens and any(
        ";" in paragraph[cite.end : following.name]
        for cite, following in pairwise(chain)
    ):
        return False
    word = match["verb"]
    return word in _AUXILIARIES or (
        word not in _NO_VERBS and not word.endswith("ing") and morphology.is_verb(word)
    )


def _opens(before: str) -> bool:
    """Return whether the last sentence of ``before`` has nothing but an opening phrase
    (`_OPENING`).
    """
    last_end = max(before.rfind(mark) for mark in _ENDS)
    match = _LAST_CLAUSE.search(before, max(0, last_end))
    return match is not None and _OPENING.fullmatch(match["clause"]) is not None


def _inside_sentence(paragraph: str, chain: list[_Cite]) -> Iterator[tuple[int, int]]:
    """Yield the spans to take out of citations that are part of their sentence: all but
    the names.
    """
    gone = None  # the end of the citation before, if that was taken out
    for cite in chain:
        if cite.name < cite.name_end:
            yield cite.name_end, cite.end
        elif cite.label:
            yield len(paragraph[: cite.start].rstrip()), cite.end
            continue
        elif gone is not None and "and" not in paragraph[gone : cite.name].split():
            yield (
                gone,
                cite.end,
            )  # a parallel or a later citation of the case just named
        else:
            gone = None
            continue
        gone = cite.end


def _signal(paragraph: str, start: int) -> tuple[int, bool]:
    """Return where the signal before ``start`` begins, and whether there is one."""
    match = _SIGNAL_BEFORE.search(paragraph, max(0, start - _LONGEST_SIGNAL), start)
    if match is None:
        return start, False
    return match.start(), True


def _opens_sentence(before: str) -> bool:
    """Return whether the text before a citation ends with the end of a sentence."""
    footnote = _FOOTNOTE.search(before, max(0, len(before) - _LONGEST_FOOTNOTE))
    if footnote:
        before = before[: footnote.start()]
    bare = before.rstrip(_CLOSERS)
    return not before or (bare != "" and bare[-1] in _ENDS)


def _ends_sentence(paragraph: str, end: int, signalled: bool) -> bool:
    """Return whether a sentence that began with a citation ends with it."""
    after = paragraph[end:]
    following = after.lstrip()
    if not following or following[0] in ".;?!":
        return True
    # "Ibid." and "Id." bring their own full stop; the next sentence then begins with a
    # capital.
    own_stop = paragraph[end - 1] in ".)" and after[0].isspace()
    return own_stop and (
        following[0].isupper() or following[0] in "\"“'‘([" or following[0].isdigit()
    )


def _sentence(paragraph: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a citation sentence, with its stop and the space before it."""
    stop = re.compile(r"\s*[.;?!]").match(paragraph, end)
    if stop:
        end = stop.end()
    while start > 0 and paragraph[start - 1].isspace():
        start -= 1
    if start == 0:
        end += len(paragraph[end:]) - len(paragraph[end:].lstrip())
    return start, end


def _clause(
    paragraph: str, before: str, end: int, following: str
) -> list[tuple[int, int]]:
    """Return the spans of a citation clause and of one of the two punctuation marks
    around it, which would otherwise be doubled.

    ``before`` is the text before the clause, ``following`` the mark after it or empty.
    """
    mark_after = end + len(paragraph[end:]) - len(paragraph[end:].lstrip())
    if before[-1] in ",;":
        if following == "":
            return [(len(before), end)]
        return [(len(before) - 1, mark_after)]
    # The mark before the clause stands inside a closing quotation mark.  It stays,
    # unless the mark after the clause is stronger than a comma.
    mark_before = len(before.rstrip(_CLOSERS)) - 1
    if following == ",":
        return [(len(before), mark_after + 1)]
    if not following:
        return [(len(before), end)]
    return [(mark_before, mark_before + 1), (len(before), mark_after)]
