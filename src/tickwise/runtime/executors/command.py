"""Commands and scripts: programs with arguments, started without a shell.

`${params.table}` and `${run.slot}` are filled in after the splitting, so a value is never split; `core.references`
says where they may stand. A script gets its values as variables.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ...core.definition import Command, Script
from ...core.references import fill_command
from ...core.settle import Succeeded
from ..step_context import StepContext
from .group import Program, run_program
from .result import AttemptResult, failed


async def run_command(command: Command, context: StepContext) -> AttemptResult:
    """Run a command. Raises InputError if it cannot be started."""
    return await _run_arguments(fill_command(command.arguments, context.run.references()), context)


async def run_script(script: Script, context: StepContext) -> AttemptResult:
    """Run a script, from a file that only its owner can read."""
    with TemporaryDirectory(prefix="tickwise-", ignore_cleanup_errors=True) as folder:
        return await _run_arguments([*_interpreter(script.text), _write_script(script.text, folder)], context)


async def _run_arguments(arguments: Sequence[str], context: StepContext) -> AttemptResult:
    end = await run_program(Program(arguments), context)
    return AttemptResult(Succeeded()) if end.code == 0 else failed(f"{end.describe()}\n{end.stderr_tail}".rstrip())


def _interpreter(text: str) -> list[str]:
    """The shebang as the kernel reads it: a program and at most one argument; `sh` without one."""
    first = text.split("\n", 1)[0].strip()
    return first[2:].split(None, 1) if first[:2] == "#!" and first[2:].strip() else ["sh"]


def _write_script(text: str, folder: str) -> str:
    path = Path(folder) / "script"
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)
