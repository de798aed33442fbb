"""The runs that steps of a run have begun (S74), its children: how they are found, begun and cancelled."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.model import Trigger
from ..core.states import ACTIVE, RunState
from ..core.step_waits import MAX_DEPTH, ChildKey, StepWait
from ..stores.contract import Store
from ..stores.records import MICRO, Enqueue, RunFilter, RunRow
from ..trace_context import current_traceparent
from .run_outputs import outputs_of


class ChildRuns:
    """The children of one run, in the store."""

    def __init__(self, store: Store, run: str, jobs: Sequence[str] = ()) -> None:
        self._store = store
        self._run = run
        self._jobs = jobs  # its own, and those of the runs above it

    def key(self, step: str, attempt: int, number: int) -> str:
        """The key of a new child: unlike that of any other try of any step."""
        return ChildKey(self._run, f"{attempt}.{number}.{step}").text

    def refusal(self, job: str) -> str:
        """Why no run of this job can be a child; empty if it can be one."""
        if job in self._jobs:
            return f"a run of {job} is above this one and waits for it: these jobs are steps of each other"
        deepest = f"{MAX_DEPTH} runs are above each other, which is the most there can be"
        return deepest if len(self._jobs) >= MAX_DEPTH else ""

    async def now(self) -> int:
        """The store's time (S5): another node may go on with the step."""
        return await self._store.now() // MICRO

    async def find(self, wait: StepWait) -> RunRow | None:
        if wait.run:
            return await self._store.insights.run(wait.run)
        found = await self._store.insights.runs(RunFilter(job=wait.job, key=wait.key), limit=1)
        return found.items[0] if found.items else None

    async def begin(self, wait: StepWait, params: Mapping[str, Any]) -> str:
        """ConflictError while its job has no free lane; InputError if it cannot be a run of that job."""
        asked = Enqueue(
            wait.job, Trigger.STEP, params, key=wait.key, by=f"run {self._run}", traceparent=current_traceparent()
        )
        return (await self._store.enqueue([asked]))[0].id

    async def outputs(self, child: RunRow) -> Mapping[str, Any]:
        return await outputs_of(self._store, child)

    async def cancel(self, child: str) -> None:
        await self._store.cancel(child)


def parent_of(row: RunRow | None) -> str | None:
    """Whose child a run is; none if it is nobody's."""
    key = ChildKey.of(row.key) if row and row.trigger is Trigger.STEP else None
    return key.parent if key else None


async def runs_above(store: Store, run: str) -> list[RunRow]:
    """The parent of a run, the parent of that, and so on; as far as they are kept."""
    found: list[RunRow] = []
    row = await store.insights.run(run)
    while len(found) < MAX_DEPTH and (parent := parent_of(row)) and (row := await store.insights.run(parent)):
        found.append(row)
    return found


async def active_children(store: Store, run: str) -> list[RunRow]:
    """The children of a run that have not ended."""
    waits = [StepWait.of(step.waits_for) for step in await store.insights.steps(run)]
    found = [await ChildRuns(store, run).find(wait) for wait in waits if wait and wait.job]
    return [child for child in found if child and child.state in ACTIVE]


async def cancel_children(store: Store, run: str) -> None:
    """A cancel goes down (S74)."""
    for child in await active_children(store, run):
        await cancel_run(store, child.id)


async def cancel_run(store: Store, run: str) -> RunState:
    """End a queued run and its children, or ask a running one to end, whose worker ends its children.

    No worker hears of the end of a queued run, so its parent is woken here.
    """
    state = await store.cancel(run)
    if state is RunState.CANCELLED:
        await cancel_children(store, run)
        if parent := parent_of(await store.insights.run(run)):
            await store.wake(parent)
    return state
