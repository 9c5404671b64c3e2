"""Constituency parsers of the Berkeley Neural Parser, loaded by the name or the folder that config gives.

Kitaev and Klein (2018), Kitaev et al. (2019); the package is benepar 0.2.0.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lextables.pipeline.errors import BadInput

# benepar's own spaCy plugin maps these characters so before it parses.
_TO_NORMAL = {"`": "'", "«": '"', "»": '"', "‘": "'", "’": "'", "“": '"', "”": '"', "—": "--"}


def load(model: str, *, device: str = "cpu") -> "Constituency":
    """Return the parser ``model``: a folder or file that benepar exports, or a name such as ``benepar_en3``.

    A name is looked up in NLTK's data folders, where `benepar.download` puts it.  Raises `BadInput` if
    it is not found.
    """
    if ("/" in model or model.startswith(".")) and not Path(model).exists():
        raise BadInput(
            "there is no such parser", where=model, do="name the folder of a benepar model, or benepar_en3"
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
    """Raise `BadInput` for a folder that asks to run code of its own, where benepar would ask a person."""
    for path in (folder / "config.json", folder / "tokenizer_config.json"):
        if path.is_file() and "auto_map" in json.loads(path.read_text(encoding="utf-8")):
            raise BadInput(
                "it asks to run code of its own (auto_map)", where=str(path), do="name another parser"
            )


class Constituency:
    """A loaded parser.

    ``parse`` maps sentences to `nltk.Tree`s, one at a time, so that the tree of a sentence depends on
    that sentence alone and not on what was batched with it.
    """

    def __init__(self, parser) -> None:
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
        """Yield the `nltk.Tree` of each sentence (words, whether a space follows each, their tags).

        The given tags are kept only if the model has no tagger.  None stands for a sentence that is
        longer than the model can take.  ``subbatch_tokens`` > 0 pads sentences of that many subwords
        together into one pass, which halves the time on a CPU and is what a GPU needs; the last bits of
        the scores then depend on the batch, and in a tie the tree may.
        """
        examples = [_Sentence(*sentence) for sentence in sentences]
        usable = [example for example in examples if self._fits(example)]
        if subbatch_tokens:
            parsed = iter(self._parser.parse(usable, subbatch_max_tokens=subbatch_tokens))
        else:
            parsed = (tree for example in usable for tree in self._parser.parse([example]))
        fitting = {id(example) for example in usable}
        for example in examples:
            yield next(parsed) if id(example) in fitting else None

    def _fits(self, example: "_Sentence") -> bool:
        if not example.words:
            return False
        retokenizer = self._parser.retokenizer
        limit = getattr(getattr(retokenizer, "tokenizer", None), "model_max_length", None) or 512
        if self._parser.encoder is not None:
            limit = min(limit, self._parser.add_timing.timing_table.shape[0])
            if len(example.words) + 2 > limit:
                return False
        if not hasattr(retokenizer, "tokenizer"):
            return True
        text = "".join(
            word + " " * space for word, space in zip(example.words, example.space_after, strict=True)
        )
        return len(retokenizer.tokenizer(text)["input_ids"]) <= limit


class _Sentence:
    """What benepar asks of an input sentence (its ``BaseInputExample``)."""

    tree = None

    def __init__(self, words: Sequence[str], space_after: Sequence[bool], tags: Sequence[str]) -> None:
        self.words = [_TO_NORMAL.get(word, word) for word in words]
        self.space_after = list(space_after)
        self._leaves = list(zip(words, tags, strict=True))

    def leaves(self) -> list[str]:
        return [word for word, _ in self._leaves]

    def pos(self) -> list[tuple[str, str]]:
        return self._leaves


@contextmanager
def _special_tokens_restored() -> Iterator[None]:
    """Give fast tokenizers ``build_inputs_with_special_tokens`` for the time of loading.

    benepar 0.2.0 calls it once, on a dummy id, to find where the start and stop tokens stand;
    transformers 5 has dropped it.  Two special tokens are cls and sep around the ids (BERT, RoBERTa), one
    is eos after them (T5, the encoder of benepar_en3), none leaves them bare (GPT-2).
    """
    from transformers import PreTrainedTokenizerFast as Fast

    if hasattr(Fast, "build_inputs_with_special_tokens"):
        yield
        return

    def build(self, token_ids: list[int]) -> list[int]:
        added = self.num_special_tokens_to_add()
        if added == 2:
            return [self.cls_token_id, *token_ids, self.sep_token_id]
        return [*token_ids, self.eos_token_id] if added == 1 else list(token_ids)

    Fast.build_inputs_with_special_tokens = build
    try:
        yield
    finally:
        del Fast.build_inputs_with_special_tokens
