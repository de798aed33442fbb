"""Mistakes about blackouts, skips, deadlines and budgets, for `mutations`."""

from typing import Any

from tickwise.core import advance_requests, deadlines, planner, schedule_pass, start_budget
from tickwise.core.deadlines import Judged

from .mutation import Patches


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
