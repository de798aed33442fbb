"""One bad job does not hold up the others of its pass (S20).

A pass may fail because the database refuses a plan, or because a damaged row holds what no code expects. It is
then made again in halves, until the bad job stands alone; that one is put off.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from ..log import get_logger
from .contract import StatementError
from .records import TickRequest, TickResult

_log = get_logger()
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


async def tick_isolated(
    tick: Callable[[TickRequest, list[str]], Awaitable[TickResult]],
    set_aside: Callable[[str, str], Awaitable[int]],
    request: TickRequest,
) -> TickResult:
    """A pass. One that is refused is made again in halves; a job that alone is refused is set aside.

    `tick` tells in its second argument which jobs it has claimed, `set_aside` gives the store's time.
    """
    claimed = list[str]()
    try:
        return await tick(request, claimed)
    except REFUSALS as refusal:
        if not claimed:
            raise
        _log.error("a plan was refused", error=describe(refusal), jobs=claimed[:10])
        if len(claimed) == 1:
            ticked = TickResult(await set_aside(claimed[0], describe(refusal)))
        else:
            ticked = await tick_in_halves(partial(tick_isolated, tick, set_aside), request, claimed)
        return ticked._replace(more=ticked.more or request.jobs is None)


def describe(refusal: Exception) -> str:
    """What is recorded of a job that is put off."""
    return str(refusal) if isinstance(refusal, StatementError) else f"{type(refusal).__name__}: {refusal}"
