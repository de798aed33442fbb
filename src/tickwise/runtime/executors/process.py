"""A Python function in a process of its own, fresh for each call.

Nothing is pickled: the process gets JSON (which function, which run) through stdin and leaves JSON in a nameless
file that both have open. What it prints is the step's output, it has the step's variables and folder, it can be
killed, and if it crashes nobody else notices (S46). It costs the start of an interpreter, and the imports.
"""

import json
import sys
from collections.abc import Callable
from inspect import ismethod
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from ...core.errors import InputError
from ...core.settle import Succeeded
from ..step_context import StepContext
from .group import Exit, Program, run_program
from .result import AttemptResult, failed, signalled

_BOOT = (
    "import json, sys; request = json.load(sys.stdin); sys.path[:] = request['path']; "
    "from tickwise.runtime.executors.child import main; main(request)"
)


class Target(NamedTuple):
    """Where a function is found by another process."""

    module: str
    name: str
    file: str = ""  # of the program, if the module is the program itself


def target_of(function: Callable[..., Any]) -> Target:
    """Where this function is found; InputError if it has no place of its own."""
    name, module = getattr(function, "__qualname__", "<"), getattr(function, "__module__", None)
    of_an_object = ismethod(function) and not isinstance(function.__self__, type)
    if "<" in name or module is None or of_an_object:
        raise InputError(
            f"{function!r} cannot run in a process of its own: define it with def at the top of a module"
        )
    if module != "__main__":
        return Target(module, name)
    main = sys.modules["__main__"]
    if spec := getattr(main, "__spec__", None):
        return Target(spec.name, name)
    if file := getattr(main, "__file__", None):
        return Target(module, name, str(Path(file).resolve()))
    raise InputError(f"{name} cannot run in a process of its own: put it into a file")


def named_target(text: str) -> Target:
    """The function that `package.module:name` stands for."""
    module, _, name = text.partition(":")
    return Target(module, name)


async def call_in_process(target: Target, here: StepContext, *, strict: bool) -> AttemptResult:
    """Call it and wait. `strict`: params that it does not take are an error, not left out.

    Raises InputError if it cannot be found or its arguments do not fit.
    """
    with TemporaryFile() as request, TemporaryFile() as answer:
        _write_request(request, answer, target, here, strict=strict)
        program = Program((sys.executable, "-u", "-c", _BOOT), stdin=request, pass_fds=(answer.fileno(),))
        end = await run_program(program, here)
        answer.seek(0)
        return _ended(answer.read(), end, here)


def _write_request(
    request: IO[bytes], answer: IO[bytes], target: Target, here: StepContext, *, strict: bool
) -> None:
    fields = {
        "path": [place or str(Path.cwd()) for place in sys.path],
        **target._asdict(),
        "context": here.context.to_json(),
        "strict": strict,
        "answer": answer.fileno(),
    }
    request.write(json.dumps(fields, default=dict).encode())
    request.seek(0)


def _ended(answer: bytes, end: Exit, here: StepContext) -> AttemptResult:
    match json.loads(answer) if answer else None:
        case {"returned": value}:
            return AttemptResult(Succeeded(), value)
        case {"unfit": problem}:
            here.log.caution(problem)
            return AttemptResult(Succeeded())
        case {"wish": kind, "seconds": seconds, "reason": reason}:
            return signalled(kind, seconds, reason)
        case {"raised": text}:
            return failed(text)
        case {"refused": text}:
            raise InputError(text)
        case _:
            return failed(f"its process ended without an answer: {end.in_words()}\n{end.last_words}".rstrip())
