"""Prompts as text files: what a language model is told, with fields for the texts that it is asked about.

A file of `resources/prompts` has a part for the role `system` and one for `user`, with a line `---` between
them; a file without such a line is the user's part alone.  Fields are those of `string.Template`, as ${text}.

Texts are data and may give orders of their own, or hold what looks like a field, like the end of a text or
like another turn of the conversation.  They are put in once, so a field within them stays as it is; ${fence}
is a line that none of them has, with which a prompt says where a text begins and ends; and the marks that
models know turns by are parted by a blank.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template as _Template

from lextables.models.language_model import LanguageModel, Message, Prompt
from lextables.pipeline.errors import BadInput

FENCE = "fence"
_SHORTEST_FENCE = 5
# How the marks begin that the templates of models write around turns: <|im_start|>, </s>, [INST], <<SYS>>.
_TURN = re.compile(r"<(?=\|)|<(?=/?s>)|<(?=(?:start|end)_of_turn>)|\[(?=/?INST\])|<<(?=/?SYS>>)")
_PARTS = re.compile(r"^---[ \t]*\n", re.MULTILINE)


@dataclass(frozen=True)
class Template:
    """A prompt with fields: the text of each part by its role, without the blanks around it."""

    parts: tuple[Message, ...]

    @property
    def fields(self) -> frozenset[str]:
        """The names of the texts that it wants."""
        found = (name for part in self.parts for name in _Template(part.content).get_identifiers())
        return frozenset(found) - {FENCE}

    def plain(self) -> list[list[str]]:
        """It as plain values, for the settings of a run; `plain_template` turns it back."""
        return [[part.role, part.content] for part in self.parts]

    def filled(self, **texts: str) -> Prompt:
        """Return the prompt with a text in each field.

        `BadInput` where a field has no text, or a text no field: the model would not be shown it.
        """
        if odd := self.fields ^ texts.keys():
            what = "is asked for but not given" if min(odd) in self.fields else "has no place in it"
            raise BadInput(f"${{{min(odd)}}} {what}", where="a prompt", do="name the fields as the task does")
        values = {name: _TURN.sub(r"\g<0> ", text) for name, text in texts.items()}
        values[FENCE] = fence(*texts.values())
        return tuple(Message(role, _Template(content).substitute(values)) for role, content in self.parts)


def load(path: str | Path) -> Template:
    """Read a prompt's file.

    `BadInput` where it has no text, too many parts or a ``$`` that begins no field.
    """
    *system, user = (part.strip() for part in _PARTS.split(Path(path).read_text(encoding="utf-8")))
    if len(system) > 1 or not user or not all(system):
        raise BadInput(
            "a prompt has a part for the user, and at most one before it for the system",
            where=str(path),
            do="put one line --- between them",
        )
    parts = (*(Message("system", part) for part in system), Message("user", user))
    if not all(_Template(part.content).is_valid() for part in parts):
        raise BadInput("a $ begins no field", where=str(path), do="write ${name}, or $$ for the sign itself")
    return Template(parts)


def fence(*texts: str) -> str:
    """Return a line of ``=`` that is longer than any run of them in ``texts``."""
    longest = max((len(run) for text in texts for run in re.findall("=+", text)), default=0)
    return "=" * max(_SHORTEST_FENCE, longest + 1)


def plain_template(parts: Iterable[Iterable[str]]) -> Template:
    """Return the template whose `Template.plain` this is."""
    return Template(tuple(Message(*part) for part in parts))


def fitted(
    model: LanguageModel, template: Template, room: int, cut: Sequence[str], **texts: str
) -> tuple[Prompt, bool]:
    """Return the prompt that leaves ``room`` tokens of the model's window, and whether texts were cut for it.

    The texts of the fields ``cut`` are cut to beginnings of as many words each, as long as will do.
    """
    prompt = template.filled(**texts)
    if not cut or model.window is None or model.tokens(prompt) + room <= model.window:
        return prompt, False
    ends = {name: [0, *(word.end() for word in re.finditer(r"\S+", texts[name]))] for name in cut}

    def of_words(most: int) -> Prompt:
        parts = {name: texts[name][: of[min(most, len(of) - 1)]] for name, of in ends.items()}
        return template.filled(**texts | parts)

    least, most = 0, max(map(len, ends.values()))
    while least < most - 1:
        middle = (least + most) // 2
        fits = model.tokens(of_words(middle)) + room <= model.window
        least, most = (middle, most) if fits else (least, middle)
    return of_words(least), True
