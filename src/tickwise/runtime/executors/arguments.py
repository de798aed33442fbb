"""The arguments of a function: params bound by name, checked before the call."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from inspect import Parameter, signature, unwrap
from typing import Any, NamedTuple

from ...core.definition import JobDefinition
from ...core.errors import InputError, did_you_mean, nearest_word

RUN = "run"  # a parameter of this name gets the run
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class _Parameters(NamedTuple):
    """The parameters of a function that can be given by name."""

    names: tuple[str, ...]
    required: tuple[str, ...]
    takes_any: bool  # it has **kwargs


def params_of(job: JobDefinition, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The job's params, overridden by those given to a run. They are copied, so a run cannot change the job's."""
    return {**deepcopy(dict(job.params)), **given} if job.params else given


def check_arguments(function: Callable[..., Any], params: Mapping[str, Any]) -> None:
    """Refuse params that the function does not take, and a function that needs more than it is given."""
    parameters = _parameters_of(function)
    if RUN in params and RUN in parameters.names:
        raise InputError(f"{_function_name(function)} gets `run` from Tickwise: a param cannot have that name")
    for name in params:
        if name not in parameters.names and not parameters.takes_any:
            names = [one for one in parameters.names if one != RUN]
            takes = f"it takes {', '.join(names)}" if names else "it takes none"
            near = nearest_word(name, names)
            problem = f"{_function_name(function)} has no parameter {name}{did_you_mean(near)}: {takes}"
            raise InputError(problem, nearest=near)
    arguments_for(function, params, None)


def arguments_for(function: Callable[..., Any], params: Mapping[str, Any], run: Any) -> dict[str, Any]:
    """The params that the function takes, and the run if it takes that. Raises InputError if one is missing."""
    names, required, takes_any = _parameters_of(function)
    arguments = {name: value for name, value in params.items() if takes_any or name in names} if params else {}
    if RUN in names:
        arguments[RUN] = run
    if required and (missing := [name for name in required if name not in arguments]):
        raise InputError(f"{_function_name(function)} needs a value for {', '.join(missing)}: give it in params")
    return arguments


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether the function has a parameter of this name."""
    return name in _parameters_of(function).names


@lru_cache(maxsize=1024)
def _parameters_of(function: Callable[..., Any]) -> _Parameters:
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        problem = "does not tell its parameters: wrap it in a function that does"
        raise InputError(f"{_function_name(function)} {problem}") from None
    required = [one for one in parameters if one.default is Parameter.empty]
    unnamed = [one.name for one in required if one.kind is Parameter.POSITIONAL_ONLY]
    if unnamed:
        raise InputError(f"{_function_name(function)} takes {', '.join(unnamed)} by position only, not by name")
    return _Parameters(
        tuple(one.name for one in parameters if one.kind in _NAMED),
        tuple(one.name for one in required if one.kind in _NAMED),
        any(one.kind is Parameter.VAR_KEYWORD for one in parameters),
    )


def _function_name(function: Callable[..., Any]) -> str:
    function = unwrap(function)
    return f"{getattr(function, '__qualname__', repr(function))}()"
