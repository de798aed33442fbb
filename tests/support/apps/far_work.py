"""An app whose job is executed by an engine: `tickwise worker tests.support.apps.far_work:app`."""

import os
from pathlib import Path
from threading import Event
from typing import Any

from tickwise import AsyncTickwise

app = AsyncTickwise()


@app.job(engine="box", retry={"limit": 1, "interval": "1s"})
def far(folder: str, run: Any) -> str:
    """Begins, and goes on until the file `end` is there or the run is cancelled."""
    place = Path(folder)
    with (place / "ledger").open("a") as ledger:
        ledger.write(f"begin {run.id} {run.attempt} {os.getpid()}\n")
    while not (place / "end").exists():
        if run.cancelled:
            return "cancelled"
        Event().wait(0.05)
    run.log("the end is near")
    return "done"
