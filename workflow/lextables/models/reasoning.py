"""The reasoning of language models, which is never an answer.

Models of several families write their reasoning between marks: `<think>`,
`<thought_process>` and the like, `[THINK]` (Magistral), `◁think▷` (Kimi),
`<|begin_of_thought|>`, `<|START_THINKING|>` (Command), words or tokens of their own
(Apertus, Gemma, Granite, s1), and the channels of gpt-oss.
"""

import re

# A mark is a name of reasoning, possibly with a prefix and a suffix, between brackets.
# An end mark also has a slash or the word end (`_ends`).
_NAMES = (
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflect(?:ion)?|scratchpad|analysis)"
)
# Names that are marks only between angle brackets.
_MORE_NAMES = rf"(?:{_NAMES}|monologue|rationale|planning|cot)"
_PREFIX = r"(?:[\w-]{1,20}[:_-]|ant)?"
_SUFFIX = r"(?:[_-](?:process|steps?|trace|content|text))?"
_MARK = re.compile(
    rf"<\s?[|｜]?(/|end[_▁](?:of[_▁])?)?\s?(?:(?:begin[_▁]of|start)[_▁])?{_PREFIX}{_MORE_NAMES}{_SUFFIX}"
    rf"(?:\s[^<>]{{0,80}})?[|｜]?>|\[(/)?{_NAMES}\]|◁(/)?{_NAMES}▷",
    re.IGNORECASE,
)
# Pairs of an opening and an end mark of other forms.
_OTHER_MARKS = (
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    ("<unused94>", "<unused95>"),  # Gemma
    ("<|channel>", "<channel|>"),
    ("Here is my thought process:", "Here is my response:"),  # Granite
    ("Here's my thought process:", "Here's my response:"),
    ("<|im_start|>think", "<|im_start|>answer"),  # s1
)
# Tokens around an answer that a server should have removed.
_SPECIAL_TOKEN = re.compile(r"<[|｜][^<>|｜\s]{1,40}[|｜]>|</s>|<end_of_turn>")
_LONGEST_MARK = 50  # characters at the end of a prompt, with white space behind a mark
# Beginnings of answers that begin with reasoning; their first token may be a part of
# one.
_STARTS = (
    "<think",
    "<thought",
    "<reason",
    "<|channel|>",
    "<|begin_of_thought|>",
    "<|start_thinking|>",
    "[think",
    "◁think",
    "<|inner_prefix|>",
    "<unused94>",
    "<|channel>",
    "<|im_start|>think",
)
# Of gpt-oss: the mark of a channel, that of the answer's channel, and both as texts
# without special tokens have them (analysisWe need…assistantfinalB).
_CHANNEL = "<|channel|>"
_FINAL = re.compile(r"<\|channel\|>\s*final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_PLAIN_CHANNEL = re.compile(r"\s*(?:analysis|commentary)(?=[A-Z])")
_PLAIN_FINAL = "assistantfinal"


def answer_of(text: str) -> str:
    """Return a text without the reasoning in it; empty if it has nothing else.

    An opening mark without an end is an answer that was cut within its reasoning.  Text
    before an end mark without an opening one is reasoning too, because some chat
    templates write the opening mark.
    """
    if _CHANNEL in text:
        _, _, final = _FINAL.sub("\0", text).rpartition("\0")
        return final.partition("<|")[0] if _FINAL.search(text) else ""
    if _PLAIN_CHANNEL.match(text):
        return text.rpartition(_PLAIN_FINAL)[2] if _PLAIN_FINAL in text else ""
    for opening, end in _OTHER_MARKS:
        text = text.replace(opening, "<think>").replace(end, "</think>")
    return _SPECIAL_TOKEN.sub("", _outside_marks(text))


def _outside_marks(text: str) -> str:
    """Return the parts of a text that are not between marks."""
    marks = list(_MARK.finditer(text))
    if not marks:
        return text
    parts: list[str] = []
    start = 0
    reasons = False
    for mark in marks:
        if _ends(mark):
            # Without an opening mark, all text before it is reasoning.
            if not reasons:
                parts.clear()
            reasons = False
            start = mark.end()
        elif not reasons:
            parts.append(text[start : mark.start()])
            reasons = True
    return "" if reasons else "".join([*parts, text[start:]]).strip()


def begins_reasoning(token: str) -> bool:
    """Whether the first token of an answer is a mark of reasoning, or the first part of
    one.
    """
    name = token.strip().lower()
    if name in ("", "["):  # the latter also begins an answer such as [A]
        return False
    return any(start.startswith(name) or name.startswith(start) for start in _STARTS)


def closed(prompt: str) -> str:
    """Return a prompt that ends the reasoning which a chat template opens at its end.

    So the model answers at once.  A prompt without an opening mark at its end is
    returned as it is.
    """
    tail = prompt[-_LONGEST_MARK:].rstrip()
    mark = next(
        (each for each in _MARK.finditer(tail) if each.end() == len(tail)), None
    )
    if mark is None or _ends(mark):
        return prompt
    opening = mark[0]
    end = opening.replace("begin_of_", "end_of_").replace("START_", "END_")
    if end == opening:
        # <think> ends with </think>, [THINK] with [/THINK], <|think|> with <|/think|>.
        end = re.sub(r"\A.\|?", r"\g<0>/", opening)
    return f"{prompt}{end}\n\n"


def _ends(mark: re.Match[str]) -> bool:
    """Whether a mark is an end mark: it has a slash or the word end."""
    return any(mark.groups())
