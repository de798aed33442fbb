"""Commands and scripts: programs with arguments, started without a shell.

`${params.table}` and `${run.slot}` in an argument are filled in after the splitting, so a value is never split or
read as code. The program itself and the text of `sh -c` may contain none. A script gets its values as variables.
"""

import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from ...core.definition import Command, Script
from ...core.errors import InputError, did_you_mean, nearest_word
from ...core.settle import Succeeded
from ..context import RunContext, as_text
from ..step_context import StepContext
from .group import Program, run_program
from .result import AttemptResult, failed

_PLACEHOLDER = re.compile(r"\$\{((?:params|run)\.[^}]*)\}")
_SHELLS = frozenset({"sh", "ash", "bash", "dash", "fish", "ksh", "zsh"})
_READS_CODE = re.compile(r"-[A-Za-z]*c")


async def run_command(command: Command, context: StepContext) -> AttemptResult:
    """Run a command. Raises InputError if it cannot be started."""
    return await _run_arguments(fill_in(command.arguments, context.run), context)


async def run_script(script: Script, context: StepContext) -> AttemptResult:
    """Run a script, from a file that only its owner can read."""
    with TemporaryDirectory(prefix="tickwise-", ignore_cleanup_errors=True) as folder:
        return await _run_arguments([*_interpreter(script.text), _write_script(script.text, folder)], context)


async def _run_arguments(arguments: Sequence[str], context: StepContext) -> AttemptResult:
    end = await run_program(Program(arguments), context)
    return AttemptResult(Succeeded()) if end.code == 0 else failed(f"{end.describe()}\n{end.stderr_tail}".rstrip())


def fill_in(arguments: Sequence[str], context: RunContext) -> list[str]:
    """The arguments with their placeholders filled in; unknown and unsafe ones are refused."""
    values = {f"params.{name}": as_text(value) for name, value in context.params.items()}
    values |= {f"run.{name}": text for name, text in context.facts().items()}
    program = arguments[0]
    if _PLACEHOLDER.search(program):
        raise InputError(f"{program} cannot be filled in: a param is an argument and does not choose the program")
    code = _code_argument(arguments)
    if code is not None and _PLACEHOLDER.search(arguments[code]):
        raise InputError(
            f"the text of {program} {arguments[code - 1]} cannot be filled in, for a shell reads values as code: "
            "use the variables TICKWISE_PARAM_…, or give the value as an argument behind the text"
        )

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in values:
            raise InputError(f"there is no value for {match[0]}{did_you_mean(nearest_word(name, list(values)))}")
        return values[name]

    return [_PLACEHOLDER.sub(value, argument) for argument in arguments]


def _code_argument(arguments: Sequence[str]) -> int | None:
    """The index of the argument that a shell reads as code."""
    if PurePath(arguments[0]).name not in _SHELLS:
        return None
    flags = (index for index, argument in enumerate(arguments[:-1]) if _READS_CODE.fullmatch(argument))
    flag = next(flags, None)
    return None if flag is None else flag + 1


def _interpreter(text: str) -> list[str]:
    """The shebang as the kernel reads it: a program and at most one argument; `sh` without one."""
    first = text.split("\n", 1)[0].strip()
    return first[2:].split(None, 1) if first[:2] == "#!" and first[2:].strip() else ["sh"]


def _write_script(text: str, folder: str) -> str:
    path = Path(folder) / "script"
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)
