"""An app of small chores for long days: `tickwise serve tests.support.apps.chores:app jobs`."""

import asyncio
import os
from time import sleep
from typing import Any

from tickwise import AsyncTickwise

LEDGER = "ledger"
app = AsyncTickwise()


@app.job()
async def nothing(number: int) -> None:
    """Nothing but a line that it was done."""
    ledger = os.open(LEDGER, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(ledger, f"{number}\n".encode())
    os.close(ledger)


@app.job()
def in_a_thread(run: Any) -> str:
    run.log("in a thread")
    sleep(0.01)  # so that all threads that there may be are soon there
    return "done"


@app.job(queue="narrow", retry={"limit": 1, "interval": "1s"})
async def flaky(run: Any) -> None:
    """Fails at first, one time in five."""
    await asyncio.sleep(0.005)
    if run.attempt == 1 and int(run.id) % 5 == 0:
        raise RuntimeError("as expected")


@app.job()
async def endless() -> None:
    await asyncio.Event().wait()


@app.job(pool="process")
def function(alive: str) -> None:
    """Says that it is up, and goes on."""
    with open(alive, "w", buffering=1) as pipe:  # noqa: PTH123
        pipe.write("up\n")
        sleep(1_000)
