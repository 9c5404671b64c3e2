"""What of a document is read for a question by a model that is asked it."""

from collections.abc import Iterator, Mapping
from typing import Any

from lextables.tasks.answers.collection import Collection, pairs
from lextables.tasks.answers.space import of_words

BETWEEN = "\n\n"  # paragraphs


def texts(data: Collection, settings: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield ((document, question), its text) of each pair that people answered, sorted.

    By the settings' ``text`` that is the `whole` document, or the ``best`` paragraphs that the question's
    words and its options' find there (`retrieved`), in reading order.  What is asked of a document follows
    one another: its prompts begin alike.
    """
    if settings["text"] == "whole":
        wholes = {name: BETWEEN.join(one.text for one in those) for name, those in data.paragraphs.items()}
        for document, question in pairs(data.shares, wholes):
            yield (document, question), wholes[document]
        return
    words = of_words(data.paragraphs, data.questions)
    for document, question in pairs(data.shares, data.paragraphs):
        place = words.place[document]
        here = words.of(place).start
        rows = words.best(place, words.column[question], settings["best"])
        yield (
            (document, question),
            BETWEEN.join(data.paragraphs[document][row - here].text for row in rows.tolist()),
        )
