"""Jobs that are Python functions, as an app declares them: `@tw.job(...)`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.definition import JobDefinition
from ..core.errors import ConflictError
from ..runtime.executors.arguments import check_arguments
from ..runtime.executors.function import Isolated
from ..sources.spec import read_function_spec


@dataclass(frozen=True, slots=True)
class Declared:
    """A function and the job that it is."""

    function: Callable[..., Any]
    job: JobDefinition


class Registry:
    """What has been declared so far."""

    def __init__(self, timezone: Callable[[], str]) -> None:
        self.declared: dict[str, Declared] = {}
        self._timezone = timezone

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        return {name: declared.function for name, declared in self.declared.items()}

    def declare(
        self, function: Callable[..., Any], schedule: Any, name: str | None, options: dict[str, Any]
    ) -> None:
        """Read the options as a job file would have them, and remember the function."""
        chosen = name or function.__name__
        place = f"@job of {function.__module__}.{function.__qualname__}"
        known = self.declared.get(chosen)
        if known and _home(known.function) != _home(function):
            raise ConflictError(
                f"{place}: {_home(known.function)} is the job {chosen} already: give one another name"
            )
        pool = options.pop("pool", "thread")
        spec = {"name": chosen, **options}
        if schedule is not None:
            spec["schedule"] = schedule
            spec.setdefault("timezone", self._timezone())
        job = read_function_spec(spec, place)
        if job.schedules:  # nobody else will give params
            check_arguments(function, job.params)
        self.declared[chosen] = Declared(Isolated(function) if pool == "process" else function, job)

    def job_of(self, function: Callable[..., Any] | str) -> str:
        """The name of a job, given as that or as its function."""
        if isinstance(function, str):
            return function
        for name, declared in self.declared.items():
            if declared.function is function or getattr(declared.function, "__wrapped__", None) is function:
                return name
        raise ConflictError(f"{_home(function)} is not a job: decorate it with @tw.job() first")

    def check(self, job: str, params: Mapping[str, Any]) -> None:
        """Whether a known function can be called with these params; what others know is checked by them."""
        declared = self.declared.get(job)
        if declared:
            check_arguments(declared.function, {**declared.job.params, **params})


def _home(function: Callable[..., Any]) -> str:
    inner = getattr(function, "__wrapped__", function)
    return f"{inner.__module__}.{inner.__qualname__}"
