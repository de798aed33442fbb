"""The child of `process`: finds the function, calls it, writes the answer. Imports little, to start fast."""

import importlib
import json
import os
import runpy
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial, reduce
from inspect import iscoroutine
from types import FrameType
from typing import Any, NoReturn

from ...core.errors import InputError, did_you_mean, nearest_word
from ..context import Run, RunContext
from .arguments import arguments_for, check_arguments, is_async
from .failure import MAX_RAISED, failure_text
from .middleware import Middleware, await_within, call_within, carried
from .result import Signal, why_not_kept


def main(request: dict[str, Any]) -> None:
    os.set_inheritable(request["answer"], False)
    signal.signal(signal.SIGTERM, _on_sigterm)
    text = json.dumps(_call(request))
    with os.fdopen(request["answer"], "w", encoding="utf-8") as answer:
        answer.write(text)


def _on_sigterm(_signal: int, _frame: FrameType | None) -> NoReturn:
    """End by an exception, so that the function's `finally` and `with` blocks are executed."""
    sys.exit("it was asked to end")


def _call(request: dict[str, Any]) -> dict[str, Any]:
    try:
        function = find_function(request["module"], request["name"], request["file"])
        context = RunContext(**request["context"])
        if request["strict"]:
            check_arguments(function, context.params)
        run = context.as_run(print)
        call = partial(function, **arguments_for(function, context.params, run))
    except InputError as error:
        return {"refused": str(error)}
    try:
        return _encode_answer(_within(carried(function), run, call, on_loop=is_async(function)))
    except BaseException as error:  # noqa: BLE001 (whatever it is, the worker is told: S46)
        return _encode_answer(error) if isinstance(error, Signal) else {"raised": failure_text(error, MAX_RAISED)}


def _within(middleware: Sequence[Middleware], run: Run, call: Callable[[], Any], *, on_loop: bool) -> Any:
    """Call it within its middleware; a plain function that hands out a coroutine is wrapped again for that."""
    if on_loop:
        return _run_coroutine(await_within(middleware, run, call))
    value = call_within(middleware, run, call)
    if not iscoroutine(value):
        return value
    return _run_coroutine(await_within(middleware, run, lambda: value))


def _run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    import asyncio  # noqa: PLC0415 (most functions do not need it, and it takes half of the start)

    return asyncio.run(coroutine)


def _encode_answer(value: Any) -> dict[str, Any]:
    if isinstance(value, Signal):
        return {"signal": value.kind, "seconds": value.seconds, "reason": value.reason}
    problem = why_not_kept(value)
    return {"no_result": problem} if problem else {"returned": value}


def find_function(module: str, name: str, file: str = "") -> Callable[..., Any]:
    """Import a function; InputError says why it cannot be had."""
    try:
        names = _run_file(file) if file else vars(importlib.import_module(module))
    except BaseException as error:  # noqa: BLE001 (a module may do anything when it is imported, sys.exit too)
        raise InputError(f"{module} cannot be imported on this worker\n{failure_text(error)}") from None
    first, *inner = name.split(".")
    try:
        function: Any = reduce(getattr, inner, names[first])
    except (KeyError, AttributeError):
        functions = [word for word, value in names.items() if callable(value)]
        raise InputError(f"{module} has no function {name}{did_you_mean(nearest_word(name, functions))}") from None
    if not callable(function):
        raise InputError(f"{module}:{name} is not a function")
    called: Callable[..., Any] = function
    return called


def _run_file(file: str) -> dict[str, Any]:
    """The names that a program defines, without its `__main__` part."""
    return runpy.run_path(file, run_name="__tickwise_main__")
