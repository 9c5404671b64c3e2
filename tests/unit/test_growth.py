"""Time to read what strangers write: it grows about linearly with the length of the
text.

Each row has a function and the text that it reads, with the part of it that is
repeated.  The processor time of four times the text is at most eight times that of the
text; in a search that begins again at each character it would be sixteen times.
"""

import io
import json
import re
import signal
import tempfile
import time
import zipfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from helpers.pdf_files import Page, form, pdf
from lextables.corpora import overlaps
from lextables.corpora.caselaw import casebody
from lextables.corpora.caselaw.volume import _cleaned
from lextables.corpora.edgar import (
    exhibits,
    html_text,
    list_numbers,
    page_breaks,
    pages,
    struck_tags,
)
from lextables.metrics.spans import paper_words
from lextables.models import (
    accepted_requests,
    files,
    folders,
    in_parts,
    multiple_choice,
    prompts,
    reasoning,
)
from lextables.papers.lawngnli.citations import case_index, parentheticals, resolution
from lextables.papers.lawngnli.evaluation import statistics
from lextables.papers.lawngnli.hypotheses import accuracy, difficulty
from lextables.papers.lawngnli.premises import citation_removal
from lextables.papers.lawngnli.released import text as released
from lextables.pipeline import errors, redaction
from lextables.pipeline.files import json_value
from lextables.pipeline.job import Lines
from lextables.review import contract_html, contract_text
from lextables.review.contract_pdf import read_pdf
from lextables.review.contract_word import read_word
from lextables.review.readable import is_readable
from lextables.sources import characters, fetch, records
from lextables.sources.transfer import quoted
from lextables.tables import words
from lextables.tasks import submitted
from lextables.tasks.retrieval import submitted as retrieval_submitted
from lextables.tasks.retrieval.rankers import language_model
from lextables.tasks.spans import asking, candidates, segments, squad

RATIO = 8
QUICK = 0.02  # seconds; what is faster is not compared
LIMIT = 10  # seconds
SIZES = (20_000, 80_000)  # characters


def finds(expression):
    return lambda text: [match.span() for match in expression.finditer(text)]


def finds_bytes(expression):
    return lambda text: [match.span() for match in expression.finditer(text.encode())]


def job_lines(text):
    with Lines(lambda line: None) as lines:
        lines.write(text)


def contract_reader(text):
    return contract_text._reader(text.encode()[: contract_text.HEAD])


def remove_citations(text):
    return citation_removal.remove_citations(text[: len(text) // 4])


def read_parentheticals(text):
    return parentheticals.read_parentheticals(
        text[: len(text) // 4], resolution.tokenizer()
    )


def removed_signal(text):
    return citation_removal._JOINT.fullmatch(text)


def named_option(text):
    return multiple_choice.parsed(text, ["Yes", "No"])


def error_of_server(text):
    reason = accepted_requests.reason_of({"error": {"message": text}})
    body = {"max_tokens": 1, "messages": [{"role": "system"}, {"role": "user"}]}
    return accepted_requests.is_filtered(reason), accepted_requests.refused_part(
        reason, body
    )


def error_in_answer(text):
    return accepted_requests.error_status(text.encode())


def filled_prompt(text):
    return prompts.plain_template([["user", "$text"]]).filled(text=text)


def predictions(form):
    def read(text):
        with suppress(errors.BadInput):
            file = submitted.File("mine", submitted.text_of(text.encode(), "mine"))
            records_of_file = file.table() if form == "csv" else file.json_lines()
            list(records_of_file)

    return read


def trec_fields(text):
    with suppress(errors.BadInput):
        return retrieval_submitted._fields(text, "mine")


def json_of_strangers(text):
    with suppress(errors.BadInput):
        return json_value(text, "mine")


def overlaps_of(text):
    return overlaps.run_hashes(text, overlaps.WordHashes())


def kind_of(name):
    def fault(text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_text(text)
            return fetch.fault_of(path)

    return fault


# (name, function, beginning, repeated part, end)
TEXTS = [
    # Contracts
    ("kind of a contract: comments", contract_reader, "", "<!---->\n", "x"),
    ("kind of a contract: open comments", contract_reader, "", "<!-- ", "x"),
    (
        "kind of a contract: comment in comment",
        contract_reader,
        "",
        "<!-- --><!-- ",
        "<p",
    ),
    ("kind of a contract: blank lines", contract_reader, "", "\n", "<p"),
    ("kind of a contract: open tags", contract_reader, "", "<p ", "x"),
    ("kind of a contract: tags", contract_reader, "", "<p>", "x"),
    ("kind of a contract: head lines", contract_reader, "", "a:\n", "MIME-Version:"),
    ("segments: blanks", segments.find_segments, "A.", " ", "b"),
    ("segments: tabs", segments.find_segments, "A.", "\t ", "b"),
    ("segments: one line end", segments.find_segments, "A.\n", " ", "b"),
    ("segments: stops", segments.find_segments, "", ".", "A"),
    ("segments: closers", segments.find_segments, "a.", ")", "A"),
    ("segments: brackets", segments.find_segments, "a. ", "(", "a"),
    ("segments: numbers", segments.find_segments, "a\n", "1.", "a"),
    ("dates: underscores", candidates.dates, "", "_", "x"),
    ("dates: blanks", candidates.dates, "May 1", " ", "x"),
    ("dates: the", candidates.dates, "", "the ", "x"),
    ("dates: day of", candidates.dates, "", "1 day of ", "x"),
    ("dates: months", candidates.dates, "", "May ", "x"),
    ("dates: word", candidates.dates, "first day of ", "a", "-"),
    ("titles: capitals", candidates.titles, "", "A ", "-x"),
    ("titles: one word", candidates.titles, "", "A", "“"),
    ("titles: small words", candidates.titles, "A", " of", " b"),
    ("names: small words", candidates.names, "A", " of", " B"),
    ("names: and", candidates.names, "A", " and", " B"),
    ("names: capitals", candidates.names, "", "A ", "b"),
    ("names: quotes", candidates.names, "", '"', "x"),
    ("names: blanks in quotes", candidates.names, '"', " ", "x"),
    ("names: blank and words in quotes", candidates.names, '"', " \n", "ab,"),
    ("names: brackets", candidates.names, "", "(“", "x"),
    ("names: forms", candidates.names, "A", ", Inc", "x"),
    ("plain text: hyphens", characters.plain, "", "a-\n", "a"),
    ("plain text: blanks", characters.plain, "", " \u00ad", "a"),
    ("tags", characters.without_tags, "", "<", ""),
    ("tags, one closed", characters.without_tags, "<a>", "<", ""),
    ("readable: letters", is_readable, "", "a", ""),
    ("readable: words", is_readable, "", "the ", ""),
    ("answers: collapsed", squad.collapsed, "a", " ", "b"),
    # Filings
    ("exhibit: charset", finds_bytes(exhibits._CHARSET), "charset=", " ", "x"),
    ("exhibit: charsets", finds_bytes(exhibits._CHARSET), "", "charset=", '"'),
    ("exhibit: page number", page_breaks._MARKED_NUMBER.fullmatch, "", "-", "x"),
    ("exhibit: page number of", page_breaks._MARKED_NUMBER.fullmatch, "1", " ", "x"),
    ("exhibit: addresses", finds(html_text._ADDRESS), "", "<a.", ""),
    ("exhibit: struck", struck_tags.without_unclosed, "", "<s>a", ""),
    ("exhibit: struck, open tags", struck_tags.without_unclosed, "", "<s a=", ""),
    ("exhibit: struck, quotes", struck_tags.without_unclosed, "", "<s a='\"", ">"),
    ("exhibit: struck, comments", struck_tags.without_unclosed, "", "<!--", "x"),
    ("exhibit: struck, scripts", struck_tags.without_unclosed, "", "<script>", "x"),
    ("exhibit: struck, signs", struck_tags.without_unclosed, "", "</", "x"),
    ("exhibit: blanks in a style", html_text._style, "", " ", "x"),
    ("exhibit: fonts", finds(html_text._FONT), "", "font:", "x"),
    (
        "exhibit: styles of lists",
        finds(list_numbers._LIST_STYLE),
        "",
        "list-style:",
        "",
    ),
    ("exhibit: pages", finds(exhibits._PAGE), "", "<PAGE ", ""),
    ("exhibit: SGML", finds(exhibits._SGML_LINE), "", "<S> ", "x"),
    ("exhibit: SGML lines", finds(exhibits._SGML_LINE), "", " \t", "x"),
    ("exhibit: attributes", finds(exhibits._HTML), "<p ", "a", ""),
    ("exhibit: blanks in a tag", finds(exhibits._HTML), "<p", " ", "<"),
    ("exhibit: plain text", exhibits._from_plain, "", "a\n\f\n", "b"),
    ("exhibit: line ends", exhibits._from_plain, "a", "\n", "b"),
    ("exhibit: page breaks", exhibits._from_html, "", "<PAGE>a", "b"),
    ("contact", lambda text: pages._CONTACT.fullmatch(text[:1000]), "", "a@", " "),
    # Case law
    ("case: control characters", _cleaned, "", "\x01", ""),
    (
        "case: paragraphs",
        casebody.from_html,
        "<section><article class='opinion'>",
        "<p>a</p>",
        "",
    ),
    (
        "case: blanks",
        casebody.from_html,
        "<section><article class='opinion'><p>a",
        " ",
        "b",
    ),
    (
        "released: open links",
        released.opinions,
        "",
        '<a data-label="1" class="page-label"',
        "",
    ),
    (
        "released: links without end",
        released.opinions,
        "",
        '<a data-label="1" class="page-label">',
        "",
    ),
    ("released: paragraphs without end", released.opinions, "", '<p class="a">', ""),
    ("released: open paragraphs", released.opinions, "", '<p class="a" ', "</p>"),
    ("released: asides", released.opinions, "", '<aside a> <a href="#ref_', ""),
    ("released: images", released.opinions, "", "<img ", ""),
    ("released: sections", released.opinions, "", "</section> ", "x"),
    (
        "released: page numbers",
        released.opinions,
        '<casebody><opinion type="a"></a><p >',
        '<page-number label="',
        "</casebody>\n",
    ),
    (
        "metadata of a parenthetical",
        accuracy._MORE_METADATA.search,
        "",
        "hereinafte ",
        "",
    ),
    ("history", parentheticals._HISTORY_BEFORE.search, "", "aff'd denied", "x"),
    ("date of a citation", parentheticals._DATE.fullmatch, "", "A ", "x"),
    ("date of a citation, one word", parentheticals._DATE.fullmatch, "", "A.", "x"),
    ("behind a citation", parentheticals._AFTER["full"].match, " (No. ", "a", ""),
    ("behind a short citation", parentheticals._AFTER["short"].match, " (", "A ", "x"),
    (
        "parallel citations",
        parentheticals._AFTER["full, undated"].match,
        "",
        ", 1 A. 1",
        "x",
    ),
    ("joints", removed_signal, "", "see, e.g., ", "x"),
    ("joints without blanks", removed_signal, "", ",see,e.g.,;", "x"),
    ("joints: commas", removed_signal, "", ", ", "x"),
    ("pincites: blanks", citation_removal._PINCITES.match, "", " ", "x"),
    ("pincites: notes", citation_removal._PINCITES.match, ", n. 1", ", 1", "x"),
    ("pincites: section", citation_removal._PINCITES.match, ", § 1", "(a)", " of"),
    (
        "cross-references: blanks",
        finds(citation_removal._CROSS_REFERENCE),
        "ante",
        " ",
        "x",
    ),
    ("cross-references", finds(citation_removal._CROSS_REFERENCE), "", "ante, ", "x"),
    (
        "cross-references: pages",
        finds(citation_removal._CROSS_REFERENCE),
        "ante, at 1",
        ", 1",
        "x",
    ),
    ("abbreviation: initials", citation_removal._ABBREVIATION.search, "", "A.", "x"),
    ("abbreviation: capitals", citation_removal._ABBREVIATION.search, "", "A", "."),
    ("abbreviation: points", citation_removal._ABBREVIATION.search, "", "Ab.a", "."),
    ("last clause: blanks", citation_removal._LAST_CLAUSE.search, "!", " ", "x"),
    ("last clause: stops", citation_removal._LAST_CLAUSE.search, "", ". a ", "x"),
    ("footnote marks: blanks", finds(citation_removal._FOOTNOTE_MARK), "x", " ", "x"),
    (
        "footnote marks",
        finds(citation_removal._FOOTNOTE_MARK),
        "x",
        " [Footnote 1",
        "x",
    ),
    ("footnote: blanks", partial(citation_removal._FOOTNOTE.sub, ""), "x", " ", "x"),
    ("citations removed", remove_citations, "", "Id. at 5 (a). ", ""),
    ("citations removed, open", remove_citations, "", "1 U.S. 1 (", ""),
    ("citations removed, strings", remove_citations, "", "See, 1 U.S. 1, ", "."),
    (
        "parentheticals",
        read_parentheticals,
        "",
        "Roe v. Poe, 1 U.S. 1 (1970) (a). ",
        "",
    ),
    ("parentheticals, open", read_parentheticals, "", "1 U.S. 1 (", ""),
    ("verb: adverbs", citation_removal._VERB.match, ", ", "only, ", "-"),
    ("verb: one adverb", citation_removal._VERB.match, ", ", "ly", "-"),
    ("parenthesis", citation_removal._PARENTHETICAL.match, "", "(", ""),
    # Answers of language models, and quotes that are looked for
    ("rating: marks", language_model._RATING.match, "", "* ", "x"),
    ("rating: words", language_model._RATING.match, "answer", " is", " x"),
    ("quote: words", partial(asking.where, "a " * 2000 + "b"), "", "a ", ""),
    ("quote: blanks", partial(asking.where, "a b"), "a", " ", "c"),
    # More of what strangers write, through the functions that read it
    ("reasoning: marks", reasoning.answer_of, "", "<think>A</think>", "B"),
    ("reasoning: open tags", reasoning.answer_of, "", "<think ", "B"),
    ("reasoning: prefixes", reasoning.answer_of, "<", "a_", "think>"),
    ("reasoning: hyphens", reasoning.answer_of, "<", "a-", "B"),
    ("reasoning: blanks", reasoning.answer_of, "<think", " ", "B"),
    ("reasoning: special tokens", reasoning.answer_of, "", "<|a", "B"),
    ("reasoning: special bars", reasoning.answer_of, "", "<|", "B"),
    ("reasoning: blanks before a channel", reasoning.answer_of, "", " ", "analysisA"),
    ("reasoning: channels", reasoning.answer_of, "", "<|channel|>final", "B"),
    ("reasoning: blanks of a channel", reasoning.answer_of, "<|channel|>", " ", "B"),
    ("reasoning: granite", reasoning.answer_of, "", "Here is my response:", "B"),
    ("reasoning of a prompt", reasoning.closed, "", "<think ", "<think>"),
    ("first token", reasoning.begins_reasoning, "", "<", ""),
    ("choice: blanks", named_option, "", " ", "B"),
    ("choice: the answer is", named_option, "", "the answer is ", "B"),
    ("choice: marks", named_option, "B", ")", "x"),
    ("choice: after a letter", named_option, "B, ", "A x ", "B"),
    ("choice: forms", named_option, "", "boxed ", "B"),
    ("error: system", error_of_server, "", "system ", "x"),
    ("error: role", error_of_server, "", "role ", "x"),
    ("error: user", error_of_server, "", "user, ", "x"),
    ("error: invalid", error_of_server, "", "invalid ", "x"),
    ("error: content", error_of_server, "", "content ", "x"),
    ("error: parameters", error_of_server, "", "max_token ", "x"),
    ("error in an answer: nested", error_in_answer, "", '{"error":', "1"),
    ("error in an answer: text", error_in_answer, '{"error": "', "a", '"}'),
    ("error in an answer: codes", error_in_answer, '{"error": {"code": "', "5", '"}}'),
    ("library: memory", finds(in_parts._MESSAGES), "", "out of ", "x"),
    ("library: status", finds(in_parts._MESSAGES), "", "CUBLAS_STATUS_", "x"),
    ("message: controls", lambda text: str(errors.BadInput(text)), "", "\x1b[", "x"),
    ("similar names", lambda text: errors.did_you_mean(text, ["acord"]), "", "ac", "x"),
    ("prompt: turns", prompts.fence, "", "=", "x"),
    ("prompt: marks", filled_prompt, "", "<|", "x"),
    ("prompt: brackets", filled_prompt, "", "[/", "INST"),
    ("predictions: csv", predictions("csv"), "a,b\n", "1,2\n", ""),
    ("predictions: quotes", predictions("csv"), 'a,b\n1,"', '""', '"'),
    ("predictions: columns", predictions("csv"), "a", ",Unnamed: 1", "\n"),
    ("predictions: blank lines", predictions("csv"), "a,b\n", "\n", ""),
    ("predictions: JSON lines", predictions("jsonl"), "", '{"a": 1}\n', ""),
    ("predictions: JSON", predictions("jsonl"), '{"a": [0', ",0", "]}"),
    ("predictions: run", trec_fields, "a Q0 b 1 1", " x", ""),
    ("predictions: blanks in a run", trec_fields, "a Q0 b 1", " ", "1 x"),
    ("predictions: Q0", trec_fields, "a", " Q0", " b 1 1 x"),
    ("JSON: names", json_of_strangers, '{"a": 1', ', "b": 1', "}"),
    ("JSON: halves", json_of_strangers, '["', "\\ud800", '"]'),
    ("JSON: surrogates", json_of_strangers, '["', "\\ud83d\\ude00", '"]'),
    ("words of a span", paper_words, "", "a. ", "b"),
    ("words of texts", overlaps_of, "", "1.", "a"),
    ("words of texts: commas", overlaps_of, "", "1,", "a"),
    ("names: before a form", candidates.names, "Acme", " ", "Inc."),
    ("names: line ends before a form", candidates.names, "Acme,", "\n", "Inc."),
    ("names: before and", candidates.names, "A", "  ", "and B"),
    ("titles: numbers", candidates.titles, "", "1.", " AGREEMENT"),
    ("titles: exhibits", candidates.titles, "", "EXHIBIT 1 ", "AGREEMENT"),
    ("download: index", kind_of("a.idx"), "", "CIK|", ""),
    ("download: page", kind_of("a.txt"), "", " ", "<html>"),
    ("download: JSON lines", kind_of("a.jsonl"), "", "{}\n", ""),
    ("download: csv", kind_of("a.csv"), "", "a,b\n", ""),
    ("parenthetical: verb", accuracy.without_leading_verb, "", "holding ", "that x"),
    ("parenthetical: word", accuracy.without_leading_verb, "", "a", "ing that"),
    ("parenthetical: and", accuracy.without_leading_verb, "holding", " and", " that"),
    (
        "parenthetical: that",
        accuracy.without_leading_verb,
        "holding that ",
        "a, b ",
        "",
    ),
    ("parenthetical: metadata", accuracy.metadata_keyword, "", "quot ", "x"),
    ("parenthetical: opinions", accuracy.more_metadata, "", "J., ", "x"),
    ("difficulty: quotes", difficulty.has_quotation_mark, "", "a'", "x"),
    ("difficulty: words", difficulty.words, "", "a'", "x"),
    ("negation", statistics.has_negation_word, "", "nota ", "x"),
    ("case: parties", case_index.parties, "A", " ", "v. B"),
    ("case: versus", case_index.parties, "A", " v.", " B"),
    ("case: roles", case_index.parties, "A", ", appellant", " v. B"),
    ("case: citation", case_index.citation_key, "1 ", "A ", "1"),
    ("case: digits", case_index.citation_key, "", "1", " U.S. 1"),
    (
        "case: footnote marks",
        casebody.from_html,
        "<section><article class='opinion'><p>",
        "[Footnote 1/",
        "</p>",
    ),
    ("parentheticals: weights", read_parentheticals, "1 U.S. 1 (1970) (", "A", ")"),
    ("parentheticals: items", read_parentheticals, "1 U.S. 1 (1970) (", "(1) a ", ")"),
    ("parentheticals: item blanks", read_parentheticals, "1 U.S. 1 ((1)", " ", "a)"),
    ("parentheticals: pages", read_parentheticals, "1 U.S. 1, 2", ", 3", " (a)"),
    ("parentheticals: notes", read_parentheticals, "1 U.S. 1, 2 n. 3", ", 3", " (a)"),
    ("parentheticals: sources", read_parentheticals, "", "A Treatise 1 (1970) ", "x"),
    ("parentheticals: titles", read_parentheticals, "1 U.S. 1. ", "A", " 1 (1970)"),
    ("parentheticals: Id.", read_parentheticals, "1 U.S. 1. ", "Id. (a) ", "x"),
    # Error messages, logs and names
    ("message: slashes", redaction.redacted, "", "a:/", ""),
    ("message: logins", redaction.redacted, "", "a:/b:c", " @"),
    ("message: bare logins", redaction.redacted, "", "a:b@", " x"),
    ("message: equals", redaction.redacted, "", "=a:", "@b.c"),
    ("message: keys", redaction.redacted, "?", "auth", ""),
    ("message: queries", redaction.redacted, "", "?key", "="),
    ("message: points", redaction.redacted, "?key=", ".", ""),
    ("message: quotes", redaction.redacted, "", "'a:", "@b.c"),
    ("message: folders", redaction.without_folders, "", "/a", ""),
    ("message: folders in quotes", redaction.without_folders, "", "'/", ""),
    (
        "error",
        lambda text: str(errors.BadInput(text, where=text, do=text)),
        "",
        "a:/b:c",
        "@",
    ),
    ("line of a log", job_lines, "", "\x1b[", "\n"),
    ("title in a log", job_lines, "", "\x1b]a", "\n"),
    ("quoted", quoted, "", "a ", ""),
    ("words of a table", words._PARTS.findall, "1", " ", "-"),
    ("words of a table: signs", words._PARTS.findall, "", "-", "1"),
    (
        "JSON: blanks",
        lambda text: [*records.json_array(io.BytesIO(text.encode()), "a")],
        "[",
        " ",
        "]",
    ),
    (
        "JSON: items",
        lambda text: [*records.json_array(io.BytesIO(text.encode()), "a")],
        "[{}",
        ",{}",
        "]",
    ),
]


def seconds(function, text):
    """The processor time of a call; the best of three measurements, because other
    processes disturb.

    A quick call is repeated: a clock with coarse ticks gives it no time at all.
    """
    best = LIMIT
    for _ in range(3):
        start = time.process_time()
        spent = 0.0
        calls = 0
        while spent <= QUICK and calls < 10:
            function(text)
            calls += 1
            spent = time.process_time() - start
        best = min(best, spent / calls)
        if best > 0.5:
            break
    return best


@pytest.fixture(autouse=True)
def limited():
    """End a call that hangs."""

    def stop(number, frame):
        pytest.fail(f"still at work after {LIMIT} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def check(function, text_of):
    longer = seconds(function, text_of(SIZES[1]))
    if longer > QUICK:
        shorter = seconds(function, text_of(SIZES[0]))
        # The first call may have prepared something, such as a table of expressions.
        longer = min(longer, seconds(function, text_of(SIZES[1])))
        assert longer < RATIO * max(shorter, QUICK / RATIO), (
            f"{shorter:.3f} s, then {longer:.3f} s"
        )


@pytest.mark.parametrize(
    ("function", "beginning", "part", "end"),
    [pytest.param(*row[1:], id=row[0]) for row in TEXTS],
)
def test_the_time_to_read_a_text_grows_about_linearly(function, beginning, part, end):
    check(function, lambda size: beginning + part * (size // len(part)) + end)


def test_a_search_that_begins_again_at_each_character_is_noticed():
    blanks = re.compile(r"\s+x")
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(blanks.search, lambda size: " " * (size // 4))


TAGS = "<div> <b> <p> <ul><li> <dl><dt> <center> <details> <x> <button> <a> <table> </p> <b></p>".split()


@pytest.mark.parametrize("tag", [*TAGS, "<font size={}>", "<i a{}>", "<body a{}>"])
def test_html_that_is_nested_deeply_is_read_or_refused_in_time(tag):
    text = (
        "<html><body>" + "".join(tag.format(n) for n in range(30_000)) + "The agreement"
    )
    with suppress(errors.BadInput):
        contract_html.read_html(text.encode())


@pytest.mark.parametrize("tag", ["<div>", "<font size={}>"])
def test_html_that_is_nested_too_deeply_is_refused_in_one_sentence(tag):
    text = (
        "<html><body>" + "".join(tag.format(n) for n in range(30_000)) + "The agreement"
    )
    with pytest.raises(
        errors.BadInput, match="the elements of the file are nested too"
    ):
        contract_html.read_html(text.encode())


def test_html_with_many_elements_side_by_side_is_read():
    text = (
        "<html><body>" + "<div><b>The</b> <font size=1>agreement</font></div>" * 20_000
    )
    assert contract_html.read_html(text.encode()).text.count("The agreement") == 20_000


RELATIONSHIP = '<Relationship Id="h" Type="x/{}" Target="{}"/>'
HEADER = '<p><pPr><sectPr><headerReference r:id="h"/></sectPr></pPr></p>'
NAMES = 'xmlns="w" xmlns:r="o/relationships"'


def word_file(folder, body, styles=""):
    """A Word file with this body, one header, and styles."""
    path = folder / "a.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "_rels/.rels",
            f"<Relationships>{RELATIONSHIP.format('officeDocument', 'word/document.xml')}</Relationships>",
        )
        archive.writestr(
            "word/_rels/document.xml.rels",
            f"<Relationships>{RELATIONSHIP.format('header', 'header.xml')}</Relationships>",
        )
        archive.writestr(
            "word/document.xml", f"<document {NAMES}><body>{body}</body></document>"
        )
        archive.writestr("word/header.xml", f"<hdr {NAMES}>{'<p/>' * 3000}</hdr>")
        archive.writestr("word/styles.xml", f"<styles {NAMES}>{styles}</styles>")
    return path


FIELD = '<r><fldChar fldCharType="{}"/></r>'
OPEN_FIELD = FIELD.format("begin") + FIELD.format("separate") + "<r><t>a</t></r>"
WORD_FILES = {
    "references to a header": lambda n: (
        '<p><pPr><sectPr><headerReference r:id="h"/></sectPr></pPr></p>' * n,
        "",
    ),
    "fields in fields": lambda n: (
        f"<p>{OPEN_FIELD * n}{FIELD.format('end') * n}</p>",
        "",
    ),
    "styles on styles": lambda n: (
        '<p><pPr><pStyle val="s0"/></pPr><r><t>a</t></r></p>' * n,
        "".join(
            f'<style styleId="s{i}"><basedOn val="s{i + 1}"/></style>' for i in range(n)
        ),
    ),
    "paragraphs": lambda n: ("<p><r><t>a</t></r></p>" * n, ""),
    "cells": lambda n: (f"<tbl><tr>{'<tc><p/></tc>' * n}</tr></tbl>", ""),
}


@pytest.mark.parametrize("kind", WORD_FILES)
def test_the_time_to_read_a_word_file_grows_about_linearly(tmp_path, kind):
    def path(size):
        folder = tmp_path / str(size)
        folder.mkdir(exist_ok=True)
        return word_file(folder, *WORD_FILES[kind](size // 40))

    check(lambda path: read_word(path, lambda part: None), path)


def nested_forms(depth):
    """A PDF with a page, and forms in forms, that each draw the next one ten times."""
    names = [f"N{number}" for number in range(10)]
    draw_all = "".join(f"/{name} Do\n" for name in names)
    objects = {}
    resources = "/Font<</F 3 0 R>>"
    for number in range(depth + 4, 4, -1):
        objects[number] = form(draw_all, f"/Resources<<{resources}>>")
        parts = "".join(f"/{name} {number} 0 R" for name in names)
        resources = f"/Font<</F 3 0 R>>/XObject<<{parts}>>"
    return pdf([Page(operators=draw_all, resources=resources)], objects=objects)


def test_forms_that_draw_forms_are_read_in_time(tmp_path):
    path = tmp_path / "nested.pdf"
    path.write_bytes(nested_forms(21))
    assert len(read_pdf(path).notes) == 1


# Folders of models: (file, beginning, repeated part, end)
MODEL_FILES = {
    "keys": ("config.json", '{"a": 1', ', "b{}": 1', "}"),
    "lists": ("config.json", '{"a": [1', ", 1", "]}"),
    "methods": ("config.json", '{"method": "get_', "a_", 'features"}'),
    "activations": ("config.json", '{"a": "sentence_transformers.', "a.", '"}'),
    "nested": ("config.json", "", '{"a":', "1"),
    "modules": (
        "modules.json",
        '[{"type": "a", "path": "a"}',
        ', {"type": "a", "path": "a"}',
        "]",
    ),
    "path of a module": ("modules.json", '[{"type": "a", "path": "', "a/", '"}]'),
    "type of a module": ("modules.json", '[{"path": "a", "type": "', "a.", '"}]'),
    "weights": (
        "model.safetensors.index.json",
        '{"weight_map": {"a": "a.safetensors"',
        ', "{}": "b.safetensors"',
        "}}",
    ),
    "parts of weights": (
        "model.safetensors.index.json",
        '{"weight_map": {"a": "',
        "a/",
        '"}}',
    ),
    "tokenizer": ("tokenizer_config.json", '{"a": {"b": 1', ', "c{}": 1', "}}"),
}


@pytest.mark.parametrize("kind", MODEL_FILES)
def test_the_time_to_check_a_model_folder_grows_about_linearly(tmp_path, kind):
    name, beginning, part, end = MODEL_FILES[kind]

    def read(folder):
        with suppress(errors.BadInput):
            files.check_named_code(folder)
        with suppress(errors.BadInput):
            folders.fault(folder)

    def folder(size):
        path = tmp_path / str(size)
        if not path.exists():
            path.mkdir()
            (path / "config.json").write_text("{}")
            parts = [part.replace("{}", str(n)) for n in range(size // len(part))]
            (path / name).write_text(beginning + "".join(parts) + end)
        return path

    check(read, folder)
    if kind not in ("nested",):
        json.loads((folder(SIZES[0]) / name).read_text())
