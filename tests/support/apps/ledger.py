"""An app whose jobs write their begins and ends into a ledger: `tickwise serve tests.support.apps.ledger:app`.

A line is `begin RUN ATTEMPT`, or `succeeded RUN ATTEMPT` and the like, said once the store has taken that end.
"""

import asyncio
import os
from threading import Event
from typing import Any

from tickwise import AsyncTickwise
from tickwise.app.hooks import Hooks, RunEvent

LEDGER = "ledger"
EACH_SECOND = "* * * * * *"


def write(what: str, run: str, attempt: int) -> None:
    """In one write, so that lines of several processes stand side by side."""
    ledger = os.open(LEDGER, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(ledger, f"{what} {run} {attempt}\n".encode())
    os.close(ledger)


def _ended(event: RunEvent) -> None:
    write(event.what, event.run, event.attempt)


app = AsyncTickwise(hooks=Hooks(on_run=_ended))


@app.job(EACH_SECOND, overlap="queue")
async def one_by_one(run: Any) -> None:
    write("begin", run.id, run.attempt)
    await asyncio.sleep(0.1)


@app.job(EACH_SECOND, overlap="skip", catchup="once")
async def slow(run: Any) -> None:
    write("begin", run.id, run.attempt)
    await asyncio.sleep(0.7)


@app.job(EACH_SECOND, overlap="allow", catchup="all")
def side_by_side(run: Any) -> None:
    write("begin", run.id, run.attempt)
    Event().wait(0.3)  # a sleep fails where libfaketime has turned the clock


@app.job(EACH_SECOND, at_most_once=True, overlap="allow", catchup="all")
async def at_most_once(run: Any) -> None:
    write("begin", run.id, run.attempt)
    await asyncio.sleep(0.2)
