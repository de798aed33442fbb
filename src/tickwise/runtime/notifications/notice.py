"""What notifications report: failures for good, recoveries, missed slots and deadlines, approvals to give."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from ...core.deadline_forecast import DeadlineForecast
from ...core.deadlines import LATE
from ...core.payload import clip, first_line
from ...core.reasons import Reason
from ...core.step_waits import approver
from ...core.timeparse import iso
from ...stores.records import MICRO, DecisionRow, RunRow
from ..approvals import OpenApproval
from ..context import RunContext

MISSED = frozenset({Reason.MISSED, Reason.STOPPED_SINCE, Reason.TOO_OLD, Reason.TOO_MANY})
TOLD = MISSED | LATE
_TEST = "test"  # the occasion of a trial notice
_MAX_ERROR, _MAX_LINE = 4_000, 300  # characters


class Occasion(StrEnum):
    """The kinds of event that are reported."""

    FAILURE = "failure"  # a run ended failed or lost, and will not be tried again
    RECOVERY = "recovery"  # the first success after a failure
    MISSED = "missed"  # slots that no pass decided in time, and that will not run
    DEADLINE = "deadline"  # slots that have missed a deadline, or will probably miss it
    APPROVAL = "approval"  # a step waits for a person's answer


@dataclass(frozen=True, slots=True)
class Notice:
    """One notification. Equal keys are the same event, whichever node finds it."""

    key: str
    occasion: str  # an `Occasion`, or `test`
    at: int  # microseconds
    text: str
    context: RunContext  # the run, or the slots, as variables for commands
    facts: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The notice as JSON; chat services show `text`."""
        run = self.context
        about = {"id": self.key, "event": str(self.occasion), "at": iso(self.at // MICRO), "text": self.text}
        return about | {"job": run.job or None, "schedule": run.schedule, **self.facts}


def subject(run: RunRow) -> str:
    """What fails and recovers: the run's schedule, or its job if it has none."""
    return run.schedule or run.job


def about_run(occasion: Occasion, run: RunRow) -> Notice:
    """A failure or a recovery."""
    line = first_line(run.error, _MAX_LINE)
    reason = f": {line}" if line and occasion is Occasion.FAILURE else ""
    text = f"{subject(run)} {'is well again' if occasion is Occasion.RECOVERY else run.state}{reason}"
    error = clip(run.error, _MAX_ERROR)
    facts = {
        "run": run.id,
        "slot": None if run.slot is None else iso(run.slot),
        "state": str(run.state),
        "trigger": str(run.trigger),
        "attempt": run.attempt,
        "error": error,
    }
    context = RunContext(
        id=run.id,
        job=run.job,
        schedule=run.schedule,
        slot=run.slot,
        trigger=str(run.trigger),
        attempt=run.attempt,
        env=_variables(occasion, text),
        outcome=str(run.state),
        error=error,
    )
    key = f"notify {occasion} {run.id} {run.attempt}"
    at = run.finished_at or run.created_at
    return Notice(key=key, occasion=occasion, at=at, text=text, context=context, facts=facts)


def about_slots(row: DecisionRow, job: str) -> Notice:
    """Missed slots or deadlines: one notice for all slots of one decision."""
    occasion, what = (Occasion.DEADLINE, "its deadline for ") if row.reason in LATE else (Occasion.MISSED, "")
    slots = f"{row.count} slots from {iso(row.first)} to {iso(row.last)}" if row.count > 1 else iso(row.first)
    text = f"{row.schedule} missed {what}{slots}: {row.reason.explain(row.detail)}"
    facts = {
        "reason": row.reason.code,
        "first": iso(row.first),
        "last": iso(row.last),
        "count": row.count,
        "advice": row.reason.advice,
    }
    context = RunContext(
        id="",
        job=job,
        schedule=row.schedule,
        slot=row.first,
        trigger="",
        attempt=0,
        env=_variables(occasion, text),
        outcome=row.reason.code,
    )
    key = f"notify {occasion} {row.schedule} {row.reason.code} {row.first}"
    return Notice(key=key, occasion=occasion, at=row.extended_at, text=text, context=context, facts=facts)


def about_approval(asked: OpenApproval, address: str = "") -> Notice:
    """A step that waits for a person; with the address of the API, where to answer."""
    until = f" until {iso(asked.wait.until)}" if asked.wait.until else ""
    url = f"{address.rstrip('/')}/#/runs/{asked.run}?step={quote(asked.step)}" if address else ""
    command = f"tickwise runs approve {asked.run} {asked.step}"
    text = f"{asked.job}, run {asked.run}: the step {asked.step} waits for {approver(asked.wait.role)}{until}"
    facts = {
        "run": asked.run,
        "step": asked.step,
        "role": asked.wait.role,
        "until": iso(asked.wait.until) if asked.wait.until else None,
        "command": command,
        "url": url or None,
    }
    text = f"{text}: {url or command}"
    context = RunContext(
        id=asked.run,
        job=asked.job,
        schedule=asked.schedule,
        env=_variables(Occasion.APPROVAL, text),
    )
    key = f"notify {Occasion.APPROVAL} {asked.run} {asked.wait.key}"
    at = asked.wait.since * MICRO
    return Notice(key=key, occasion=Occasion.APPROVAL, at=at, text=text, context=context, facts=facts)


def about_forecast(forecast: DeadlineForecast, at: int) -> Notice:
    """A deadline that will probably be missed: one notice for each deadline of a slot."""
    text = f"{forecast.schedule} {forecast.text}"
    facts = {
        "reason": forecast.reason.code,
        "slot": iso(forecast.slot),
        "deadline": iso(forecast.at),
        "probability": forecast.probability,
        "causes": [cause.text for cause in forecast.causes],
        "advice": "See tickwise deadlines for what delays it.",
    }
    context = RunContext(
        id="",
        job=forecast.job,
        schedule=forecast.schedule,
        slot=forecast.slot,
        trigger="",
        attempt=0,
        env=_variables(Occasion.DEADLINE, text),
        outcome=forecast.reason.code,
    )
    key = f"notify forecast {forecast.schedule} {forecast.reason.code} {forecast.slot}"
    return Notice(key=key, occasion=Occasion.DEADLINE, at=at, text=text, context=context, facts=facts)


def about_flaps(notice: Notice, changes: int) -> Notice:
    """What is told instead of a notice whose subject fails and recovers again and again."""
    name = notice.context.schedule or notice.context.job
    text = (
        f"{name} fails and recovers again and again, {changes} changes within an hour: no more until it is steady"
    )
    env = {**notice.context.env, "TICKWISE_TEXT": text}
    return replace(notice, key=f"{notice.key} flaps", text=text, context=replace(notice.context, env=env))


def trial_notice(now: int) -> Notice:
    """What a test of the channels sends; `now` in microseconds."""
    text = "This is a test of Tickwise's notifications."
    context = RunContext(
        id="", job="", schedule=None, slot=None, trigger="", attempt=0, env=_variables(_TEST, text)
    )
    return Notice(key=f"notify {_TEST} {now}", occasion=_TEST, at=now, text=text, context=context)


def _variables(occasion: str, text: str) -> dict[str, str]:
    return {"TICKWISE_EVENT": str(occasion), "TICKWISE_TEXT": text}
