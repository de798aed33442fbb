"""Reads the documents of a text: each gives a definition, or all its errors."""

from dataclasses import dataclass, field
from typing import NamedTuple

from ...core.definition import JobDefinition
from ..defaults import Defaults
from ..spec.error import DefinitionError
from ..spec.nodes import Flaw, ValueNode
from ..spec.reader import first_flaws, read_job
from .composer import Budget, compose
from .text import Source, UnusableText, split_documents


class LocatedJob(NamedTuple):
    """A definition, with its file and line."""

    job: JobDefinition
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """One document after reading: a definition or errors, and the nodes to find its lines."""

    file: str
    source: Source
    root: ValueNode | None
    located: LocatedJob | None
    errors: tuple[DefinitionError, ...]

    def refuse(self, problem: str, *loc: str | int) -> DefinitionError:
        """An error of this document that comes from other documents beside it."""
        at = self.root.find(loc).at if self.root else 0
        return _to_error(Flaw(loc, problem, at), self.source, self.file)


def read_documents(
    text: str, file: str, default_name: str, defaults: Defaults
) -> tuple[list[ParsedDocument], list[DefinitionError]]:
    """All documents of a text, and their errors."""
    try:
        sources = split_documents(text)
    except UnusableText as error:
        return [], [DefinitionError(str(error), file=file, line=error.line, column=error.column)]
    if not sources:
        return [], [DefinitionError("there is no job in this file", file=file, line=1, column=1)]
    reader = DocumentReader(file, defaults)
    documents = [reader.read(source, None if i else default_name) for i, source in enumerate(sources)]
    return documents, [error for document in documents for error in document.errors]


def read_definition(
    text: str, name: str | None, defaults: Defaults
) -> tuple[JobDefinition | None, list[DefinitionError]]:
    """The one job of a text that is no file, with this name if it says none; or its errors."""
    try:
        sources = split_documents(text)
    except UnusableText as error:
        return None, [DefinitionError(str(error), file="", line=error.line, column=error.column)]
    if len(sources) != 1:
        line = sources[1].first_line if sources else 1
        problem = "this is more than one job: save one at a time" if sources else "there is no job yet"
        return None, [DefinitionError(problem, file="", line=line, column=1)]
    document = DocumentReader("", defaults).read(sources[0], name)
    return document.located and document.located.job, list(document.errors)


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads the documents of one file."""

    file: str
    defaults: Defaults
    budget: Budget = field(default_factory=Budget)

    def read(self, source: Source, default_name: str | None) -> ParsedDocument:
        """Read one document. Only the first one of a file has a default name."""
        root, flaws = compose(source, self.budget)
        job = read_job(root, flaws, default_name, self.defaults)
        errors = tuple(_to_error(flaw, source, self.file) for flaw in first_flaws(flaws))
        line, _ = source.place(root.at if root else 0)
        located = None if job is None else LocatedJob(job, self.file, line)
        return ParsedDocument(file=self.file, source=source, root=root, located=located, errors=errors)


def _to_error(flaw: Flaw, source: Source, file: str) -> DefinitionError:
    line, column = source.place(flaw.at)
    return DefinitionError(
        flaw.problem, file=file, line=line, column=column, field=flaw.field, position=flaw.position,
        nearest=flaw.nearest,
    )  # fmt: skip
