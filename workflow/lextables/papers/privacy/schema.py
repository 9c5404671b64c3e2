"""The privacy policy corpus as tables: policies by site, document, paragraph, sentence;
questions; codings.

A site's policy is the joined text of all its documents; the task of answers uses it as
one document.
"""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

_INTEGER = pa.int32()

SITES = Table(
    "sites",
    "The websites whose policies were coded, or are here.",
    (
        Column("site", pa.string(), "the site's domain, as released"),
        Column(
            "documents",
            _INTEGER,
            "how many documents its policy is made of; 0 where it is not here",
        ),
        Column("paragraphs", _INTEGER, "how many paragraphs they have together"),
        Column("words", _INTEGER, "words in them, split at white space"),
        Column("pairs", _INTEGER, "how many questions were answered about it"),
        Column("coders", _INTEGER, "the most responses that one of its questions has"),
    ),
    key=("site",),
    labels=("coders",),
)
DOCUMENTS = Table(
    "documents",
    "The documents of each site: its privacy policy and what that incorporates by reference.",
    (
        Column("site", pa.string(), "the site"),
        Column("place", _INTEGER, "the document's place among the site's, from 0"),
        Column("document", pa.string(), "its label in the release"),
        Column("name", pa.string(), "its title"),
        Column("paragraphs", _INTEGER, "how many paragraphs it has"),
        Column("words", _INTEGER, "words in it, split at white space"),
    ),
    key=("site", "place"),
)
PARAGRAPHS = Table(
    "paragraphs",
    "The paragraphs of each site's documents, in reading order.",
    (
        Column("site", pa.string(), "the site"),
        Column(
            "place",
            _INTEGER,
            "the paragraph's place in the site's whole policy, from 0",
        ),
        Column(
            "paragraph_id",
            pa.string(),
            "`<site>/<document>/<its place in the document, from 0>`",
        ),
        Column("document", pa.string(), "label of the document"),
        Column("text", pa.string(), "the paragraph as released, in Markdown"),
    ),
    key=("site", "place"),
)
SENTENCES = Table(
    "sentences",
    "The sentences of each paragraph by our own splitter (`sentences`), which is not quite the release's.",
    (
        Column("site", pa.string(), "the site"),
        Column("place", _INTEGER, "the paragraph's place in the site's policy"),
        Column("sentence", _INTEGER, "the sentence's place in the paragraph, from 0"),
        Column("paragraph_id", pa.string(), "the paragraph"),
        Column("start", _INTEGER, "offset in the paragraph, in characters"),
        Column("end", _INTEGER, "offset of what follows it"),
    ),
    key=("site", "place", "sentence"),
)
QUESTIONS = Table(
    "questions",
    "The questions, in the release's order.",
    (
        Column(
            "question_id", pa.string(), "the question's label, as Appendix A prints it"
        ),
        Column("category", pa.string(), "its category, as released"),
        Column(
            "question",
            pa.string(),
            "its wording in the coding tool, which is not Appendix A's",
        ),
        Column(
            "options",
            pa.list_(pa.string()),
            "the texts of its options, in order; one may be empty",
        ),
        Column("several", pa.bool_(), "whether more than one option may be chosen"),
    ),
    key=("question_id",),
    labels=("category", "several"),
    ordered=False,
)
OPTIONS = Table(
    "options",
    "The options of each question.",
    (
        Column("question_id", pa.string(), "the question"),
        Column("place", _INTEGER, "the option's place among the question's, from 0"),
        Column(
            "label",
            pa.string(),
            "its label in the codings; `.`: not applicable, `DND`: does not disclose",
        ),
        Column("text", pa.string(), "what it says"),
    ),
    key=("question_id", "place"),
    labels=("label",),
)
RESPONSES = Table(
    "responses",
    "What each coder answered to a question about a site.",
    (
        Column("site", pa.string(), "the site"),
        Column("question_id", pa.string(), "the question"),
        Column(
            "response",
            _INTEGER,
            "the response's place among those to the question, from 0",
        ),
        Column(
            "reader_id",
            pa.string(),
            "the release's coder_id, which tells coders apart nowhere",
        ),
        Column(
            "options",
            pa.list_(_INTEGER),
            "places of the chosen options, ascending; may be empty",
        ),
        Column(
            "confidence",
            pa.float64(),
            "the coder's own, 0 (Likert 1) to 1 (Likert 5)",
            nullable=True,
        ),
    ),
    key=("site", "question_id", "response"),
)
HIGHLIGHTS = Table(
    "highlights",
    "The sentences that a coder marked as relevant to a question about a site.",
    (
        Column("site", pa.string(), "the site"),
        Column("question_id", pa.string(), "the question"),
        Column("response", _INTEGER, "the response that they were marked for"),
        Column("document", pa.string(), "label of the document"),
        Column("paragraph", _INTEGER, "place of the paragraph in the document, from 0"),
        Column(
            "sentence",
            _INTEGER,
            "place of the sentence in the paragraph, from 0, as released",
        ),
        Column("paragraph_id", pa.string(), "the paragraph, as in `paragraphs`"),
        Column("here", pa.bool_(), "whether the policies at hand have this paragraph"),
    ),
    key=("site", "question_id", "response", "document", "paragraph", "sentence"),
    labels=("here",),
)
TABLES = {
    "privacy": (
        SITES,
        DOCUMENTS,
        PARAGRAPHS,
        SENTENCES,
        QUESTIONS,
        OPTIONS,
        RESPONSES,
        HIGHLIGHTS,
    )
}
