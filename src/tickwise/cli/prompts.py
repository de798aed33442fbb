"""Questions before what cannot be undone."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ..core.errors import InputError
from .output import remark

Yes = typer.Option("--yes", "-y", help="Do not ask.")


async def make_sure(question: str, *, yes: bool) -> None:
    """Go on only if the person says so; in a pipe nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{question} Nobody can be asked here: say --yes")
    with _interruptible():
        await asyncio.sleep(0)  # a Ctrl-C from before is heard here
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    if answer.strip().lower() not in ("y", "yes"):
        remark("Nothing was changed.")
        raise typer.Exit(1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the question at once: the event loop would only hear of it after the answer."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
