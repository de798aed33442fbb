"""Mistakes about blackouts, skips, deadlines and budgets, for `mutations`."""

from typing import Any

from tickwise.core import advance_requests, deadlines, planner, schedule_pass, start_budget
from tickwise.core.audit import Fault
from tickwise.core.deadlines import Judged

from .mutation import Mutation, Patches


def blackout_ignored() -> Patches:
    return [(advance_requests, "rest_end", lambda _blackouts, _second: None)]


def skip_ignored() -> Patches:
    def forgetful(schedule: Any, _own: Any, now: int, decisions: Any) -> Any:
        kept = tuple(mark for mark in schedule.skips if mark.slot > now)
        return advance_requests.Applied(schedule._replace(skips=kept), decisions)

    return [(advance_requests, "_skip_marked", forgetful)]


def budget_ignored() -> Patches:
    return [(planner, "over_budget", lambda *_facts: None)]


def budget_forgotten() -> Patches:
    """Only the newest start is remembered."""
    remember = start_budget.starts_to_remember
    return [(schedule_pass, "starts_to_remember", lambda *facts: remember(*facts)[-1:])]


def deadline_untold() -> Patches:
    judge = deadlines.judge

    def silent(*facts: Any) -> Judged:
        return judge(*facts)._replace(missed=())

    return [(schedule_pass, "judge", silent)]


def deadline_always_missed() -> Patches:
    return [(deadlines, "_is_met", lambda *_facts: False)]


def move_forgotten() -> Patches:
    """A moved fire that is to be skipped leaves what it has passed over undecided."""
    return [(advance_requests, "note_move", lambda schedule, _now: (schedule, ()))]


MUTATIONS: dict[str, Mutation] = {
    "a blackout is ignored": Mutation(blackout_ignored, 5, Fault.EXTRA, "made in a pause"),
    "a slot runs although a person skipped it": Mutation(skip_ignored, 5, Fault.EXTRA, "was to be skipped"),
    "a budget of starts is ignored": Mutation(budget_ignored, 5, Fault.EXTRA, "more than the budget"),
    "a budget remembers only the newest start": Mutation(budget_forgotten, 5, Fault.EXTRA, "more than the budget"),
    "a missed deadline is not recorded": Mutation(
        deadline_untold, 45, Fault.MISSED, "was late, and nothing says so"
    ),
    "work in time is said to be late": Mutation(deadline_always_missed, 10, Fault.EXTRA, "is said to be late"),
    "a moved fire that is skipped forgets what it passed over": Mutation(
        move_forgotten, 55, Fault.MISSED, "without a run or a reason"
    ),
}
