"""Where a story happens: a folder, a store and a time of its own, and the processes that live there."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from tickwise import AsyncTickwise
from tickwise.core.cron.zone import zone
from tickwise.core.states import RunState
from tickwise.core.timeparse import instant, read_moment
from tickwise.stores.contract import Store
from tickwise.stores.records import DecisionRow, Node, Role, RunRow, ScheduleRow

from . import store_reads
from .fork_server import PATIENCE
from .races.file_clock import SharedClock
from .tickwise_processes import Nest, Process

T = TypeVar("T")
P = ParamSpec("P")
CLOCK = "TICKWISE_TEST_CLOCK"  # names the file in which the time stands
CLOCKED = "tests.support.apps.clocked:app"
SETTINGS = {"poll": 0.1, "renew": 0.1, "port": 0, "shutdown_grace": 5}
FAILED, SUCCEEDED = RunState.FAILED, RunState.SUCCEEDED
_NEWS = 0.1  # seconds to wait for news before a test looks again: most ends are news to nobody
_LIVE = Node("anybody", (Role.WORKER,), queues=("default", "feeds"), seconds=10**9)


class Deployment:
    """All processes of a story run here, configured by one file."""

    def __init__(
        self, nest: Nest, folder: Path, url: str, clock: SharedClock | None = None, **settings: Any
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.jobs = folder / "jobs"
        self.jobs.mkdir()
        self._nest = nest
        lines = [f"{name} = {value!r}" for name, value in {**SETTINGS, **settings, "store": url}.items()]
        (folder / "tickwise.toml").write_text("\n".join(lines))
        self._runner = asyncio.Runner()
        self.tickwise = AsyncTickwise(url, clock=clock, config=folder / "tickwise.toml")

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._nest.end_all()
        self.do(self.tickwise.close())
        self._runner.close()

    # What happens here.

    def start(self, role: str, *targets: str) -> Process:
        """A process of this place, with these targets; without any, on the moved clock and with the job files."""
        variables = {"PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        if self.clock:
            variables[CLOCK] = str(self.clock.path)
        return self._nest.start(self.folder, role, *(targets or (CLOCKED, "jobs")), variables=variables)

    def serve(self, *targets: str) -> Process:
        """A server that is up."""
        return self.start("serve", *targets).up()

    def write(self, name: str, *lines: str) -> None:
        """A job file; it appears whole."""
        new = self.folder / "new"
        new.write_text("\n".join(lines))
        new.rename(self.jobs / f"{name}.yaml")

    def move_to(self, time: str) -> None:
        """Set the clock under processes that live: by the new time they have not been seen for long."""
        self.on_store(lambda store: store.beat(_LIVE))
        self.move_to_while_down(time)

    def move_to_while_down(self, time: str) -> None:
        assert self.clock
        self.clock.set(second(time))

    # What is seen of it.

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def on_store(self, act: Callable[Concatenate[Store, P], Awaitable[T]], *given: P.args, **named: P.kwargs) -> T:
        async def acted() -> T:
            return await act(await self.tickwise.store(), *given, **named)

        return self.do(acted())

    def eventually(
        self, condition: Callable[Concatenate[Store, P], Awaitable[T | None]], *given: P.args, **named: P.kwargs
    ) -> T:
        """What the condition says as soon as it is something; looked at again at all news, and now and then."""

        async def waits(store: Store) -> T:
            async with asyncio.timeout(PATIENCE):
                while not (found := await condition(store, *given, **named)):
                    await store.wait(_NEWS)
                return found

        try:
            return self.on_store(waits)
        except TimeoutError:
            what = f"{condition.__name__}{given}"
            raise AssertionError(f"{what} is not so after {PATIENCE} s\n{self._nest.told()}") from None

    def ended(self, job: str, number: int = 1) -> list[RunRow]:
        """The runs of a job, oldest first, as soon as so many have ended and no other is active."""
        return self.eventually(store_reads.all_over, job, number)

    def runs(self, job: str | None = None) -> list[RunRow]:
        return self.on_store(store_reads.runs_of, job)

    def schedule(self, name: str) -> ScheduleRow | None:
        return self.on_store(lambda store: store.insights.schedule(name))

    def known(self, name: str) -> ScheduleRow:
        """The schedule, as soon as there is one."""
        return self.eventually(lambda store: store.insights.schedule(name))

    def decided(self, schedule: str) -> list[DecisionRow]:
        return self.on_store(store_reads.decided, schedule)

    def passes(self) -> None:
        """Wait until a ticker has begun and completed a pass: the first that it tells of may have begun before."""
        for _ in range(2):
            self.eventually(store_reads.passed_after, self.on_store(store_reads.passed_at))


def second(time: str) -> int:
    """`01:30` of the day on which stories happen, or a full date; in UTC."""
    text = time if "T" in time else f"2026-01-01T{time}"
    return instant(read_moment(text), zone("UTC"))


def times(slots: Iterable[int | None]) -> list[str]:
    """Slots as hours and minutes."""
    return [f"{(slot or 0) % 86_400 // 3_600:02}:{(slot or 0) % 3_600 // 60:02}" for slot in slots]
