"""Job files as request bodies: the fields of each document, and the position of each field in the file."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import InputError
from ..sources.spec.error import DefinitionError
from ..sources.spec.nodes import Flaw, ValueNode
from ..sources.yaml.composer import Budget, compose
from ..sources.yaml.text import MAX_BYTES, Source, UnusableText, read_file, split_documents
from .sender import ApiRefusal


@dataclass(frozen=True, slots=True)
class Document:
    """The fields of one job; with its source if it comes from a file."""

    fields: dict[str, Any]
    file: str = ""
    source: Source | None = None
    root: ValueNode | None = None

    def with_position(self, refusal: ApiRefusal) -> ApiRefusal:
        """The refusal with the line and column of the field that it names."""
        if self.source is None or self.root is None:
            return refusal
        path = tuple(int(part) if part.isdecimal() else part for part in (refusal.field or "").split("."))
        line, column = self.source.place(self.root.find(path).at)
        return refusal.at(f"{self.file}:{line}:{column}")


def read_documents(file: str) -> list[Document]:
    """All jobs of a file, or of the standard input for `-`."""
    text, shown = _read_text(file)
    try:
        sources = split_documents(text)
    except UnusableText as error:
        raise DefinitionError(str(error), file=shown, line=error.line, column=error.column) from None
    if not sources:
        raise InputError(f"{shown}: it contains no job")
    budget = Budget()
    return [_document(source, shown, budget) for source in sources]


def _read_text(file: str) -> tuple[str, str]:
    if file == "-":
        return sys.stdin.read(MAX_BYTES + 1), "standard input"
    errors: list[DefinitionError] = []
    text = read_file(Path(file), errors)
    if text is None:
        raise InputError("\n".join(map(str, errors)))
    return text, file


def _document(source: Source, file: str, budget: Budget) -> Document:
    root, flaws = compose(source, budget)
    if flaws:
        raise InputError("\n".join(_format_flaw(flaw, source, file) for flaw in flaws))
    fields = root.data() if root else None
    if not isinstance(fields, dict):
        raise InputError(f"{file}:{source.first_line}: a job is a mapping: write field: value in each line")
    return Document(fields, file, source, root)


def _format_flaw(flaw: Flaw, source: Source, file: str) -> str:
    line, column = source.place(flaw.at)
    path = ".".join(map(str, flaw.loc))
    return str(DefinitionError(flaw.problem, file=file, line=line, column=column, field=path))
