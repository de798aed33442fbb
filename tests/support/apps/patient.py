"""An app whose job goes on until it is told to end: `tickwise serve tests.support.apps.patient:app`."""

import asyncio
import os
from pathlib import Path
from typing import Any

from tickwise import AsyncTickwise

from .ledger import write

END = Path("end")  # a file that lets the job end
CANCELLED = "the patient job was cancelled\n"
app = AsyncTickwise()


def is_told_to_end() -> bool:
    return END.exists()


@app.job()
async def patient(run: Any) -> None:
    write("begin", run.id, run.attempt)
    try:
        while not is_told_to_end():  # noqa: ASYNC110  (a file is no event)
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        os.write(2, CANCELLED.encode())  # among the lines of the process's own log
        write("cancelled", run.id, run.attempt)
        raise
    write("done", run.id, run.attempt)
