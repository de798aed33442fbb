"""Middleware: what a program puts around each execution of its functions, such as a connection or a measurement.

A middleware makes a context manager from the run. A function in a thread is wrapped in that thread, an async one
in its own task: so what a middleware sets in a context variable, or binds to a thread, the function sees.
The first one is the outermost. What one raises ends the attempt, as if the function had raised it.

Where a function is imported by its name, in a process of its own or by an engine, its app is not known. So the
function itself carries the list of its app (docs/adr/0058).
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any, TypeAlias, TypeVar

from ...core.errors import InputError
from ..context import Run

T = TypeVar("T")
Middleware: TypeAlias = Callable[[Run], AbstractContextManager[Any]]
MiddlewareFunction: TypeAlias = Middleware | Callable[[Run], Iterator[None]]  # a generator that yields once
_ATTRIBUTE = "_tickwise_middleware"


def read_middleware(function: MiddlewareFunction) -> Middleware:
    """The context manager that a function describes; InputError if it describes none."""
    if not callable(function):
        raise InputError(f"{function!r} is no middleware: give a function of the run that yields once")
    if iscoroutinefunction(function) or isasyncgenfunction(function):
        raise InputError(
            f"the middleware {_name(function)} is async: write it with def, and it wraps async functions as well"
        )
    return contextmanager(function) if isgeneratorfunction(function) else function  # type: ignore[return-value]


def carry(function: Callable[..., Any], middleware: Sequence[Middleware]) -> None:
    """Let a function carry the middleware of its app; what takes no attributes is never imported by its name."""
    with suppress(AttributeError, TypeError):
        setattr(function, _ATTRIBUTE, middleware)


def carried(function: Callable[..., Any]) -> Sequence[Middleware]:
    """The middleware that a function carries."""
    found: Sequence[Middleware] = getattr(function, _ATTRIBUTE, ())
    return found


def call_within(middleware: Sequence[Middleware], run: Run, call: Callable[[], T]) -> T | None:
    """Call a function within its middleware; nothing is returned if a middleware has swallowed its exception."""
    with _entered(middleware, run):
        return call()
    return None


async def await_within(middleware: Sequence[Middleware], run: Run, call: Callable[[], Awaitable[T]]) -> T | None:
    """The same for an async function."""
    with _entered(middleware, run):
        return await call()
    return None


def _entered(middleware: Sequence[Middleware], run: Run) -> ExitStack:
    with ExitStack() as stack:
        for one in middleware:
            stack.enter_context(_manager(one, run))
        return stack.pop_all()


def _manager(middleware: Middleware, run: Run) -> AbstractContextManager[Any]:
    manager = middleware(run)
    if not isinstance(manager, AbstractContextManager):
        raise InputError(
            f"the middleware {_name(middleware)} returned {type(manager).__name__}: "
            "let it yield once, or return a context manager"
        )
    return manager


def _name(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', type(function).__name__)}"
