"""`max_starts`: at most so many runs of a schedule's slots in any time of a length (S77).

A schedule remembers when it started the newest of these runs, no more than the budget has. So the budget is judged
in the pass that decides the slot, and is committed with its cursor: no two passes use the same room.
"""

from collections.abc import Sequence

from .definition import Catchup, StartBudget
from .model import Schedule
from .policy import Skip, Wait, catchup_mode
from .reasons import Reason
from .timeparse import format_duration, iso


def over_budget(schedule: Schedule, budget: StartBudget, started_now: int, now: int) -> Skip | Wait | None:
    """Whether there is no room for one more run, beside those that this pass has started."""
    free_at = room_at(budget, (*schedule.recent_starts, *[now] * started_now))
    if free_at is None or free_at <= now:
        return None
    detail = f"{budget.count} in {format_duration(budget.per)}; there is room again at {iso(free_at)}"
    if catchup_mode(schedule) is Catchup.ALL:
        return Wait(Reason.WAITS_FOR_BUDGET, detail, until=free_at)
    return Skip(Reason.BUDGET, detail)


def room_at(budget: StartBudget, starts: Sequence[int]) -> int | None:
    """When there is room for one more run after these; none: there is."""
    return starts[-budget.count] + budget.per if len(starts) >= budget.count else None


def starts_to_remember(schedule: Schedule, started_now: int, now: int) -> tuple[int, ...]:
    """When the newest of its runs were started, as many as count."""
    budget = schedule.definition.policy.max_starts
    if budget is None:
        return ()
    starts = *schedule.recent_starts, *[now] * started_now
    return tuple(start for start in starts[-budget.count :] if start + budget.per > now)
