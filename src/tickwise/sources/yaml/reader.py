"""Reads the documents of a text: each gives a definition, or all its errors."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ...core.codec import unfit_part
from ...core.definition import JobDefinition
from ...core.errors import CronError, InputError
from ..defaults import Defaults
from .build import build
from .error import MAX_ERRORS, DefinitionError, ErrorList, Loc, printable
from .messages import describe_errors, position_of
from .nodes import Budget, Flaw, YamlNode, compose
from .schema import JobSpec
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
    root: YamlNode | None
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


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads the documents of one file."""

    file: str
    defaults: Defaults
    budget: Budget = field(default_factory=Budget)

    def read(self, source: Source, default_name: str | None) -> ParsedDocument:
        """Read one document. Only the first one of a file has a default name."""
        root, flaws = compose(source, self.budget)
        job = None
        if root is not None and not isinstance(root.value, dict):
            flaws.append(Flaw((), "a job file holds fields such as 'schedule:' and 'command:'", root.at))
        elif root is not None:
            problem = "is empty: give it a value, or remove it"
            flaws += [Flaw(loc, problem, root.key_at(loc)) for loc in _empty_fields(root)]
            job = self._define(root, source, default_name, flaws)
        errors = tuple(_to_errors(flaws, source, self.file))
        line, _ = source.place(root.at if root else 0)
        located = None if errors or job is None else LocatedJob(job, self.file, line)
        return ParsedDocument(file=self.file, source=source, root=root, located=located, errors=errors)

    def _define(self, root: YamlNode, source: Source, name: str | None, flaws: list[Flaw]) -> JobDefinition | None:
        """Check each value, then what depends on several values, unless one of those is broken."""
        data = root.data()
        spec, errors = _validate_fields(data)
        known = {flaw.loc for flaw in flaws}
        flaws += [flaw for flaw in describe_errors(errors, root, source) if flaw.loc not in known]
        broken = frozenset(str(flaw.loc[0]) for flaw in flaws if flaw.loc)
        if broken:
            spec, _ = _validate_fields({key: value for key, value in data.items() if key not in broken})
        if spec is None:
            return None
        build_errors = ErrorList()
        job = build(_with_defaults(spec, self.defaults), name, self.defaults.templates, broken, build_errors)
        flaws += [_flaw_of(loc, error, root, source) for loc, error in build_errors.found]
        if job is not None and not flaws:
            flaws += _check_encodable(job, root)
        return job


def _check_encodable(job: JobDefinition, root: YamlNode) -> Iterator[Flaw]:
    """An error if no store could keep the job, at the value that is the cause."""
    if unfit := unfit_part(job):
        loc = tuple(unfit.path.lstrip(".").split(".")) if unfit.path else ()
        yield Flaw(loc, unfit.problem if loc else f"it {unfit.problem}", root.find(loc).at)


def _flaw_of(loc: Loc, error: InputError, root: YamlNode, source: Source) -> Flaw:
    position = error.position if isinstance(error, CronError) else None
    at = position_of(root, loc, source, error)
    return Flaw(loc, str(error), at, position=position, nearest=error.nearest)


def _validate_fields(data: dict[str, Any]) -> tuple[JobSpec | None, list[ErrorDetails]]:
    try:
        return JobSpec.model_validate(data), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _with_defaults(spec: JobSpec, defaults: Defaults) -> JobSpec:
    values = {"timezone": defaults.timezone, "grace": defaults.grace}
    return spec.model_copy(update={name: value for name, value in values.items() if getattr(spec, name) is None})


def _empty_fields(root: YamlNode) -> Iterator[Loc]:
    """Fields without a value. In params, `null` is a value."""
    return (loc for loc, node in root.walk() if node.value is None and (len(loc) == 1 or loc[:1] != ("params",)))


def _to_errors(flaws: Iterable[Flaw], source: Source, file: str) -> Iterator[DefinitionError]:
    """The errors in the order of lines; only the first of very many."""
    ordered = sorted(flaws, key=lambda flaw: flaw.at)
    for flaw in ordered[:MAX_ERRORS]:
        yield _to_error(flaw, source, file)
    if len(ordered) > MAX_ERRORS:
        problem = f"and {len(ordered) - MAX_ERRORS} more errors in this document"
        yield _to_error(Flaw((), problem, ordered[MAX_ERRORS].at), source, file)


def _to_error(flaw: Flaw, source: Source, file: str) -> DefinitionError:
    line, column = source.place(flaw.at)
    path = ".".join(printable(str(part)) for part in flaw.loc)
    return DefinitionError(
        flaw.problem, file=file, line=line, column=column, field=path, position=flaw.position, nearest=flaw.nearest
    )
