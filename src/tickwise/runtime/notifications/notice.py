"""What people are told of: runs that failed for good, schedules that are well again, slots that were missed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ...core.payload import clip
from ...core.reasons import Reason
from ...core.timeparse import iso
from ...stores.records import MICRO, DecisionRow, RunRow
from ..context import RunContext

MISSED = frozenset({Reason.MISSED, Reason.TOO_OLD, Reason.TOO_MANY})
_LONGEST_ERROR, _LONGEST_LINE = 4_000, 300


class Occasion(StrEnum):
    """What can be worth a word."""

    FAILURE = "failure"  # a run ended failed or lost, and will not be tried again
    RECOVERY = "recovery"  # the first success after a failure
    MISSED = "missed"  # slots that nothing looked at in time, and that will not run


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell. Equal keys are the same thing, whoever finds it."""

    key: str
    occasion: Occasion
    at: int  # microseconds
    text: str
    context: RunContext  # the run, or the slots, as programs see them in variables
    facts: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """As JSON; `text` is what chat services show."""
        run = self.context
        about = {"id": self.key, "event": str(self.occasion), "at": iso(self.at // MICRO), "text": self.text}
        return about | {"job": run.job or None, "schedule": run.schedule, **self.facts}


def subject(run: RunRow) -> str:
    """What fails and recovers: the schedule, or the job if it was run without one."""
    return run.schedule or run.job


def about_run(occasion: Occasion, run: RunRow) -> Notice:
    """A failure or a recovery."""
    last = run.error.strip().rpartition("\n")[2][:_LONGEST_LINE]
    said = f": {last}" if last and occasion is Occasion.FAILURE else ""
    text = f"{subject(run)} {'is well again' if occasion is Occasion.RECOVERY else run.state}{said}"
    error = clip(run.error, _LONGEST_ERROR)
    facts = {
        "run": run.id, "slot": None if run.slot is None else iso(run.slot), "state": str(run.state),
        "trigger": str(run.trigger), "attempt": run.attempt, "error": error,
    }  # fmt: skip
    context = RunContext(
        run.id, run.job, run.schedule, run.slot, trigger=str(run.trigger), attempt=run.attempt,
        env=_variables(occasion, text), outcome=str(run.state), error=error,
    )  # fmt: skip
    key = f"notify {occasion} {run.id} {run.attempt}"
    return Notice(key, occasion, run.finished_at or run.created_at, text, context, facts)


def about_slots(row: DecisionRow, job: str) -> Notice:
    """Slots that were missed: one notice for all that are missed in a row."""
    slots = f"{row.count} slots from {iso(row.first)} to {iso(row.last)}" if row.count > 1 else iso(row.first)
    text = f"{row.schedule} missed {slots}: {row.reason.explain(row.detail)}"
    facts = {
        "reason": row.reason.code, "first": iso(row.first), "last": iso(row.last), "count": row.count,
        "advice": row.reason.advice,
    }  # fmt: skip
    context = RunContext(
        "", job, row.schedule, row.first, trigger="", attempt=0, env=_variables(Occasion.MISSED, text),
        outcome=row.reason.code,
    )  # fmt: skip
    key = f"notify {Occasion.MISSED} {row.schedule} {row.reason.code} {row.first}"
    return Notice(key, Occasion.MISSED, row.extended_at, text, context, facts)


def _variables(occasion: Occasion, text: str) -> dict[str, str]:
    return {"TICKWISE_EVENT": str(occasion), "TICKWISE_TEXT": text}
