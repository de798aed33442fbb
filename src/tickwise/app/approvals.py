"""Answers of people to steps that wait for them (S75).

The first answer counts, whoever gives it: the others are told which it was. What was answered is in the audit, and
so it is if nobody has answered in time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ..core.definition import Approval, ApprovalAnswer
from ..core.errors import ConflictError, InputError, did_you_mean, nearest_word
from ..core.step_waits import StepAnswer, StepWait
from ..core.timeparse import iso, to_datetime
from ..runtime.approvals import AnswersOfRun, answer_in, unanswered
from ..stores.contract import Store
from ..stores.records import MICRO, StepReport
from .values import instant, moment

MAX_REASON = 1_000  # characters


class NotAllowedError(InputError):
    """Whoever answers has not the role that the step asks for."""

    http_status = 403


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalInfo:
    """How a step stands that waits for an answer."""

    role: str
    since: datetime | None = None  # when it was asked for
    until: datetime | None = None  # how long it is waited for
    answer: str | None = None  # approve or reject
    by: str = ""  # empty: nobody has answered in time
    reason: str = ""
    answered_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredStep:
    """The answer that counts."""

    run: str
    step: str
    answer: str
    by: str
    reason: str
    at: datetime


def approval_info(action: Any, report: StepReport | None, steps: Iterable[StepReport]) -> ApprovalInfo | None:
    """How a step of a run stands, if it waits for an answer or has waited for one."""
    wait = StepWait.of(report.waits_for) if report else None
    role = wait.role if wait else action.role if isinstance(action, Approval) else ""
    if not role:
        return None
    if wait is None:
        return ApprovalInfo(role=role)
    asked = ApprovalInfo(role=role, since=instant(wait.since), until=instant(wait.until or None))
    given = answer_in(steps, wait.key)
    if given is None:
        return asked
    return replace(asked, answer=str(given.answer), by=given.by, reason=given.reason, answered_at=moment(given.at))


async def answer_step(
    store: Store, run: str, step: str | None, answer: ApprovalAnswer, *, by: str = "", reason: str = "",
    may: Callable[[str], bool] = lambda _role: True,
) -> AnsweredStep:  # fmt: skip
    """Approve or reject what a step waits for; without a step, the only one that waits. `may`: who has a role."""
    if len(reason) > MAX_REASON:
        raise InputError(f"reason: a reason has at most {MAX_REASON:,} characters", field="reason")
    if await store.insights.run(run) is None:
        raise InputError(f"there is no run {run!r}: it was never made, or is not kept any longer")
    steps = await store.insights.steps(run)
    name, wait = _asking_step(run, step, steps)
    if not may(wait.role):
        raise NotAllowedError(f"the step {name} of run {run} waits for the role {wait.role}, and {by} has less")
    answers = AnswersOfRun(store, run)
    own = StepAnswer(answer, await answers.now(), by, reason)
    given = await answers.give(name, wait.key, own)
    if given is None:
        raise ConflictError(f"run {run} is over: its step {name} waits for nobody any longer")
    if given != own:
        raise _answered_already(name, run, given)
    await store.wake(run)
    return AnsweredStep(
        run=run, step=name, answer=str(answer), by=by, reason=reason, at=to_datetime(given.at // MICRO)
    )


def _asking_step(run: str, step: str | None, steps: Sequence[StepReport]) -> tuple[str, StepWait]:
    """The step that is meant, and what it waits for; ConflictError if it does not wait."""
    found = dict(unanswered(steps))
    if step in found:
        return step, found[step]
    if step is not None:
        raise _not_asking(run, step, steps, list(found))
    if len(found) != 1:
        waiting = f"several approvals: say which, {', '.join(found)}" if found else "no approval"
        raise ConflictError(f"run {run} waits for {waiting}", field="step")
    return next(iter(found.items()))


def _not_asking(run: str, step: str, steps: Sequence[StepReport], others: Sequence[str]) -> ConflictError:
    report = next((one for one in steps if one.name == step), None)
    wait = StepWait.of(report.waits_for) if report else None
    if wait and (given := answer_in(steps, wait.key)):
        return _answered_already(step, run, given)
    near = did_you_mean(nearest_word(step, others))
    return ConflictError(f"the step {step[:100]} of run {run} does not wait for an approval{near}", field="step")


def _answered_already(step: str, run: str, given: StepAnswer) -> ConflictError:
    return ConflictError(f"the step {step} of run {run} was {given}, at {iso(given.at // MICRO)}")
