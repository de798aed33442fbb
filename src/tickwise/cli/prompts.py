"""Confirmation before an action that cannot be undone."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ..core.errors import InputError
from .output import print_note

Yes = typer.Option("--yes", "-y", help="Do not ask for confirmation.")


async def confirm(question: str, *, yes: bool) -> None:
    """Ask on the terminal, and end the command unless the answer is yes; without a terminal, refuse."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{question} There is no terminal to ask on: pass --yes")
    with _interruptible():
        await asyncio.sleep(0)  # an earlier Ctrl-C is delivered here
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    if answer.strip().lower() not in ("y", "yes"):
        print_note("Nothing was changed.")
        raise typer.Exit(1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the question at once: the event loop would handle it only after the answer."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
