"""A Python function in a process of its own, fresh for each call.

Nothing is pickled: the process reads JSON (the function and the run) from stdin and writes its answer as JSON to a
nameless file that both have open. Its output is the step's output, and it has the step's variables and folder. It
can be killed, and a crash affects nothing else (S46). A `json.py` in the step's folder is not
imported (`-P`). It costs the start of an interpreter, and the imports.
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
    """Where another process finds a function."""

    module: str
    name: str
    file: str = ""  # of the program, if the module is the program itself


def target_of(function: Callable[..., Any]) -> Target:
    """Where this function is found; InputError if it is not at the top of a module."""
    name, module = getattr(function, "__qualname__", "<"), getattr(function, "__module__", None)
    is_bound_method = ismethod(function) and not isinstance(function.__self__, type)
    if "<" in name or module is None or is_bound_method:
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
    """The target that `package.module:name` names."""
    module, _, name = text.partition(":")
    return Target(module, name)


async def call_in_process(target: Target, context: StepContext, *, strict: bool) -> AttemptResult:
    """Call the function and wait. With `strict`, params that it does not take are an error; otherwise left out.

    Raises InputError if it cannot be found or its arguments do not fit.
    """
    with TemporaryFile() as request, TemporaryFile() as answer:
        _write_request(request, answer, target, context, strict=strict)
        program = Program((sys.executable, "-P", "-u", "-c", _BOOT), stdin=request, pass_fds=(answer.fileno(),))
        end = await run_program(program, context)
        answer.seek(0)
        return _read_answer(answer.read(), end, context)


def _write_request(
    request: IO[bytes], answer: IO[bytes], target: Target, context: StepContext, *, strict: bool
) -> None:
    fields = {
        "path": [place or str(Path.cwd()) for place in sys.path],
        **target._asdict(),
        "context": context.run.to_json(),
        "strict": strict,
        "answer": answer.fileno(),
    }
    request.write(json.dumps(fields, default=dict).encode())
    request.seek(0)


def _read_answer(answer: bytes, end: Exit, context: StepContext) -> AttemptResult:
    match json.loads(answer) if answer else None:
        case {"returned": value}:
            return AttemptResult(Succeeded(), value)
        case {"no_result": problem}:
            context.log.write_warning(problem)
            return AttemptResult(Succeeded())
        case {"signal": kind, "seconds": seconds, "reason": reason}:
            return signalled(kind, seconds, reason)
        case {"raised": text}:
            return failed(text)
        case {"refused": text}:
            raise InputError(text)
        case _:
            return failed(f"its process ended without an answer: {end.describe()}\n{end.stderr_tail}".rstrip())
