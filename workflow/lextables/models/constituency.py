"""Constituency parsers of the Berkeley Neural Parser, loaded by name or folder.

Kitaev and Klein (2018), Kitaev et al. (2019); the package is benepar 0.2.0.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lextables.pipeline.errors import BadInput

# Characters that benepar's own spaCy plugin replaces before it parses.
_TO_NORMAL = {
    "`": "'",
    "«": '"',
    "»": '"',
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "—": "--",
}


def load(model: str, *, device: str = "cpu") -> "Constituency":
    """Return the parser ``model``: a folder or file that benepar exports, or a name
    such as ``benepar_en3``.

    A name is searched in NLTK's data folders, where `benepar.download` stores it.
    Raises `BadInput` if it is missing.
    """
    if ("/" in model or model.startswith(".")) and not Path(model).exists():
        raise BadInput(
            "there is no such parser",
            where=model,
            do="name the folder of a benepar model, or benepar_en3",
        )
    _check_without_code(Path(model))
    from benepar.integrations import downloader

    try:
        with _special_tokens_restored():
            parser = downloader.load_trained_model(model)
    except LookupError as error:
        raise BadInput(
            "the constituency parser is not on this machine",
            where=model,
            do=f"run python -c \"import benepar; benepar.download('{model}')\", or name a model folder",
        ) from error
    return Constituency(parser.to(device).eval())


def _check_without_code(folder: Path) -> None:
    """Raise `BadInput` for a folder with its own code; benepar would ask the user
    interactively.
    """
    for path in (folder / "config.json", folder / "tokenizer_config.json"):
        if path.is_file() and "auto_map" in json.loads(
            path.read_text(encoding="utf-8")
        ):
            raise BadInput(
                "it contains its own code (auto_map)",
                where=str(path),
                do="name another parser",
            )


class Constituency:
    """A loaded parser.

    ``parse`` parses sentences one at a time, so a tree does not depend on other
    sentences of a batch.
    """

    def __init__(self, parser: Any) -> None:
        self._parser = parser

    @property
    def tags(self) -> bool:
        """Whether the model predicts part-of-speech tags too."""
        return self._parser.f_tag is not None

    def parse(
        self,
        sentences: Sequence[tuple[Sequence[str], Sequence[bool], Sequence[str]]],
        *,
        subbatch_tokens: int = 0,
    ) -> Iterator:
        """Yield the `nltk.Tree` of each sentence; None if it is too long or empty.

        A sentence is its words, whether a space follows each, and their tags, which are
        only used if the model has no tagger.  ``subbatch_tokens`` > 0 parses batches
        of that many subwords, which halves the time on a CPU and is necessary on a GPU;
        the last bits of scores, and trees in a tie, then depend on the batch.
        """
        examples = [_Sentence(*sentence) for sentence in sentences]
        usable = [example for example in examples if self._fits(example)]
        if subbatch_tokens:
            parsed = iter(
                self._parser.parse(usable, subbatch_max_tokens=subbatch_tokens)
            )
        else:
            parsed = (
                tree for example in usable for tree in self._parser.parse([example])
            )
        fitting = {id(example) for example in usable}
        for example in examples:
            yield next(parsed) if id(example) in fitting else None

    def _fits(self, example: "_Sentence") -> bool:
        """Return whether the model can read a sentence: not empty and not too long."""
        if not example.words:
            return False
        retokenizer = self._parser.retokenizer
        tokenizer = getattr(retokenizer, "tokenizer", None)
        limit = getattr(tokenizer, "model_max_length", None) or 512
        if self._parser.encoder is not None:
            limit = min(limit, self._parser.add_timing.timing_table.shape[0])
            if len(example.words) + 2 > limit:
                return False
        if tokenizer is None:
            return True
        text = ""
        for word, space in zip(example.words, example.space_after, strict=True):
            text += f"{word} " if space else word
        return len(tokenizer(text)["input_ids"]) <= limit


class _Sentence:
    """An input sentence with the attributes of benepar's ``BaseInputExample``."""

    tree = None  # of a sentence that is not parsed yet

    def __init__(
        self, words: Sequence[str], space_after: Sequence[bool], tags: Sequence[str]
    ) -> None:
        self.words = [_TO_NORMAL.get(word, word) for word in words]
        self.space_after = list(space_after)
        self._leaves = list(zip(words, tags, strict=True))

    def leaves(self) -> list[str]:
        return [word for word, _ in self._leaves]

    def pos(self) -> list[tuple[str, str]]:
        return self._leaves


@contextmanager
def _special_tokens_restored() -> Iterator[None]:
    """Add ``build_inputs_with_special_tokens`` to fast tokenizers during loading.

    benepar 0.2.0 calls it once, with a dummy id, to find the start and stop tokens;
    transformers 5 has removed it.  Two special tokens are cls and sep around the ids
    (BERT, RoBERTa), one is eos after them (T5, the encoder of benepar_en3), none leaves
    them bare (GPT-2).
    """
    from transformers import PreTrainedTokenizerFast as Fast

    name = "build_inputs_with_special_tokens"
    if hasattr(Fast, name):
        yield
        return

    def build(self: Fast, token_ids: list[int]) -> list[int]:
        added = self.num_special_tokens_to_add()
        if added == 2:
            return [self.cls_token_id, *token_ids, self.sep_token_id]
        return [*token_ids, self.eos_token_id] if added == 1 else list(token_ids)

    setattr(Fast, name, build)
    try:
        yield
    finally:
        delattr(Fast, name)
