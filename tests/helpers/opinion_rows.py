"""Opinions and examples in the format of LawngNLI's construction, and a bag-of-words
encoder.
"""

import hashlib

import numpy as np

DIMENSIONS = 48


def encode(texts):
    """Return bag-of-words vectors of unit length; each word has a fixed random
    direction.
    """
    vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
            direction = np.random.default_rng(seed).standard_normal(DIMENSIONS)
            vector += direction.astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def opinion(case_id, text, place="Ohio", kind="majority", majorities=1, position=0):
    """Return a row of opinions, whose other columns have the same values in all."""
    names = ("name", "name_abbreviation", "court", "date", "reporter", "volume")
    same = dict.fromkeys(names, "x")
    same |= {
        "first_page": "1",
        "last_page": "2",
        "author": "",
        "citations": [],
        "pages": [],
        "body_end": 0,
    }
    return same | {
        "opinion_id": f"{case_id}-{position}",
        "case_id": case_id,
        "position": position,
        "jurisdiction": place,
        "opinion_type": kind,
        "majorities": majorities,
        "text": text,
    }


def example(
    example_id, cited, hypothesis, label="entail", citing=900, place="Ohio", **changed
):
    """Return a row of examples about the cases ``citing`` and ``cited``."""
    return {
        "example_id": example_id,
        "citing_case_id": citing,
        "citing_jurisdiction": place,
        "is_twin": False,
        "split": "test",
        "analysis": True,
        "label": label,
        "negated": False,
        "fault": None,
        "hypothesis": hypothesis,
        "cited_case_id": cited,
        "cited_jurisdiction": place,
        "pages": ["1"],
        "premise_example_id": example_id,
        "short_premise": "p",
        "support": 0.5,
        "short_premise_original": "p",
        "premise_start": 0,
        "premise_end": 1,
        "premise_spans": [],
    } | changed


def long_premise(case_id, text, tokens=3, closing=1):
    """Return a row of long premises."""
    return {
        "case_id": case_id,
        "opinion_id": f"{case_id}-0",
        "original": "x",
        "text": text,
        "tokens": tokens,
        "closing_paragraphs": closing,
    }


# Opinions that mention rent less and less often; then a dissent, one of two majority
# opinions, an opinion of another state, and an empty one.
ABOUT = [
    opinion(n, " ".join(["rent"] * (11 - n) + [f"word{n}"] * n)) for n in range(1, 11)
]
OTHERS = [
    opinion(20, "rent rent rent", kind="dissent"),
    opinion(21, "rent rent rent", majorities=2),
    opinion(22, "rent rent rent", place="Utah"),
    opinion(23, " \n"),
]
