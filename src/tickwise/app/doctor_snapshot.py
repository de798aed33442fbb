"""What the doctor looks at: a snapshot of a store, of very much only the first pages."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple, TypeVar

from ..core.requirements import LiveWorkers
from ..core.states import RunState
from ..stores.contract import Store
from ..stores.records import (
    MICRO,
    JobRow,
    Node,
    Page,
    PauseInterval,
    Role,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
)
from ..stores.statistics import Counts
from .calendars import Calendar, stored_calendars
from .restoration import SetBack, set_backs
from .sources import DeclaredJobs
from .tickwise import AsyncTickwise
from .worker_advice import is_live, live_workers

T = TypeVar("T")
MAX_OVERDUE = 60  # seconds: a pending slot is looked at at least once a minute (S15)
_DAY = 86_400
_PAGE_SIZE, _MAX_PAGES = 1_000, 20
MAX_ROWS = _PAGE_SIZE * _MAX_PAGES  # of each kind
_QUEUED, _RUNNING = (RunFilter(states=frozenset({state})) for state in (RunState.QUEUED, RunState.RUNNING))


class StoreSnapshot(NamedTuple):
    """What the checks look at."""

    now: int  # microseconds
    jobs: list[JobRow]
    schedules: list[ScheduleRow]
    due: Page[ScheduleRow]  # overdue for a pass
    queued: list[RunRow]  # the newest of them, and of those that run
    running: list[RunRow]
    counts: Counts
    nodes: list[Node]  # live ones
    pause: PauseInterval | None
    own: DeclaredJobs  # of this app
    secrets: Collection[str]  # names that its settings have
    event_folders: Sequence[str]  # the same
    calendars: dict[str, Calendar]
    set_backs: list[SetBack]

    @property
    def second(self) -> int:
        return self.now // MICRO

    @property
    def workers(self) -> LiveWorkers:
        return live_workers(self.nodes, self.now)

    def nodes_of(self, role: Role) -> list[Node]:
        return [node for node in self.nodes if role in node.roles]


async def take_snapshot(store: Store, tickwise: AsyncTickwise) -> StoreSnapshot:
    insights, now = store.insights, await store.now()
    pauses = await insights.pauses()
    nodes = [node for node in await insights.nodes() if is_live(node, now)]
    return StoreSnapshot(
        now=now,
        jobs=await _first(lambda after: insights.jobs(after, _PAGE_SIZE)),
        schedules=await _first(lambda after: insights.schedules(after=after, limit=_PAGE_SIZE)),
        due=await insights.schedules(ScheduleFilter(due_before=now // MICRO - MAX_OVERDUE), limit=_PAGE_SIZE),
        queued=await _first(lambda after: insights.runs(_QUEUED, after, _PAGE_SIZE)),
        running=await _first(lambda after: insights.runs(_RUNNING, after, _PAGE_SIZE)),
        counts=await insights.counts(),
        nodes=nodes,
        pause=next((pause for pause in pauses if pause.until is None), None),
        own=tickwise.declared,
        secrets=tickwise.settings.secrets,
        event_folders=tickwise.settings.event_folders,
        calendars=await stored_calendars(store),
        set_backs=await set_backs(store, nodes, now - _DAY * MICRO),
    )


async def _first(read: Callable[[str | None], Awaitable[Page[T]]]) -> list[T]:
    found: list[T] = []
    after: str | None = None
    for _ in range(_MAX_PAGES):
        page = await read(after)
        found, after = [*found, *page.items], page.after
        if after is None:
            break
    return found
