"""One bad job does not hold up the others of its pass (S20).

A pass may fail because the database refuses a plan, or because a damaged row holds what no code expects. It is
then made again in halves, until the bad job stands alone; that one is put off.
"""

from collections.abc import Awaitable, Callable, Sequence

from .contract import StatementError
from .records import TickRequest, TickResult

# What a value of the wrong type, sign or size can cause. Other errors are bugs, and stop the pass.
REFUSALS = (StatementError, AttributeError, LookupError, OverflowError, TypeError, ValueError)
SET_ASIDE_SECONDS = 60  # for a job whose plan cannot be written


async def tick_in_halves(
    tick: Callable[[TickRequest], Awaitable[TickResult]], request: TickRequest, jobs: Sequence[str]
) -> TickResult:
    """Two passes over these jobs."""
    half, reserve = len(jobs) // 2, request.reserve
    first = await tick(request._replace(jobs=tuple(jobs[:half])))
    left = reserve and reserve._replace(capacity=reserve.capacity - len(first.leases))
    second = await tick(request._replace(jobs=tuple(jobs[half:]), reserve=left))
    return second._replace(
        jobs=first.jobs + second.jobs, runs=first.runs + second.runs, leases=first.leases + second.leases,
        more=first.more or second.more,
    )  # fmt: skip


def describe(refusal: Exception) -> str:
    """What is recorded of a job that is put off."""
    return str(refusal) if isinstance(refusal, StatementError) else f"{type(refusal).__name__}: {refusal}"
