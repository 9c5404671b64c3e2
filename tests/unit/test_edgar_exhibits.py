"""Exhibits of a submission to EDGAR: which documents are exhibits, and their text."""

import io
import time

import pytest

from helpers.edgar_server import document, submission
from lextables.corpora.edgar.exhibits import NoText, contract_text
from lextables.corpora.edgar.submission import CutShort, documents, in_families


def read(page):
    """Return the exhibits of the family EX-10 of a submission."""
    return list(documents(io.BytesIO(page), in_families(["EX-10"])))


@pytest.mark.parametrize(
    ("type_", "belongs"),
    [
        ("EX-10", True),
        ("EX-10.1", True),
        ("EX-10.(A)", True),
        ("ex-10.2", True),
        ("EX-10-B", True),
        ("EX-101.INS", False),
        ("EX-100", False),
        ("EX-99.10", False),
        ("10-K", False),
        ("", False),
    ],
)
def test_a_family_includes_only_its_exhibit_types(type_, belongs):
    assert in_families(["EX-10"])(type_) is belongs


def test_the_requested_documents_are_returned_in_order_with_their_headers():
    page = submission(
        "0000000001-20-000001",
        document("8-K", 1, "report"),
        document("EX-10.1", 2, "<p>lease</p>", "LEASE  AGREEMENT", "ex10-1.htm"),
        document("EX-101.INS", 3, "<xbrl/>"),
        document("EX-10.2", "two", "second\n<TYPE>not a head"),
    )
    first, second = read(page)
    assert first.type == "EX-10.1"
    assert first.sequence == 2
    assert first.filename == "ex10-1.htm"
    assert first.description == "LEASE AGREEMENT"
    assert first.body.strip() == b"<p>lease</p>"
    # "two" is no number, and there is no file name.
    assert second.sequence is None
    assert second.filename == ""
    assert second.body.strip() == b"second\n<TYPE>not a head"


def test_blank_lines_carriage_returns_and_missing_end_tags_are_accepted():
    page = b"<DOCUMENT>\r\n\r\n<TYPE>EX-10\r\n<SEQUENCE>2\r\n<TEXT>first\r\nline</TEXT>\r\n"
    page += b"<DOCUMENT>\r\n<TYPE>EX-10\r\n</DOCUMENT>"
    exhibits = [(exhibit.sequence, exhibit.body) for exhibit in read(page)]
    assert exhibits == [(2, b"first\r\nline"), (None, b"")]


@pytest.mark.parametrize(
    "page",
    [
        b"<SEC-DOCUMENT>a\r<DOCUMENT>\r<TYPE>EX-10\r<SEQUENCE>2\r<TEXT>\rThe Term\r</TEXT>\r</DOCUMENT>\r",
        b"<DOCUMENT><TYPE>EX-10<SEQUENCE>2<TEXT>\nThe Term\n</TEXT></DOCUMENT>\n",
        b"<document><type>EX-10<sequence>2<filename>a.txt<text>The Term</text></document>",
        b"<DOCUMENT>\n<TYPE>EX-10\n<SEQUENCE>2\n<TEXT>The Term</TEXT>\n</DOCUMENT>\n",
    ],
)
def test_other_line_ends_and_tags_on_one_line_are_read(page):
    (exhibit,) = read(page)
    assert exhibit.type == "EX-10"
    assert exhibit.sequence == 2
    assert exhibit.body.strip() == b"The Term"


def test_a_sequence_of_many_digits_is_no_number():
    digits = b"9" * 6000
    page = b"<DOCUMENT>\n<TYPE>EX-10\n<SEQUENCE>" + digits + b"\n<TEXT>\na\n</TEXT>\n"
    (exhibit,) = read(page)
    assert exhibit.sequence is None


def test_dashes_that_privacy_enhanced_mail_adds_are_removed_and_others_kept():
    header = b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----\nProc-Type: 2001,MIC-CLEAR\n\n"
    body = "- -----\n- (a) rent"
    page = submission("0000000001-97-000001", document("EX-10", 1, body))
    (exhibit,) = read(header + page)
    assert exhibit.body == b"\n-----\n(a) rent\n"
    (exhibit,) = read(page)
    assert exhibit.body == b"\n- -----\n- (a) rent\n"


def test_a_truncated_submission_yields_the_complete_documents():
    page = submission(
        "0000000001-20-000001",
        document("EX-10.1", 1, "whole"),
        document("EX-10.2", 2, "half"),
    )
    lines = page[: page.rindex(b"half")].splitlines(keepends=True)
    exhibits = documents(lines, in_families(["EX-10"]))
    assert next(exhibits).body.strip() == b"whole"
    with pytest.raises(CutShort, match="ends inside a document"):
        next(exhibits)


# Text

PLAIN = """
                         LICENSE AGREEMENT

     This Agreement is made by Acme &amp; Co. and
Beta.

<TABLE>
<CAPTION>
Fees
<S>       <C>
Year 1    $5
</TABLE>

     The Licensee shall keep the records
                                  -2-

<PAGE>   3

of all sales for three years.
                               Page 3 of 4
<PAGE>
     IN WITNESS WHEREOF
                                   4
"""


def test_plain_text_keeps_its_lines_without_tags_and_page_numbers():
    contract = contract_text(PLAIN.encode())
    assert contract.format == "plain"
    assert contract.fault == ""
    assert contract.text == (
        "LICENSE AGREEMENT\n\n     This Agreement is made by Acme & Co. and\nBeta.\n\nFees\nYear 1    $5\n\n"
        "     The Licensee shall keep the records\nof all sales for three years.\n\n     IN WITNESS WHEREOF"
    )


@pytest.mark.parametrize(
    ("html", "text"),
    [
        # Paragraphs, line breaks and inline tags.
        ("<p>One\n  two</p><p>Three", "One two\n\nThree"),
        ("<div>(a)<div>first</div>after</div>", "(a)\n\nfirst\n\nafter"),
        ("<p>Acme<b>Co</b>. <i>the </i>Seller</p>", "AcmeCo. the Seller"),
        ("<p>By: <br>Name: Jo<br><br>Title</p>", "By:\nName: Jo\n\nTitle"),
        # Character references.
        ("<p>a&nbsp;b &#147;c&#148; &amp; d&shy;e</p>", "a b “c” & de"),
        # What a browser does not show.
        (
            "<p>x</p><script>var p</script><style>p{}</style><!-- c --><p>y</p>",
            "x\n\ny",
        ),
        ("<html><head><title>ex10.htm</title></head><body><p>x</p></body></html>", "x"),
        ('<p>x</p><div style="DISPLAY: none">hidden</div>', "x"),
        (
            "<XBRL><html><body><ix:header>us-gaap</ix:header><p>x</p></body></html></XBRL>",
            "x",
        ),
        # Tables: cells are separated by a space, rows by a line break.
        (
            "<table><tr><td><p>(a)</p></td><td></td><td><p>Rent.</p><p>More.</p></td></tr></table>",
            "(a) Rent.\n\nMore.",
        ),
        (
            "<table><tr><td>1</td><td>2</td></tr><tr><td></td><td>3</td></tr></table><p>x",
            "1 2\n3\n\nx",
        ),
        (
            "<table><tr><td><table><tr><td>in</td></tr></table></td><td>out</td></tr></table>",
            "in out",
        ),
        (
            "<table><caption>Fees</caption><tr><td>a<hr>b</td></tr></table>",
            "Fees\n\na\nb",
        ),
        # Elements that a browser shows as blocks, and others by their style.
        ("<p>a<dir>b</dir>c<menu>d</menu>e", "a\n\nb\n\nc\n\nd\n\ne"),
        (
            "<p>a</p><details><summary>b</summary>c</details>d<aside>e</aside>f",
            "a\n\nb\n\nc\n\nd\n\ne\n\nf",
        ),
        (
            "<div>a<span style='display: block'>b</span><div style='DISPLAY: inline'>c</div>d</div>",
            "a\n\nb\n\ncd",
        ),
        ("<p>a<span style='display:inline-block'>b</span></p>", "ab"),
        # What only a browser without frames, scripts or ruby shows.
        ("<p>a<iframe src=x>b</iframe><datalist><option>c</datalist><rp>(</rp>d", "ad"),
        # Fonts of symbols.
        (
            "<p><font face=Wingdings><b>x</b></font> Yes <font style='font-family: WINGDINGS'>&#168;</font> No "
            "<span style='font:10.0pt &quot;Symbol&quot;, serif'>\u00b7<font face=Arial>x</font></span>",
            "☒ Yes ◻ No •x",
        ),
        # Preformatted text.
        ("<body><pre>\n ARTICLE 1\n   Rent\n</pre></body>", "ARTICLE 1\n   Rent"),
        # Numbers of pages: left out at a page break, and a sentence goes on after it.
        ("<p>shall pay</p><p>- 3 -</p><hr><p>the rent.</p>", "shall pay the rent."),
        (
            '<p>Ends.</p><p>7</p><p style="page-break-before: always">Begins.</p>',
            "Ends.\n\n7\n\nBegins.",
        ),
        (
            '<p>Ends.</p><p>iv</p><div style="break-before: page"></div><p>Begins.</p><p>v</p>',
            "Ends.\n\nBegins.",
        ),
        ('<p style="page-break-after:always">12</p><p>Begins.</p>', "12\n\nBegins."),
        (
            "<p>shall pay</p><p>- 3 -</p><br style='page-break-before:always'><p>it.",
            "shall pay it.",
        ),
        ("<p>Total</p><p>3</p><PAGE><p>Next</p><p>4", "Total\n\nNext"),
        (
            "<p>In the year</p><p>1999</p><p>it ended.</p>",
            "In the year\n\n1999\n\nit ended.",
        ),
    ],
)
def test_html_is_converted_to_paragraphs(html, text):
    contract = contract_text(html.encode())
    assert (contract.text, contract.format) == (text, "html")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        # Struck text, by tag or by style.
        ("<p>The fee is <strike>$100</strike><u>$200</u>.</p>", "The fee is $200."),
        ("<p>a <S>b</S> c <del class=x>d</del> e</p>", "a c e"),
        ('<p>a <font style="text-decoration: Line-Through">b</font> c</p>', "a c"),
        (
            '<p>a <font style="text-decoration:underline line-through">b</font> c</p>',
            "a c",
        ),
        (
            '<p>a <font style="text-decoration:underline">b</font> <strong>c</strong></p>',
            "a b c",
        ),
        # Other tags.
        ("<p>a <ins>b</ins> <small>c</small> <span>d</span></p>", "a b c d"),
        (
            "<p>Fees</p><TABLE><CAPTION><S> <C>\nYear 1 $5</TABLE><p>Rest</p>",
            "Fees\n\nYear 1 $5\n\nRest",
        ),
        # A tag without an end is ignored, and only that one.
        ("<p>a <strike>b</p><p>c</p>", "a b\n\nc"),
        (
            "<p>a <s>b</s>c</p><TABLE><S> <C>\nd</TABLE><p><S class='x'>e</S>",
            "a c\n\nd",
        ),
        ("<p>a <s>b</p><p>c <s>d</s><del>e</del></p>", "a b\n\nc"),
        # What looks like a tag in a comment, a value or a script is none.
        ("<!-- <s> --><p>a <s>b</s></p><!--> <p>c <s>d</s></p>", "a\n\nc"),
        ("<p title='<s>'>a <s>b</s> <a title=it's>c</a> <s title='>'>d</s>", "a c"),
        ("<script>if (a<s >b) </script><p>a <s>b</s>c</p>", "a c"),
        ("<p>a <s>b<textarea></s></textarea>c</s> d <style></s></style>", "a d"),
        ("<!-- </s> --><p>a <s>b</p><p>c</p>", "a b\n\nc"),
        # Hidden text.
        (
            "<p>a</p><div hidden>b</div><p HIDDEN=''>c</p><p style='visibility: hidden'>d</p>",
            "a",
        ),
        ("<p>a</p><p style='visibility: visible'>d</p>", "a\n\nd"),
        # Addresses in angle brackets are no tags.
        (
            "<p>To <jo@x.org>, <p.roe@x.org> or <https://x.org/a>.</p>",
            "To <jo@x.org>, <p.roe@x.org> or <https://x.org/a>.",
        ),
        ("<p><www.x.org></p>", "<www.x.org>"),
        ('<p>a<a href="mailto:jo@x.org">b</a><img src=a.gif>c<br/>d</p>', "abc\nd"),
    ],
)
def test_struck_and_hidden_text_is_left_out_and_addresses_are_kept(html, text):
    contract = contract_text(html.encode())
    assert (contract.text, contract.format) == (text, "html")


@pytest.mark.parametrize(
    "text",
    [
        "Send to <p.roe@x.org>\nor <br@x.org>.",
        "Send to <div@x.org>,\n   <page@x.org>.",
        "See <http://x.org/a>\nor <td.x.org>.",
        "if a <p and b> 5,\n   or Net Income < 10 and > 5",
        "a <p or\nb",
    ],
)
def test_plain_text_with_angle_brackets_stays_plain(text):
    contract = contract_text(text.encode())
    assert (contract.text, contract.format) == (text, "plain")


@pytest.mark.parametrize(
    "html",
    [
        "a<br/>b",
        "<P\nALIGN=center>a",
        "<td nowrap>a",
        "<html xmlns:x='y'>a",
        "<DIV >a</DIV>",
    ],
)
def test_tags_with_and_without_attributes_are_html(html):
    assert contract_text(html.encode()).format == "html"


def test_a_long_address_without_an_end_is_read_quickly():
    start = time.monotonic()
    for body in (
        b"<p>x" + b"<a." * 100_000,
        b"<p>x<" + b"a." * 200_000,
        b"<p>x" + b"<a:" * 100_000,
    ):
        assert contract_text(body).text.startswith("x")
    assert time.monotonic() - start < 5


def test_deeply_nested_html_is_read():
    assert contract_text(b"<div>" * 5000 + b"deep" + b"</div>" * 5000).text == "deep"


@pytest.mark.parametrize(
    ("body", "text", "fault"),
    [
        ("<p>Müller “x”</p>".encode(), "Müller “x”", ""),
        ("\ufeffMüller".encode(), "Müller", ""),
        (b'<meta charset="iso-8859-1"><p>M\xfcller \x93x\x94</p>', "Müller “x”", ""),
        (
            b'<meta content="text/html; charset=koi8-r"><p>\xf2\xd5\xc2\xcc\xd8</p>',
            "Рубль",
            "",
        ),
        (b"<p>M\xfcller \x93x\x94</p>", "Müller “x”", "declares no charset"),
        (b"<meta charset=utf-8><p>M\xfcller</p>", "Müller", "declares utf-8"),
        (b"<meta charset=utf-16><p>M\xfcller</p>", "Müller", "declares utf-16"),
        (
            b"<meta charset=nonsense><p>M\xfcller\x81</p>",
            "Müller\ufffd",
            "declares nonsense",
        ),
        (b"<meta charset=rot13><p>M\xfcller</p>", "Müller", "declares rot13"),
    ],
)
def test_the_encoding_is_detected_and_wrong_declarations_are_noted(body, text, fault):
    contract = contract_text(body)
    assert contract.text == text
    if fault:
        assert contract.fault.startswith(f"the exhibit {fault}")
    else:
        assert contract.fault == ""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<PDF>\nbegin 644 ex10.pdf\nM)5!$1BTQ+C,*\n`\nend\n</PDF>", "binary"),
        (b"\nbegin 644 ex10.jpg\nM_]C_X  02D9)1@\n`\nend\n", "binary"),
        (b"%PDF-1.4\n\xe2\xe3", "binary"),
        (b"", "empty"),
        (
            b"<html><head><title>x</title></head><body><p>&nbsp;</p></body></html>",
            "empty",
        ),
        (b"\n<PAGE>    2\n<PAGE>\n", "empty"),
    ],
)
def test_a_body_without_text_is_rejected(body, kind):
    with pytest.raises(NoText) as error:
        contract_text(body)
    assert error.value.kind == kind


@pytest.mark.parametrize(
    ("html", "text"),
    [
        # Superscripts: the mark of a note does not change a figure.
        ("<p>a fee of $500<sup>3</sup> a day</p>", "a fee of $500 3 a day"),
        ("<p>$500<sup>(3)</sup></p>", "$500 (3)"),
        ("<p>$500<sup>*</sup> and 7%<sup>b</sup></p>", "$500 * and 7% b"),
        ("<p><b>$9,100</b><a href=#n><sup>2</sup></a>.</p>", "$9,100 2."),
        ("<p><u>$9,100</u>.<sup><a href=#n>2</a></sup></p>", "$9,100. 2"),
        (
            "<p>10<span style='vertical-align: super; font-size: 6pt'>4</span> units</p>",
            "10 4 units",
        ),
        ("<p>10<font style='vertical-align:3.5pt'>4</font></p>", "10 4"),
        ("<p>10<font style='vertical-align:0pt'>4</font></p>", "104"),
        ("<table><tr><td style='vertical-align:super'>10</td></tr></table>", "10"),
        ("<p><sup>1</sup>500 units</p>", "1 500 units"),
        (
            "<p>the 15<sup>th</sup> of the 2<SUP>nd</SUP> month</p>",
            "the 15th of the 2nd month",
        ),
        # Fractions, and powers of units.
        ("<p>1<sup>1</sup>/<sub>2</sub> shares</p>", "1 1/2 shares"),
        ("<p>10 m<sup>2</sup>, H<sub>2</sub>O</p>", "10 m2, H2O"),
        ("<p>5<sup>1</sup><sup>,2</sup></p>", "5 1,2"),
        # Items of numbered lists have the numbers of a browser.
        ("<ol><li>Rent<li>Term</ol>", "1. Rent\n\n2. Term"),
        (
            "<ol start=4 type=a><li><p>Rent</p></li><li>Term</li></ol>",
            "d. Rent\n\ne. Term",
        ),
        ("<ol type=I><li>A<li value=9>B<li>C</ol>", "I. A\n\nIX. B\n\nX. C"),
        (
            "<ol style='list-style-type: lower-roman'><li>A<ol><li>B<li>C</ol><li>D</ol>",
            "i. A\n\n1. B\n\n2. C\n\nii. D",
        ),
        ("<ol><li><ol type=a><li>A<li>B</ol></ol>", "1. a. A\n\nb. B"),
        ("<ol start=27 type=A><li>x</ol>", "AA. x"),
        ("<ol reversed><li>A<li>B</ol>", "2. A\n\n1. B"),
        ("<ol style='list-style:none'><li>(a) A</ol>", "(a) A"),
        ("<ol><li>A<li style='list-style-type:none'>B<li>C</ol>", "1. A\n\nB\n\n3. C"),
        ("<ol start=x><li value=''>A</ol>", "1. A"),
        ("<ol><li><li>B</ol>", "2. B"),
        ("<ol><li><ol type=a><li><li>B</ol><li>C</ol>", "1. b. B\n\n2. C"),
        ("<ul><li>A</ul><ol><li>B</ol>", "A\n\n1. B"),
        ("<ol style='list-style: none outside'><li>(a) A</ol>", "(a) A"),
        ("<ol style='list-style : Outside  NONE'><li>(a) A</ol>", "(a) A"),
        ("<ol style='list-style:upper-roman inside'><li>A</ol>", "I. A"),
        ("<ol style='list-style-type:decimal-leading-zero'><li>A</ol>", "01. A"),
        (
            "<ol start=24 style='list-style-type:lower-greek'><li>A<li>B</ol>",
            "ω. A\n\nαα. B",
        ),
        ("<ol><li type=a>A<li type=I>B<li type=disc>C</ol>", "a. A\n\nII. B\n\nC"),
        ("<ul style='list-style-type:decimal'><li>A<li>B</ul>", "1. A\n\n2. B"),
        ("<ul type=1 start=3><li>A</ul>", "A"),
        (
            "<ol><li>A<menu><li>x</menu><dir><li>y</dir><li>B</ol>",
            "1. A\n\nx\n\ny\n\n2. B",
        ),
        ("<ol start='+3.'><li>A<li value='7b'>B</ol>", "3. A\n\n7. B"),
        ("<ol><li><pre>A\n B</pre><li>C</ol>", "1. A\n B\n\n2. C"),
        ("<pre>$500<sup>3</sup> a day,\n10<sup>4</sup></pre>", "$500 3 a day,\n10 4"),
        ("<table><tr><td><ol start=2><li>A</ol></td><td>B</td></tr></table>", "2. A B"),
        # A bare number at the edge of a page is left out if it continues the numbers of
        # other pages.
        (
            "<p>Shares:</p><p>1500<hr><p>The price is $<hr><p>12<hr><p>a unit.",
            "Shares:\n\n1500\n\nThe price is $\n\n12 a unit.",
        ),
        ("<p>a</p><p>8<hr><p>b</p><p>9<hr><p>c</p><p>10", "a b c"),
        ("<p>a</p><p>8<hr><p>b<hr><p>c</p><p>10<hr><p>d</p><p>40", "a b c d\n\n40"),
        ("<p>a</p><p>A-1<hr><p>b</p><p>A-2<hr><p>c</p><p>B-3", "a b c\n\nB-3"),
        ("<p>Section<hr><p>4<p>Assignment.", "Section\n\n4\n\nAssignment."),
        ("<p>I<p>Rent.<hr><p>II<p>Term.", "I\n\nRent.\n\nII\n\nTerm."),
        ("<p>Row</p><p>5<hr><p>6</p><p>7<p>Total", "Row\n\n5\n\n6\n\n7\n\nTotal"),
        ("<p>a</p><p>Page 2 of 9<hr><p>b</p><p>3<hr><p>c", "a b c"),
        ("<p>a</p><p>- 2 -<hr><p>Page iv<hr><p>3 of 9<p>c", "a c"),
        ("<p>a</p><p>1<hr><hr><hr><p>b</p><p>2", "a b"),
    ],
)
def test_figures_numbers_of_lists_and_numbers_of_pages_are_told_apart(html, text):
    assert contract_text(f"<html><body>{html}".encode()).text == text


def test_in_plain_text_only_the_number_behind_a_page_tag_is_that_of_the_page():
    body = b"Rent of\n<PAGE>   3\n200\n<PAGE>  4\ndollars\n"
    assert contract_text(body).text == "Rent of\n\n200\ndollars"


@pytest.mark.parametrize(
    "html",
    [
        "<p>5<sup>1</sup></p>" * 30_000,
        "<ol><li>a" * 9_000,
        "<ol reversed>" + "<li>a" * 50_000,
        "<p>a</p><p>7</p><hr>" * 30_000,
        "<p>" + "9" * 2_000_000,
    ],
)
def test_the_time_to_read_numbers_grows_with_the_length(html):
    started = time.process_time()
    contract_text(f"<html><body>{html}".encode())
    assert time.process_time() - started < 10
