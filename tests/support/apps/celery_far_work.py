"""A job that Celery's workers import and execute: it writes down that it begins, and that it has ended."""

import os
from pathlib import Path
from threading import Event
from typing import Any

from tickwise import AsyncTickwise

app = AsyncTickwise()


@app.job(engine="celery", retry={"limit": 3, "interval": "1s"}, timeout="20s")
def noted(folder: str, run: Any) -> None:
    """Takes a moment, so that some are always under way."""
    note(folder, "begin", run)
    Event().wait(0.3)
    note(folder, "end", run)


def note(folder: str, what: str, run: Any) -> None:
    """One write, so that lines of several processes do not mix."""
    with (Path(folder) / "ledger").open("ab", buffering=0) as ledger:
        ledger.write(f"{what} {run.id}.{run.attempt} {os.getpid()}\n".encode())
