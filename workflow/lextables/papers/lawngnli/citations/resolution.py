"""LawngNLI, Appendix A.1.1: the citations of an opinion, found by eyecite and resolved
to cases.

eyecite is run paragraph by paragraph with its Hyperscan tokenizer, on a slightly
changed text: characters that Hyperscan cannot count are replaced one by one, and the
court and date of a citation are rewritten in place (see `searchable`), so that every
offset holds in the opinion's text. Short forms ("id.", "supra", "410 U.S. at 153") are
resolved over the whole opinion, in its order.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from platform import machine
from typing import ClassVar

from eyecite import get_citations, resolve_citations
from eyecite.models import (
    CaseCitation,
    CitationBase,
    CitationToken,
    FullCaseCitation,
    FullCitation,
    IdCitation,
    ParagraphToken,
    PlaceholderCitationToken,
    ResourceCitation,
    ShortCaseCitation,
    StopWordToken,
    SupraCitation,
    Token,
    Tokens,
)
from eyecite.tokenizers import HyperscanTokenizer, Tokenizer

from lextables.papers.lawngnli.citations.case_index import (
    page_key,
    reporter_name,
    volume_key,
)
from lextables.papers.lawngnli.citations.pincites import BEFORE_PARALLEL
from lextables.papers.lawngnli.steps import counting_warnings
from lextables.pipeline.cache import make_cache, user_cache

# What a citation is to: a case of the corpus (its id), a case outside it (the key of
# its citation) or another source.
Resource = Hashable
Resolver = Callable[[str], Resource]  # from a citation's key

KINDS: dict[type[CitationBase], str] = {
    FullCaseCitation: "full",
    ShortCaseCitation: "short",
    IdCitation: "id",
    SupraCitation: "supra",
}

_NO_CITATION = (StopWordToken, ParagraphToken, PlaceholderCitationToken)
# A paragraph without any of these has no citation.
_MAY_CITE = re.compile(r"\d|\bid\.|ibid|supra|§", re.IGNORECASE)
# " (CA9 1975)", but neither a statute, "(39 Stat. 1702)", nor the year before a
# citation, as in "Smith v. Jones (1975) 5 Cal. 3d 1".
_COURT_AND_YEAR = re.compile(
    r"( ?)\((?!\d+ )((?:[A-Z0-9][\w.&']*,? )*(?:[A-Z][\w.&']*\.)?)(\d{4})\)(?! ?\d)"
)
_SIGNS = "§¶"  # characters outside ASCII that stay
# The record of a case; eyecite reads these abbreviations as variations of reporters.
_RECORD = ("App.", "R.", "Rec.", "Tr.")


class _AsciiTable(dict[int, str]):
    """A table for str.translate that gives every character one character that Hyperscan
    can count.
    """

    _PUNCTUATION: ClassVar = dict(
        zip("‐‑‒–—―−‘’‚‛“”„‟′″…", "-------''''\"\"\"\"'\".", strict=True)
    )

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if code < 128 or character in _SIGNS:
            plain = character
        elif character in self._PUNCTUATION:
            plain = self._PUNCTUATION[character]
        elif character.isspace():
            plain = " "
        else:
            plain = unicodedata.normalize("NFKD", character)[0]
            # A raised or boxed digit is a note's mark, not part of a page.
            plain = plain if plain.isascii() and plain.isalpha() else "?"
        self[code] = plain
        return plain


_ASCII = _AsciiTable()
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@cache
def tokenizer(cache_dir: Path | None = None) -> Tokenizer:
    """Return eyecite's Hyperscan tokenizer, its patterns compiled or loaded from
    ``cache_dir``.

    Compiling takes about 20 s and loading 0.5 s; the cached file fits one version of
    Hyperscan on one kind of machine, so each has its own folder.
    """
    # The compiled patterns belong to this machine and not to the results.
    folder = make_cache(
        (cache_dir or user_cache()) / f"hyperscan-{version('hyperscan')}-{machine()}"
    )
    hyperscan = HyperscanTokenizer(cache_dir=str(folder))
    hyperscan.hyperscan_db  # noqa: B018 - compiles or loads now, not in the middle of the first opinion
    return hyperscan


def ascii_text(text: str) -> str:
    """Return ``text`` with every character outside ASCII, § and ¶ replaced by one like
    it.

    Hyperscan counts bytes, so it misses citations next to characters of several bytes:
    an en dash caused 7 of 170 to be missed.  The length is unchanged.
    """
    if text.isascii():
        return text
    return _NOT_ASCII.sub(lambda match: _ASCII[ord(match[0])], text)


def searchable(text: str) -> str:
    """Return ``text`` in the form for eyecite, of the same length.

    In addition to `ascii_text`, `` (CA9 1975)`` becomes ``,    [1975)`` and ``(1975)``
    becomes ``[1975)``. eyecite reads both in the same way, without three of its errors:
    a year in parentheses is joined with the court and parenthetical of a later
    citation, the name of a case includes the one before such a year, and each court is
    searched among all courts, which takes most of the time.
    """
    return _COURT_AND_YEAR.sub(_date_alone, ascii_text(text))


def _date_alone(match: re.Match[str]) -> str:
    """Return what a court and its year become, of the same length."""
    space, court, year = match.groups()
    if not court:
        return f"{space}[{year})"
    return f",{' ' * (len(space) + len(court) - 1)}[{year})"


@dataclass(frozen=True)
class LocatedCitation:
    """A citation that eyecite found, and the span of its paragraph in the opinion.

    eyecite counts from the start of the paragraph; all offsets here count from the
    start of the opinion.
    """

    citation: CitationBase
    paragraph_start: int
    paragraph_end: int

    @property
    def start(self) -> int:
        """Where it starts, without the name of the case."""
        return self.paragraph_start + self.citation.span()[0]

    @property
    def end(self) -> int:
        """The offset after the citation; short forms include the pincite, full
        citations do not.
        """
        return self.paragraph_start + self.citation.span()[1]

    @property
    def named(self) -> int:
        """Where the name of the case starts."""
        return self.paragraph_start + min(
            self.citation.full_span()[0], self.citation.span()[0]
        )

    def pincite_start(self, plain: str) -> int:
        """Where its pincite begins, or would begin; eyecite may have read a part of
        it.
        """
        pincite = self.citation.metadata.pin_cite
        if self.kind in (None, "full") or not pincite:
            return self.end
        if not plain.endswith(pincite, self.start, self.end):
            return self.end
        return self.end - len(pincite)

    @property
    def kind(self) -> str | None:
        """``full``, ``short``, ``id`` or ``supra``; None if it is not to a case."""
        return KINDS.get(type(self.citation))


def find_citations(
    text: str, tokens: Tokenizer, counts: Counter[str]
) -> list[LocatedCitation]:
    """Return the citations of an opinion in its order; ``text`` is the opinion's own.

    Adds to ``counts`` the warnings of eyecite, and the paragraphs on which it failed,
    which then have no citation.
    """
    citations: list[LocatedCitation] = []
    prepared = searchable(text)
    start = 0
    with counting_warnings(counts, ("eyecite",), lambda record: "warnings of eyecite"):
        for paragraph in prepared.split("\n"):
            end = start + len(paragraph)
            try:
                paragraph_citations = citations_of(paragraph, tokens)
            except (
                ArithmeticError,
                AttributeError,
                LookupError,
                TypeError,
                ValueError,
            ):
                counts["paragraphs that eyecite failed on"] += 1
                paragraph_citations = []
            citations.extend(
                LocatedCitation(citation, start, end)
                for citation in paragraph_citations
            )
            start = end + 1
    return citations


class _Checked(Tokenizer):
    """A tokenizer that takes neither a party nor the record for a reporter.

    In "28 Phillips, 415 F.3d at 1321", 28 is the number of a note, and Phillips is also
    a reporter: a token whose page is the volume of another citation is left out.  So is
    "2 App. 711", a page of the record.
    """

    def __init__(self, tokens: Tokenizer) -> None:
        self._tokens = tokens

    def extract_tokens(self, text: str) -> Generator[Token, None, None]:
        tokens = list(self._tokens.extract_tokens(text))
        ends: dict[int, int] = {}  # {start: end of the longest citation there}
        for token in tokens:
            if isinstance(token, CitationToken):
                ends[token.start] = max(token.end, ends.get(token.start, 0))
        for token in tokens:
            if isinstance(token, CitationToken):
                page = token.groups.get("page") or ""
                if ends.get(token.end - len(page), 0) > token.end:
                    continue
                if token.groups.get("reporter") in _RECORD:
                    continue
            yield token


class _Tokenized(Tokenizer):
    """A tokenizer that gives eyecite the tokens that it was made with, for any text."""

    def __init__(self, tokens: tuple[Tokens, list[tuple[int, Token]]]) -> None:
        self._tokens = tokens

    def tokenize(self, text: str) -> tuple[Tokens, list[tuple[int, Token]]]:
        return self._tokens  # whatever the text


def citations_of(paragraph: str, tokens: Tokenizer) -> list[CitationBase]:
    """Return eyecite's citations of one paragraph, after `searchable`.

    eyecite would look through the text after every full citation for the party's name
    with a page alone ("Roe at 240"), with a new regular expression each time.  That
    takes half of its time and finds one citation in ten thousand.  Given the tokens and
    no text, it leaves this out.
    """
    if not _MAY_CITE.search(paragraph):
        return []
    tokenized = _Checked(tokens).tokenize(paragraph)
    if all(isinstance(token, _NO_CITATION) for _, token in tokenized[1]):
        return []
    return get_citations(" ", tokenizer=_Tokenized(tokenized))


# Which citation is meant.


def key_of(citation: FullCaseCitation) -> str | None:
    """Return the key of a full citation, or None if it lacks volume or page (as ``585
    U.S. ___``).
    """
    volume = citation.groups.get("volume")
    page = citation.groups.get("page")
    if not volume or not page or not volume.isdecimal() or not page.isdecimal():
        return None
    return page_key(volume, citation.corrected_reporter(), page)


@dataclass(frozen=True)
class Cited:
    """The case to which a citation was resolved.

    ``volume`` is the `case_index.volume_key` of the volume whose pages its pincite
    counts.
    """

    resource: Resource
    volume: str


def resolve(
    text: str,
    citations: Sequence[LocatedCitation],
    nested: Sequence[bool],
    resource_of: Resolver,
) -> list[Cited | None]:
    """Return the resource of each citation, in the order of ``citations``; None if it
    is not known.

    ``resource_of`` maps a `case_index.citation_key` to a case of the corpus, or to
    itself.  Parallel citations are to one resource.  Short forms, id. and supra go
    through eyecite's resolution, with two differences: id. never refers to a citation
    inside another's parenthetical (``nested``) unless it is in one itself, and the word
    of supra must be a whole word of a party's name.
    """
    resources = _full_resources(text, citations, resource_of)
    all_citations = []
    outside_citations = []  # those in no parenthetical
    for item, is_nested in zip(citations, nested, strict=True):
        all_citations.append(item.citation)
        if not is_nested:
            outside_citations.append(item.citation)
    all_resolved = _resolved(all_citations, resources)
    outside_resolved = _resolved(outside_citations, resources)
    volumes: dict[Resource, str] = {}
    cited: list[Cited | None] = []
    for item, is_nested in zip(citations, nested, strict=True):
        citation = item.citation
        resolved = all_resolved
        if isinstance(citation, IdCitation) and not is_nested:
            resolved = outside_resolved
        resource = resolved.get(id(citation))
        if resource is None or isinstance(resource, _NoCase):
            cited.append(None)
            continue
        volume = ""
        if isinstance(citation, CaseCitation):
            number = citation.groups.get("volume") or ""
            volume = volume_key(number, citation.corrected_reporter())
        if isinstance(citation, FullCaseCitation):
            volumes.setdefault(resource, volume)
        cited.append(Cited(resource, volume or volumes.get(resource, "")))
    return cited


@dataclass(frozen=True)
class _NoCase:
    """The resource of a statute, an article or a case without a page: id. can refer to
    it.
    """

    place: int


def _full_resources(
    text: str, citations: Sequence[LocatedCitation], resource_of: Resolver
) -> dict[int, Resource]:
    """The resource of each full citation, by its id().

    Parallel citations are a chain and have one resource: the resource of the first
    citation to a case of the corpus, or of the first citation if there is none.
    ``resource_of`` returns the key, a text, of a citation to no case of the corpus.
    """
    resources: dict[int, Resource] = {}
    chain: list[LocatedCitation] = []
    chain_resource: Resource | None = None

    def close_chain() -> None:
        """Give all citations of the chain its resource."""
        if chain_resource is not None:
            resources.update({id(item.citation): chain_resource for item in chain})

    for place, item in enumerate(citations):
        if not isinstance(item.citation, FullCitation):
            continue
        key = None
        if isinstance(item.citation, FullCaseCitation):
            key = key_of(item.citation)
        resource: Resource = _NoCase(place)
        if key is not None:
            resource = resource_of(key)
        parallel = chain and key is not None and _are_parallel(text, chain[-1], item)
        if not parallel:
            close_chain()
            chain = []
            chain_resource = None
            if key is not None:
                chain_resource = resource
        elif isinstance(chain_resource, str) and not isinstance(resource, str):
            chain_resource = resource
        chain.append(item)
        resources[id(item.citation)] = resource
    close_chain()
    return resources


def _are_parallel(text: str, first: LocatedCitation, second: LocatedCitation) -> bool:
    """Whether two citations follow each other with nothing but pincites between, in two
    reporters.
    """
    if (
        not isinstance(first.citation, FullCaseCitation)
        or not isinstance(second.citation, ResourceCitation)
        or first.paragraph_start != second.paragraph_start
    ):
        return False
    gap = ascii_text(text[first.end : second.start])
    reporters = {
        reporter_name(citation.corrected_reporter())
        for citation in (first.citation, second.citation)
    }
    return (
        len(reporters) == 2
        and len(gap) < 80
        and BEFORE_PARALLEL.fullmatch(gap) is not None
    )


def _resolved(
    citations: list[CitationBase], resources: dict[int, Resource]
) -> dict[int, Resource]:
    """Return the resource of each citation that eyecite can resolve, by its id()."""
    resolutions = resolve_citations(
        citations,
        resolve_full_citation=lambda citation: resources[id(citation)],
        resolve_supra_citation=_supra,
    )
    resource_of: dict[int, Resource] = {}
    for resource, group in resolutions.items():
        resource_of.update((id(citation), resource) for citation in group)
    return resource_of


def _supra(
    citation: SupraCitation, fulls: Sequence[tuple[FullCitation, Resource]]
) -> Resource | None:
    """Return the one resource with a party that the supra citation names, else None."""
    word = (citation.metadata.antecedent_guess or "").strip(".,;:()[]'\" ")
    if not word or not word[0].isupper():
        return None
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    matches = set()
    for full, resource in fulls:
        if not isinstance(full, FullCaseCitation):
            continue
        parties = (full.metadata.plaintiff or "", full.metadata.defendant or "")
        if any(pattern.search(party) for party in parties):
            matches.add(resource)
    if len(matches) != 1:
        return None
    return matches.pop()
