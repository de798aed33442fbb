"""Steps that wait for a person's yes or no (S75): somebody is asked, and the answer is looked for."""

from ..core.definition import Approval
from ..core.settle import Failed, Succeeded
from ..core.step_waits import StepAnswer, StepWait, answer_key, approver
from ..core.timeparse import format_duration, iso
from ..stores.records import MICRO
from .executors.result import AttemptResult, failed
from .look import looked, still_waits
from .step_context import StepContext, WaitingStep


async def follow_approval(approval: Approval, context: StepContext) -> AttemptResult:
    """Ask if nobody was asked yet, and look whether somebody has answered."""
    answers, waiting = context.services.answers, context.waiting
    if answers is None or waiting is None:
        return failed("a step with approve: needs a worker that can reach the store, and an engine has none")

    async def look() -> AttemptResult:
        now = await answers.now()
        wait = await _asked(approval, context, waiting, now // MICRO)
        answer = await answers.find(wait.key)
        if answer is None and 0 < wait.until <= now // MICRO:
            reason = f"nobody answered within {format_duration(wait.until - wait.since)}"
            answer = await answers.give(
                waiting.name, wait.key, StepAnswer(approval.on_timeout, now, reason=reason)
            )
        if answer is None:
            return still_waits(wait, now // MICRO, wait.until or None, approver(wait.role))
        return _answered(answer, wait)

    return await looked(look, waiting, "nobody was asked")


async def _asked(approval: Approval, context: StepContext, waiting: WaitingStep, now: int) -> StepWait:
    """What the step waits for. A new attempt goes on with the question, and gives people their time again."""
    wait, attempt = waiting.wait, context.run.attempt
    if wait is not None and wait.attempt == attempt:
        return wait
    until = 0 if approval.timeout is None else now + approval.timeout
    key = answer_key(waiting.name, attempt, waiting.number) if wait is None else wait.key
    wait = StepWait(attempt, now, key=key, role=approval.role, until=until)
    await waiting.keep(wait)
    context.log.write_note(f"waits for {approver(approval.role)}")
    return wait


def _answered(answer: StepAnswer, wait: StepWait) -> AttemptResult:
    if answer.is_yes:
        handed_on = {"by": answer.by, "reason": answer.reason, "at": iso(answer.at // MICRO)}
        return AttemptResult(Succeeded(), handed_on, wait=wait)
    return AttemptResult(Failed(by_person=True), error=str(answer), wait=wait)
