"""Queries whose answers are snippets of files, as LegalBench-RAG releases them.

The format is ``{"tests": [{"query", "snippets": [{"file_path", "span", "answer"}]}]}``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import Strict, json_value, typed


class Snippet(Strict):
    """A span of a file (start and end in characters) and its text."""

    file_path: str
    span: Annotated[tuple[int, int], Field(strict=False)]
    answer: str


class Query(Strict):
    """A query and its snippets."""

    query: str = Field(min_length=1)
    snippets: list[Snippet] = Field(min_length=1)


class _Benchmark(Strict):
    tests: list[Query]


def read_queries(path: Path) -> Iterator[tuple[str, str, str, list[Snippet]]]:
    """Yield (place, query, file, snippets) of each query; all snippets of a query must be in one file.

    Raises `BadInput` for the first error.
    """
    again = "fetch the file again"
    content = json_value(path.read_bytes(), path.name, again)
    queries = typed(_Benchmark, content, path.name, again).tests
    for number, query in enumerate(queries, 1):
        where, files = (
            f"{path.name}, test {number}",
            {snippet.file_path for snippet in query.snippets},
        )
        if len(files) != 1:
            raise BadInput(
                f"has spans of {len(files)} files where there should be one",
                where=where,
            )
        yield where, query.query, files.pop(), query.snippets


def match_files(
    snippets: Mapping[str, Sequence[Snippet]],
    texts: Iterable[tuple[str, str]],
    name: str,
) -> dict[str, str]:
    """Return {file: name of its text}: the only one of ``texts`` that has all its snippets at their offsets.

    ``texts`` are (name, text), read one after another; ``name`` is the file of snippets, for messages.
    Raises `BadInput` if a file has no text or several, or if a text belongs to several files.
    """
    matched: dict[str, str] = {}
    for text_name, text in texts:
        for file in snippets:
            if all(
                text[slice(*snippet.span)] == snippet.answer
                for snippet in snippets[file]
            ):
                if file in matched or text_name in matched.values():
                    what = f"the spans of {file} do not identify its text: they also match {text_name}"
                    raise BadInput(what, where=name)
                matched[file] = text_name
    if missing := sorted(snippets.keys() - matched.keys()):
        raise BadInput(
            f"no contract has the spans of {missing[0]}",
            where=name,
            do="take the spans and the contracts from one release",
        )
    return matched
