"""Jobs that are Python functions, as an app declares them: `@tw.job(...)`."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import unwrap
from typing import Any, NamedTuple, Self

from ..core.definition import JobDefinition
from ..core.errors import ConflictError, InputError
from ..runtime.executors.arguments import check_arguments, check_names, parameters_of
from ..runtime.executors.function import Isolated
from ..runtime.executors.middleware import Middleware, MiddlewareFunction, carry, read_middleware
from ..sources.defaults import Defaults
from ..sources.spec import read_function_spec
from .options import as_job_fields

_POOLS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "thread": lambda function: function,
    "process": Isolated,
}


class ModuleExecution(NamedTuple):
    """One execution of the module of a function. Reloaded, a module keeps its globals and gets another spec."""

    variables: Mapping[str, Any]
    spec: object

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self:
        variables = getattr(unwrap(function), "__globals__", {})
        return cls(variables, variables.get("__spec__"))

    @property
    def is_interactive(self) -> bool:
        """Whether a person types it, in a shell or a notebook, and so corrects it by typing it again."""
        return hasattr(sys, "ps1") and self.spec is None and "__file__" not in self.variables

    def is_same(self, other: Self) -> bool:
        return self.variables is other.variables and self.spec is other.spec


@dataclass(frozen=True, slots=True)
class Declared:
    """A function, the fields it was declared with, and the job that they define."""

    function: Callable[..., Any]
    spec: Mapping[str, Any]
    place: str
    job: JobDefinition
    execution: ModuleExecution  # in which it was declared


class Registry:
    """What has been declared so far."""

    def __init__(self, defaults: Callable[[], Defaults]) -> None:
        self.declared: dict[str, Declared] = {}
        self.functions: dict[str, Callable[..., Any]] = {}  # by job; grows while workers look at it
        self.middleware: list[Middleware] = []  # grows as well
        self._defaults = defaults

    def wrap(self, function: MiddlewareFunction) -> None:
        """Put one more middleware around each function, inside those before."""
        self.middleware.append(read_middleware(function))

    def declare(
        self, function: Callable[..., Any], schedule: Any, name: str | None, options: dict[str, Any]
    ) -> None:
        """Read the options as the fields of a job file, and keep the function."""
        place = f"@job of {_qualified_name(function)}"
        chosen = name or getattr(function, "__name__", "")
        if not chosen:
            raise InputError(f"{place}: it has no name of its own: give one, @tw.job(name=…)")
        known = self.declared.get(chosen)
        if known and not _replaces(known, function):
            raise ConflictError(
                f"{place} ({_position(function)}): {_qualified_name(known.function)} "
                f"({_position(known.function)}) is the job {chosen} already: give one of them another name"
            )
        pool = options.pop("pool", "thread")
        if pool not in _POOLS:
            raise InputError(f"{place}: pool is {pool!r}: write {' or '.join(_POOLS)}")
        spec = {"name": chosen, "schedule": schedule, **as_job_fields(options)}
        job = self._read(spec, place, function)
        self.functions[chosen] = _POOLS[pool](function)
        carry(function, self.middleware)
        execution = ModuleExecution.of(function)
        self.declared[chosen] = Declared(
            function=self.functions[chosen], spec=spec, place=place, job=job, execution=execution
        )

    def _read(self, spec: Mapping[str, Any], place: str, function: Callable[..., Any]) -> JobDefinition:
        job = read_function_spec(spec, place, self._defaults()._replace(engines=None))
        check = check_arguments if job.schedules else check_names  # runs of a slot get no other params
        check(function, job.params)
        if job.engine:
            job = replace(job, engine=replace(job.engine, target=_target(function, place)))
        return replace(job, parameters=parameters_of(function))

    def check_engines(self) -> None:
        """Refuse jobs for engines that the settings do not name, or with options that their engine refuses.

        Not at the declaration: workers of an engine import the module as well, and have no such settings.
        """
        for known in self.declared.values():
            if known.job.engine:
                read_function_spec(known.spec, known.place, self._defaults())

    def read_again(self) -> None:
        """Read all declarations again: the defaults have changed."""
        for name, known in self.declared.items():
            job = self._read(known.spec, known.place, known.function)
            self.declared[name] = replace(known, job=job)

    def job_of(self, function: Callable[..., Any] | str) -> str:
        """The name of a job, given as that or as its function."""
        if isinstance(function, str):
            return function
        for name, declared in self.declared.items():
            if _unwrapped(declared.function) == _unwrapped(function):
                return name
        raise ConflictError(f"{_qualified_name(function)} is not a job: decorate it with @tw.job() first")


def _unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return function.function if isinstance(function, Isolated) else function


def _qualified_name(function: Callable[..., Any]) -> str:
    """Where a function is written, for people."""
    inner = _unwrapped(function)
    return f"{inner.__module__}.{getattr(inner, '__qualname__', type(inner).__qualname__)}"


def _target(function: Callable[..., Any], place: str) -> str:
    """How the workers of an engine import a function: `module:name`."""
    inner = _unwrapped(function)
    name = getattr(inner, "__qualname__", "<")
    if "<" in name:
        raise InputError(
            f"{place}: an engine imports the function by its name, and this one is local: move it out"
        )
    if inner.__module__ == "__main__":
        raise InputError(
            f"{place}: an engine imports the function from its module, and this one is in the program that was "
            "started: move it into a module of its own"
        )
    return f"{inner.__module__}:{name}"


def _position(function: Callable[..., Any]) -> str:
    """The file and the line of a function, for people."""
    code = getattr(unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else "not written in Python"


def _replaces(known: Declared, function: Callable[..., Any]) -> bool:
    """Whether a function may take the place of a job's: it is that one, or its module was executed again (S26)."""
    old, new = _unwrapped(known.function), _unwrapped(function)
    if old == new:
        return True
    execution = ModuleExecution.of(new)
    if _qualified_name(old) != _qualified_name(new):
        return False
    return execution.is_interactive or (_file(old) == _file(new) and not execution.is_same(known.execution))


def _file(function: Callable[..., Any]) -> str:
    return _position(function).rpartition(":")[0]
