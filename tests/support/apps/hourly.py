"""Many jobs of every hour, on a moved clock: `tickwise serve tests.support.apps.hourly:app`.

Each run adds a byte to the ledger, and one in ten prints a line.
"""

import os
from typing import Any

from ...soak.size import JOBS, LEDGER
from .clocked import app

__all__ = ["app"]
_TALKATIVE = 10


async def work(run: Any) -> None:
    """A byte for each execution; in one write, so that several processes may do it."""
    if int(run.id) % _TALKATIVE == 0:
        run.log("done")
    ledger = os.open(LEDGER, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(ledger, b".")
    os.close(ledger)


for number in range(JOBS):
    app.job("0 * * * *", name=f"hourly-{number}", keep={"days": 1})(work)
