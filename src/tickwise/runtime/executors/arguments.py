"""Which params a function takes: bound by name, checked before it is called."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from inspect import Parameter, signature, unwrap
from typing import Any, NamedTuple

from ...core.definition import JobDefinition
from ...core.errors import InputError, did_you_mean, nearest_word

RUN = "run"  # a parameter of this name gets the run
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class _Taken(NamedTuple):
    """What a function can be given by name."""

    names: tuple[str, ...]
    needed: tuple[str, ...]
    any_others: bool  # it has **kwargs


def params_of(job: JobDefinition, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The job's, and over them those given to a run; whatever it does to them, the next finds them as before."""
    return {**deepcopy(dict(job.params)), **given} if job.params else given


def check_arguments(function: Callable[..., Any], params: Mapping[str, Any]) -> None:
    """Refuse params that the function does not take, and a function that needs more than it is given."""
    taken = _taken_by(function)
    if RUN in params and RUN in taken.names:
        raise InputError(f"{_called(function)} gets `run` from Tickwise: a param cannot have that name")
    for name in params:
        if name not in taken.names and not taken.any_others:
            names = [one for one in taken.names if one != RUN]
            takes = f"it takes {', '.join(names)}" if names else "it takes none"
            near = nearest_word(name, names)
            problem = f"{_called(function)} has no parameter {name}{did_you_mean(near)}: {takes}"
            raise InputError(problem, nearest=near)
    arguments_for(function, params, None)


def arguments_for(function: Callable[..., Any], params: Mapping[str, Any], run: Any) -> dict[str, Any]:
    """Those of the params that the function takes, and the run if it asks for it; what it needs must be there."""
    names, needed, any_others = _taken_by(function)
    arguments = {name: value for name, value in params.items() if any_others or name in names} if params else {}
    if RUN in names:
        arguments[RUN] = run
    if needed and (missing := [name for name in needed if name not in arguments]):
        raise InputError(f"{_called(function)} needs a value for {', '.join(missing)}: give it in params")
    return arguments


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether the function has a parameter of this name."""
    return name in _taken_by(function).names


@lru_cache(maxsize=1024)
def _taken_by(function: Callable[..., Any]) -> _Taken:
    try:
        found = signature(function).parameters.values()
    except (TypeError, ValueError):
        problem = "does not tell its parameters: wrap it in a function that does"
        raise InputError(f"{_called(function)} {problem}") from None
    needed = [one for one in found if one.default is Parameter.empty]
    unnamed = [one.name for one in needed if one.kind is Parameter.POSITIONAL_ONLY]
    if unnamed:
        raise InputError(f"{_called(function)} takes {', '.join(unnamed)} by position only, not by name")
    return _Taken(
        tuple(one.name for one in found if one.kind in _NAMED),
        tuple(one.name for one in needed if one.kind in _NAMED),
        any(one.kind is Parameter.VAR_KEYWORD for one in found),
    )


def _called(function: Callable[..., Any]) -> str:
    function = unwrap(function)
    return f"{getattr(function, '__qualname__', repr(function))}()"
