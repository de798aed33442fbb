"""The arguments of a function: params bound by name, checked before the call."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from inspect import Parameter, iscoroutinefunction, signature, unwrap
from typing import Any

from ...core.definition import JobDefinition
from ...core.errors import InputError
from ...core.events import own_params
from ...core.parameters import RUN, Parameters

_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def params_of(job: JobDefinition, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The job's params, overridden by those given to a run. They are copied, so a run cannot change the job's."""
    given = own_params(given)
    return {**deepcopy(dict(job.params)), **given} if job.params else given


def check_arguments(function: Callable[..., Any], params: Mapping[str, Any]) -> None:
    """Refuse params that the function does not take, and a function that needs more than it is given."""
    parameters_of(function).check(_function_name(function), params)


def check_names(function: Callable[..., Any], params: Mapping[str, Any]) -> None:
    """Refuse params that the function does not take."""
    parameters_of(function).check_names(_function_name(function), params)


def arguments_for(function: Callable[..., Any], params: Mapping[str, Any], run: Any) -> dict[str, Any]:
    """The params that the function takes, and the run if it takes that. Raises InputError if one is missing."""
    known = parameters_of(function)
    arguments = {
        name: value for name, value in params.items() if name in known.names or (known.takes_any and name != RUN)
    }
    if known.required:
        known.check(_function_name(function), arguments)
    if takes_run(function):
        arguments[RUN] = run
    return arguments


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of the function gives a coroutine; an object may have an async `__call__`."""
    return iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)


@lru_cache(maxsize=1024)
def takes_run(function: Callable[..., Any]) -> bool:
    """Whether the function has a parameter that gets the run."""
    return any(one.name == RUN and one.kind in _NAMED for one in _signature_of(function))


@lru_cache(maxsize=1024)
def parameters_of(function: Callable[..., Any]) -> Parameters:
    """Its parameters that can be given by name. Raises InputError for a function that cannot be called so."""
    parameters = _signature_of(function)
    required = [one for one in parameters if one.default is Parameter.empty]
    unnamed = [one.name for one in required if one.kind is Parameter.POSITIONAL_ONLY]
    if unnamed:
        raise InputError(f"{_function_name(function)} takes {', '.join(unnamed)} by position only, not by name")
    return Parameters(
        tuple(one.name for one in parameters if one.kind in _NAMED and one.name != RUN),
        tuple(one.name for one in required if one.kind in _NAMED and one.name != RUN),
        any(one.kind is Parameter.VAR_KEYWORD for one in parameters),
    )


def _signature_of(function: Callable[..., Any]) -> list[Parameter]:
    try:
        return list(signature(function).parameters.values())
    except (TypeError, ValueError):
        problem = "does not tell its parameters: wrap it in a function that does"
        raise InputError(f"{_function_name(function)} {problem}") from None


def _function_name(function: Callable[..., Any]) -> str:
    function = unwrap(function)
    return f"{getattr(function, '__qualname__', repr(function))}()"
