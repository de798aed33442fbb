"""One document → one definition, or all that is wrong with it."""

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
from .error import MOST_ERRORS, DefinitionError, ErrorList, Loc, shown
from .messages import describe_errors, place
from .nodes import Budget, Flaw, YamlNode, compose
from .schema import JobSpec
from .text import Source


class Placed(NamedTuple):
    """A definition, and where it stands."""

    job: JobDefinition
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Read:
    """What was read from one document: a definition or errors, and the way back to its lines."""

    file: str
    source: Source
    root: YamlNode | None
    placed: Placed | None
    errors: tuple[DefinitionError, ...]

    def refuse(self, problem: str, *loc: str | int) -> DefinitionError:
        """An error of this document that only others beside it make one."""
        at = self.root.find(loc).at if self.root else 0
        return _error(Flaw(loc, problem, at), self.source, self.file)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the documents of one file."""

    file: str
    defaults: Defaults
    budget: Budget = field(default_factory=Budget)

    def read(self, source: Source, default_name: str | None) -> Read:
        """Read one document. Only the first of a file has a default name."""
        root, flaws = compose(source, self.budget)
        job = None
        if root is not None and not isinstance(root.value, dict):
            flaws.append(Flaw((), "a job file holds fields such as 'schedule:' and 'command:'", root.at))
        elif root is not None:
            flaws += [
                Flaw(loc, "is empty: give it a value, or remove it", root.key_at(loc)) for loc in _empty(root)
            ]
            job = self._define(root, source, default_name, flaws)
        errors = tuple(_told(flaws, source, self.file))
        line, _ = source.place(root.at if root else 0)
        placed = None if errors or job is None else Placed(job, self.file, line)
        return Read(self.file, source, root, placed, errors)

    def _define(self, root: YamlNode, source: Source, name: str | None, flaws: list[Flaw]) -> JobDefinition | None:
        """Check each value, then what depends on several: of that, what reads no broken field."""
        data = root.data()
        spec, errors = _validate(data)
        known = {flaw.loc for flaw in flaws}
        flaws += [flaw for flaw in describe_errors(errors, root, source) if flaw.loc not in known]
        broken = frozenset(str(flaw.loc[0]) for flaw in flaws if flaw.loc)
        if broken:
            spec, _ = _validate({key: value for key, value in data.items() if key not in broken})
        if spec is None:
            return None
        faults = ErrorList()
        job = build(_filled(spec, self.defaults), name, self.defaults.templates, broken, faults)
        flaws += [_flaw(loc, error, root, source) for loc, error in faults.found]
        if job is not None and not flaws:
            flaws += _unfit(job, root)
        return job


def _unfit(job: JobDefinition, root: YamlNode) -> Iterator[Flaw]:
    """What no store could keep, at the value that the refusal names: `params.account is …`."""
    if unfit := unfit_part(job):
        loc = tuple(unfit.path.lstrip(".").split(".")) if unfit.path else ()
        yield Flaw(loc, unfit.problem if loc else f"it {unfit.problem}", root.find(loc).at)


def _flaw(loc: Loc, error: InputError, root: YamlNode, source: Source) -> Flaw:
    position = error.position if isinstance(error, CronError) else None
    return Flaw(loc, str(error), place(root, loc, source, error), position, error.nearest)


def _validate(data: dict[str, Any]) -> tuple[JobSpec | None, list[ErrorDetails]]:
    try:
        return JobSpec.model_validate(data), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _filled(spec: JobSpec, defaults: Defaults) -> JobSpec:
    given = {"timezone": defaults.timezone, "grace": defaults.grace}
    return spec.model_copy(update={name: value for name, value in given.items() if getattr(spec, name) is None})


def _empty(root: YamlNode) -> Iterator[Loc]:
    """Fields without a value. In params, `null` is one."""
    return (loc for loc, node in root.walk() if node.value is None and (len(loc) == 1 or loc[:1] != ("params",)))


def _told(flaws: Iterable[Flaw], source: Source, file: str) -> Iterator[DefinitionError]:
    """The errors in the order of the lines; of very many, the first."""
    found = sorted(flaws, key=lambda flaw: flaw.at)
    for flaw in found[:MOST_ERRORS]:
        yield _error(flaw, source, file)
    if len(found) > MOST_ERRORS:
        problem = f"and {len(found) - MOST_ERRORS} more errors in this document"
        yield _error(Flaw((), problem, found[MOST_ERRORS].at), source, file)


def _error(flaw: Flaw, source: Source, file: str) -> DefinitionError:
    line, column = source.place(flaw.at)
    way = ".".join(shown(str(part)) for part in flaw.loc)
    return DefinitionError(
        flaw.problem, file=file, line=line, column=column, field=way, position=flaw.position, nearest=flaw.nearest
    )
