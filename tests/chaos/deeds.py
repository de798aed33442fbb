"""The deeds of tests/e2e with three more: `tickwise serve tests.chaos.deeds:app`.

The first step of the pipeline leaves a program behind, which outlives its step, and its worker if that is killed.
"""

import asyncio
from typing import Any

from ..support.apps.ledger import EACH_SECOND, LEDGER, app, write
from .spans import measured

__all__ = ["JOBS", "LEDGER", "NARROW", "ONE", "ONE_BY_ONE", "PIPELINE", "app"]
JOBS = ("one_by_one", "slow", "side_by_side", "at_most_once", "flaky", "one_in_the_fleet", "pipeline")
ONE_BY_ONE = ("one_by_one", "slow", "flaky", "pipeline")
NARROW, ONE = "narrow", 1  # a queue, and how much of it the fleet may run at once
_ECHO = "echo {} $TICKWISE_RUN_ID $TICKWISE_ATTEMPT >> ledger"
PIPELINE = (
    'schedule: "*/2 * * * * *"', "overlap: queue", "steps:",
    f"  - {{name: first, command: [sh, -c, '{_ECHO.format('begin')}; setsid sleep 4 &']}}",
    f"  - {{name: second, depends: first, command: [sh, -c, '{_ECHO.format('second')}']}}",
)  # fmt: skip
app.middleware(measured)


@app.job(EACH_SECOND, overlap="latest", catchup="once", retry={"limit": 2, "interval": "1s"})
async def flaky(run: Any) -> None:
    """Fails at first, one time in three."""
    write("begin", run.id, run.attempt)
    await asyncio.sleep(0.05)
    if run.attempt == 1 and run.slot.second % 3 == 0:
        raise RuntimeError("as expected")


@app.job(EACH_SECOND, overlap="allow", catchup="skip", queue=NARROW)
async def one_in_the_fleet(run: Any) -> None:
    write("begin", run.id, run.attempt)
    await asyncio.sleep(0.2)
