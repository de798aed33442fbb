"""Everything between a run and its work on Celery breaks, with real processes: no attempt begins twice (S52-S56).

A node with the API, two that watch, a broker that keeps its data, a line to it that loses answers, and a worker.
Runs are enqueued all the time, so each fault meets some that wait, some that are being sent, and some that run.
"""

import json
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from kombu import pools
from redis import Redis

from tickwise.core.states import FINAL, RunState
from tickwise.stores.contract import Store
from tickwise.stores.records import AttemptRow, RunRow

from ..chaos.proxy import Loss, Proxy
from ..support import store_reads
from ..support.celery_processes import Broker, kill, worker
from ..support.deployment import Deployment
from ..support.servers import valkey
from ..support.servers.process import free_port
from ..support.tickwise_processes import Nest, Process

APP = "tests.support.apps.celery_far_work:app"
QUEUE = "faults"
ENGINE = """
[engines.celery]
kind = "celery"
broker = "redis://127.0.0.1:{port}/0"
queue = "{queue}"
"""
BATCH = 12  # runs enqueued before each fault


class Fleet:
    """All processes; each fault is one method, and leaves the fleet whole again."""

    def __init__(self, place: Deployment, stack: ExitStack, folder: Path) -> None:
        self.place, self.folder = place, folder
        self._stack = stack
        self._server = stack.enter_context(valkey.server(*valkey.DURABLE))
        parts = urlsplit(self._server.url)
        self._line = stack.enter_context(
            Proxy(str(parts.hostname), parts.port or 0, lambda data: b"LPUSH" in data)
        )
        with (folder / "tickwise.toml").open("a") as file:
            file.write(ENGINE.format(port=self._line.port, queue=QUEUE))
        self._broker = Broker(self._server.url, QUEUE)
        self._watchers = [self._watcher(), self._watcher()]
        self._worker = self._new_worker()
        self.runs: list[str] = []

    def _watcher(self) -> Process:
        process = self.place.start("worker", APP, "--port", "0")
        process.says("Tickwise is running")
        return process

    def _new_worker(self) -> Any:
        words = ("-c", "2", "--without-mingle", "--without-gossip")
        return self._stack.enter_context(worker(self._broker, self.folder, *words))

    def enqueue(self) -> None:
        for _ in range(BATCH):
            run = self.place.do(self.place.tickwise.enqueue("noted", {"folder": str(self.folder)}))
            self.runs.append(run.id)

    def until_under_way(self) -> None:
        """Wait until one of the newest runs has begun: the others are anywhere between."""
        newest = set(self.runs[-BATCH:])

        async def has_begun(_store: Store) -> bool:
            return any(reference.partition(".")[0] in newest for reference in self.references("begin"))

        self.place.eventually(has_begun)

    def references(self, what: str) -> list[str]:
        """Attempts of which the work has written this, in its own ledger."""
        ledger = self.folder / "ledger"
        lines = ledger.read_text().splitlines() if ledger.exists() else []
        return [line.split()[1] for line in lines if line.startswith(what)]

    # Faults

    def kill_watcher(self) -> None:
        """With what it holds; another adopts."""
        self._watchers.pop(0).kill()
        self._watchers.append(self._watcher())

    def freeze_watcher(self) -> None:
        """Past its lease; when it goes on, its runs are another's."""
        frozen = self._watchers[0]
        frozen.signal(signal.SIGSTOP)
        self.place.eventually(_adopted_from, frozen.pid)
        frozen.signal(signal.SIGCONT)

    def kill_worker(self) -> None:
        """With what it executes, and what it has taken from the broker."""
        kill(self._worker)
        self._worker = self._new_worker()

    def restart_broker(self) -> None:
        """As a power cut would."""
        self._server = self._stack.enter_context(valkey.restarted(self._server))
        pools.reset()  # type: ignore[no-untyped-call]  # of this process, which looks whether workers are up

    def lose_answer(self) -> None:
        """The broker has taken a message, and the watcher does not know; it is sent again."""
        lost = self._line.lose(Loss.ANSWER)
        self.enqueue()
        lost.result(60)

    def lose_request(self) -> None:
        lost = self._line.lose(Loss.REQUEST)
        self.enqueue()
        lost.result(60)

    def deliver_twice(self) -> None:
        """Each message that waits, and each that a worker has taken and not acknowledged."""
        with Redis.from_url(self._server.url) as client:
            waiting: Any = client.lrange(QUEUE, 0, -1)
            taken: Any = client.hvals("unacked")
            copies = [*waiting, *(json.dumps(json.loads(one)[0]) for one in taken)]
            assert copies
            client.rpush(QUEUE, *copies)

    def forget(self) -> None:
        """The broker loses all that it has."""
        with Redis.from_url(self._server.url) as client:
            client.flushall()


FAULTS: list[Callable[[Fleet], None]] = [
    Fleet.kill_watcher,
    Fleet.deliver_twice,
    Fleet.lose_answer,
    Fleet.restart_broker,
    Fleet.lose_request,
    Fleet.freeze_watcher,
    Fleet.kill_worker,
    Fleet.forget,
]


async def _adopted_from(store: Store, pid: int) -> bool:
    running = [run for run in await store_reads.runs_of(store, "noted") if run.state is RunState.RUNNING]
    return not any(f"-{pid}-" in (run.node or "") for run in running)


@pytest.fixture
def fleet(nest: Nest, tmp_path: Path) -> Iterator[Fleet]:
    port = free_port()
    settings: dict[str, Any] = {
        "lease": 2,
        "renew": 0.5,
        "poll": 0.2,
        "port": port,
        "api_url": f"http://127.0.0.1:{port}",
    }
    with (
        Deployment(nest, tmp_path, f"sqlite:///{tmp_path}/tickwise.db", **settings) as place,
        ExitStack() as stack,
    ):
        nest.start(tmp_path, "api").up()
        yield Fleet(place, stack, tmp_path)


def test_no_attempt_begins_twice_and_every_run_is_explained(fleet: Fleet) -> None:
    """S52 to S56: each fault meets work that waits and work that runs, and all of it ends."""
    for fault in FAULTS:
        fleet.enqueue()
        fleet.until_under_way()
        fault(fleet)
    rows = fleet.place.eventually(_all_over)
    begun = Counter(fleet.references("begin"))
    twice = {reference: number for reference, number in begun.items() if number > 1}
    assert not twice
    assert {row.id for row in rows} == set(fleet.runs)
    for row in rows:
        _check(row, fleet.place.on_store(_attempts_before, row.id), begun, set(fleet.references("end")))


def _check(row: RunRow, earlier: list[AttemptRow], begun: Counter[str], ended: set[str]) -> None:
    """A run that succeeded has done its work; any other attempt says what became of it."""
    assert row.state is RunState.SUCCEEDED or row.error, row
    if row.state is RunState.SUCCEEDED:
        assert f"{row.id}.{row.attempt}" in ended, row
    for attempt in earlier:
        assert re.search(
            "no sign of life|did not report|ended before|lease could not|took longer", attempt.error
        ), attempt
    attempts = {f"{row.id}.{number}" for number in range(1, row.attempt + 1)}
    assert {reference for reference in begun if reference.partition(".")[0] == row.id} <= attempts


async def _attempts_before(store: Store, run: str) -> list[AttemptRow]:
    return list(await store.insights.attempts(run))


async def _all_over(store: Store) -> list[RunRow] | None:
    rows = await store_reads.runs_of(store, "noted")
    return rows if all(row.state in FINAL for row in rows) else None
