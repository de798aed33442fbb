"""Questions of steps to people (S75), and how an answer is given.

An answer is kept beside the steps of the run, under a key that the step has kept before: the first one counts. A
timeout is an answer of nobody, given by the same move, so it cannot overrule a person who was first.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..core.definition import ApprovalAnswer
from ..core.mask import masked
from ..core.payload import UnreadableText, decode, to_json
from ..core.step_waits import APPROVAL, StepAnswer, StepWait
from ..stores.access_records import AuditEntry
from ..stores.contract import Store
from ..stores.records import RunFilter, StepReport
from .context import StepState

NOBODY = "timeout"  # in the audit, as who has answered
_MAX_WAITING = 1_000  # runs that are looked at


class AnswersOfRun:
    """The answers to the steps of one run, in the store."""

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._run = run

    async def now(self) -> int:
        """The store's microsecond (S5)."""
        return await self._store.now()

    async def find(self, key: str) -> StepAnswer | None:
        """The answer that counts."""
        return answer_in(await self._store.insights.steps(self._run), key)

    async def give(self, step: str, key: str, answer: StepAnswer) -> StepAnswer | None:
        """Answer, unless somebody was first; the answer that counts, or none if the run is over."""
        outputs = to_json({"by": answer.by, "reason": answer.reason})
        report = StepReport(key, str(answer.answer), finished_at=answer.at, outputs=outputs)
        if not await self._store.answer_step(self._run, report):
            return await self.find(key)
        after = masked({"step": step, "reason": answer.reason})
        entry = AuditEntry(answer.by or NOBODY, f"run.{answer.answer}", self._run, None, after)
        await self._store.access.record([entry])
        return answer


def answer_in(steps: Iterable[StepReport], key: str) -> StepAnswer | None:
    """The answer of a key among what is kept of a run."""
    return next((_read_answer(step) for step in steps if step.name == key), None)


def _read_answer(kept: StepReport) -> StepAnswer:
    try:
        said = decode(kept.outputs)
    except UnreadableText:
        said = {}
    by, reason = str(said.get("by", "")), str(said.get("reason", ""))
    return StepAnswer(ApprovalAnswer(kept.state), kept.finished_at or 0, by, reason)


class OpenApproval(NamedTuple):
    """A step that waits for an answer."""

    run: str
    job: str
    schedule: str | None
    step: str
    wait: StepWait


def unanswered(steps: Sequence[StepReport]) -> Iterator[tuple[str, StepWait]]:
    """The steps of a run that wait for an answer, which nobody has given yet."""
    names = {step.name for step in steps}
    for step in steps:
        wait = StepWait.of(step.waits_for) if step.state == StepState.WAITING else None
        if wait and wait.role and wait.key not in names:
            yield step.name, wait


async def open_approvals(store: Store) -> list[OpenApproval]:
    """Of runs that wait, the newest of them; the oldest question first."""
    rows = (await store.insights.runs(RunFilter(waits=True), limit=_MAX_WAITING)).items
    asking = [row for row in rows if APPROVAL in row.waits_for]
    found = [
        OpenApproval(row.id, row.job, row.schedule, step, wait)
        for row in asking
        for step, wait in unanswered(await store.insights.steps(row.id))
    ]
    return sorted(found, key=lambda one: one.wait.since)
