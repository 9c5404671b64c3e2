"""Prompt templates in text files, with fields for texts.

A file of `resources/prompts` has a part for the role `system` and one for `user`,
separated by a line `---`; without such a line it is the user's part.  Fields are those
of `string.Template`, such as ${text}.

Texts are untrusted: they may contain instructions, or look like a field, the end of a
text or another turn of the conversation.  Substitution happens once, so a field inside
a text is not replaced; ${fence} is a line that no text contains, with which a prompt
marks the start and end of a text; and a space is inserted into the marks that separate
turns in chat templates.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template as _Template

from lextables.models.language_model import LanguageModel, Message, Prompt
from lextables.pipeline.errors import BadInput

FENCE = "fence"  # the field for the line around texts
_SHORTEST_FENCE = 5
# Start of the marks around turns in chat templates: <|im_start|>, <｜User｜>, </s>,
# <eos>, [INST], [|user|], <<SYS>>.
_TURN = re.compile(
    r"<(?=[|｜])|<(?=/?s>|[be]os>)|<(?=(?:start|end)_of_turn>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT)\]|\|\w+\|\])|<<(?=/?SYS>>)"
)
_PARTS = re.compile(r"^---[ \t]*\n", re.MULTILINE)


@dataclass(frozen=True)
class Template:
    """A prompt with fields: role and text of each part."""

    parts: tuple[Message, ...]

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields for texts."""
        names: set[str] = set()
        for part in self.parts:
            names.update(_Template(part.content).get_identifiers())
        return frozenset(names - {FENCE})

    def plain(self) -> list[list[str]]:
        """Return the template as JSON values for a run's settings; `plain_template` is
        the inverse.
        """
        return [[part.role, part.content] for part in self.parts]

    def filled(self, **texts: str) -> Prompt:
        """Return the prompt with a text in each field.

        Raises `BadInput` if a field has no text, or a text no field.
        """
        odd = self.fields ^ texts.keys()  # names on one side only
        if odd:
            name = min(odd)
            what = "has no text" if name in self.fields else "is missing"
            raise BadInput(
                f"${{{name}}} {what}",
                where="a prompt",
                do="use the task's names of fields",
            )
        values = {FENCE: fence(*texts.values())}
        for name, text in texts.items():
            values[name] = _TURN.sub(r"\g<0> ", text)
        messages = []
        for role, content in self.parts:
            filled = _Template(content).substitute(values)
            messages.append(Message(role, filled))
        return tuple(messages)


def load(path: str | Path) -> Template:
    """Read a prompt's file.

    Raises `BadInput` if it has no text, too many parts or a ``$`` without a field.
    """
    text = Path(path).read_text(encoding="utf-8")
    parts = [part.strip() for part in _PARTS.split(text)]
    if len(parts) > 2 or not all(parts):
        raise BadInput(
            "a prompt has a part for the user, and at most one before it for the system",
            where=str(path),
            do="put one line --- between them",
        )
    if not all(_Template(part).is_valid() for part in parts):
        raise BadInput(
            "a $ without a field",
            where=str(path),
            do="write ${name}, or $$ for the sign itself",
        )
    roles = ("system", "user")[-len(parts) :]
    return Template(tuple(map(Message, roles, parts)))


def fence(*texts: str) -> str:
    """Return a line of ``=`` that is longer than any run of them in ``texts``."""
    lines = re.findall("=+", "\n".join(texts))
    longest = max(map(len, lines), default=0)
    return "=" * max(_SHORTEST_FENCE, longest + 1)


def plain_template(parts: Iterable[Iterable[str]]) -> Template:
    """Return the template whose `Template.plain` this is."""
    return Template(tuple(Message(*part) for part in parts))


def fitted(
    model: LanguageModel,
    template: Template,
    answer_tokens: int,
    cut: Sequence[str],
    **texts: str,
) -> tuple[Prompt, bool]:
    """Return the template's prompt with ``texts``, and whether it was cut.

    It leaves ``answer_tokens`` of the model's window.  If it is too long, the texts of
    the fields ``cut`` are shortened to their first n words, with the largest n that
    fits.  Raises `BadInput` if not even one word fits, because an answer would then be
    about no text.
    """

    prompt = template.filled(**texts)
    window = model.window
    if window is None or not cut:
        return prompt, False

    def fits(prompt: Prompt) -> bool:
        return model.tokens(prompt) + answer_tokens <= window

    if fits(prompt):
        return prompt, False
    # Where the first n words of each text end.
    ends = {}
    for name in cut:
        words = re.finditer(r"\S+", texts[name])
        ends[name] = [0, *(word.end() for word in words)]

    def of_words(most: int) -> Prompt:
        shortened = dict(texts)
        for name, ends_of_words in ends.items():
            words = min(most, len(ends_of_words) - 1)
            shortened[name] = texts[name][: ends_of_words[words]]
        return template.filled(**shortened)

    # Bisection: ``least`` words fit (or are 0), ``most`` words do not.
    least = 0
    most = max(map(len, ends.values()))
    while least < most - 1:
        middle = (least + most) // 2
        if fits(of_words(middle)):
            least = middle
        else:
            most = middle
    if least == 0:
        raise BadInput(
            f"the window of {window:,} tokens is too short for a prompt with one "
            "word of its text, and the answer",
            where=model.name,
            do="use a model with a larger window",
        )
    return of_words(least), True
