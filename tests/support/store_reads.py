"""What a test sees of a store: reads and conditions, each over a store that is open."""

from collections.abc import Sequence

from tickwise.core.reasons import Verdict
from tickwise.core.states import FINAL, RunState
from tickwise.stores.contract import Store
from tickwise.stores.pages import all_pages
from tickwise.stores.records import DecisionFilter, DecisionRow, RunFilter, RunRow, StepReport

from .accounting import Told


async def runs_of(store: Store, job: str | None) -> list[RunRow]:
    """Oldest first."""
    rows = await all_pages(lambda after: store.insights.runs(RunFilter(job=job), after=after, limit=1_000))
    return rows[::-1]


async def told(store: Store) -> list[Told]:
    """All runs with their attempts, oldest first."""
    return [Told(run, await store.insights.attempts(run.id)) for run in await runs_of(store, None)]


async def steps(store: Store, runs: Sequence[RunRow]) -> list[tuple[StepReport, ...]]:
    return [await store.insights.steps(run.id) for run in runs]


async def decided(store: Store, schedule: str) -> list[DecisionRow]:
    """What was decided for good about slots that have no run, oldest first."""
    wanted = DecisionFilter(schedule=schedule)
    rows = await all_pages(lambda after: store.insights.decisions(wanted, after=after, limit=1_000))
    return [row for row in reversed(rows) if row.reason.verdict is not Verdict.DEFERRED]


async def all_over(store: Store, job: str | None = None, number: int = 0) -> list[RunRow] | None:
    """The runs, if they are so many at least and none is active."""
    rows = await runs_of(store, job)
    return rows if len(rows) >= number and all(row.state in FINAL for row in rows) else None


async def nothing_active(store: Store) -> bool:
    counts = (await store.insights.counts()).runs
    return not any(number for state, number in counts.items() if state not in FINAL)


async def succeeded(store: Store, number: int) -> bool:
    return (await store.insights.counts()).runs.get(RunState.SUCCEEDED, 0) == number


async def in_state(store: Store, run: str, state: RunState) -> RunRow | None:
    row = await store.insights.run(run)
    return row if row is not None and row.state is state else None


async def next_is(store: Store, schedule: str, slot: int) -> bool:
    row = await store.insights.schedule(schedule)
    return row is not None and row.next_slot == slot


async def decided_up_to(store: Store, schedule: str, second: int) -> bool:
    row = await store.insights.schedule(schedule)
    return row is not None and row.schedule.cursor >= second


async def passed_at(store: Store) -> int:
    """When a ticker last told of a pass."""
    return max(node.passed_at or 0 for node in await store.insights.nodes())


async def passed_after(store: Store, instant: int) -> bool:
    return await passed_at(store) > instant
