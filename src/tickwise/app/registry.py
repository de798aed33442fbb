"""Jobs that are Python functions, as an app declares them: `@tw.job(...)`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core.definition import JobDefinition
from ..core.errors import ConflictError, InputError
from ..runtime.executors.arguments import check_arguments
from ..runtime.executors.function import Isolated
from ..sources.defaults import Defaults
from ..sources.spec import read_function_spec

_POOLS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "thread": lambda function: function,
    "process": Isolated,
}


@dataclass(frozen=True, slots=True)
class Declared:
    """A function, the fields it was declared with, and the job that they define."""

    function: Callable[..., Any]
    spec: Mapping[str, Any]
    place: str
    job: JobDefinition


class Registry:
    """What has been declared so far."""

    def __init__(self, defaults: Callable[[], Defaults]) -> None:
        self.declared: dict[str, Declared] = {}
        self.functions: dict[str, Callable[..., Any]] = {}  # by job; grows while workers look at it
        self._defaults = defaults

    def declare(
        self, function: Callable[..., Any], schedule: Any, name: str | None, options: dict[str, Any]
    ) -> None:
        """Read the options as the fields of a job file, and keep the function."""
        place = f"@job of {_qualified_name(function)}"
        chosen = name or getattr(function, "__name__", "")
        if not chosen:
            raise InputError(f"{place}: it has no name of its own: give one, @tw.job(name=…)")
        known = self.declared.get(chosen)
        if known and _qualified_name(known.function) != _qualified_name(function):
            raise ConflictError(
                f"{place}: {_qualified_name(known.function)} is the job {chosen} already: give one another name"
            )
        pool = options.pop("pool", "thread")
        if pool not in _POOLS:
            raise InputError(f"{place}: pool is {pool!r}: write {' or '.join(_POOLS)}")
        spec = {"name": chosen, "schedule": schedule, **options}
        job = read_function_spec(spec, place, self._defaults())
        if job.schedules:  # its runs get no other params
            check_arguments(function, job.params)
        self.functions[chosen] = _POOLS[pool](function)
        self.declared[chosen] = Declared(self.functions[chosen], spec, place, job)

    def read_again(self) -> None:
        """Read all declarations again: the defaults have changed."""
        for name, known in self.declared.items():
            job = read_function_spec(known.spec, known.place, self._defaults())
            self.declared[name] = replace(known, job=job)

    def job_of(self, function: Callable[..., Any] | str) -> str:
        """The name of a job, given as that or as its function."""
        if isinstance(function, str):
            return function
        for name, declared in self.declared.items():
            if _unwrapped(declared.function) == _unwrapped(function):
                return name
        raise ConflictError(f"{_qualified_name(function)} is not a job: decorate it with @tw.job() first")

    def check(self, job: str, params: Mapping[str, Any]) -> None:
        """Refuse params that a function of this app cannot be called with."""
        declared = self.declared.get(job)
        if declared:
            check_arguments(declared.function, {**declared.job.params, **params})


def _unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return function.function if isinstance(function, Isolated) else function


def _qualified_name(function: Callable[..., Any]) -> str:
    """Where a function is written, for people."""
    inner = _unwrapped(function)
    return f"{inner.__module__}.{getattr(inner, '__qualname__', type(inner).__qualname__)}"
