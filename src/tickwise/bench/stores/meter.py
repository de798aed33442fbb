"""What a fleet and its database take: Linux tells the time of each thread on processors, PostgreSQL commits."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from ...clock import monotonic

_PROCESSES = Path("/proc")


class Spent(NamedTuple):
    """Between two readings."""

    seconds: float  # on the wall
    client: float  # seconds on processors, of the fleet
    server: float | None  # the same of the database, if it is on this machine
    machine: float  # the same of everybody
    commits: int  # that changed something


class Reading(NamedTuple):
    """An instant, seconds on processors by process and in all, and the number of the next commit."""

    at: float
    client: Mapping[int, float]
    server: Mapping[int, float] | None
    machine: float
    commits: int

    def since(self, before: Self) -> Spent:
        server = _more(before.server, self.server) if before.server and self.server else None
        client, machine = _more(before.client, self.client), self.machine - before.machine
        return Spent(self.at - before.at, client, server, machine, self.commits - before.commits)


class Meter(NamedTuple):
    """Asks over a connection; the server is its first process, if that is one of this machine's."""

    connection: Any
    server: int | None

    @classmethod
    async def over(cls, connection: Any) -> Self:
        backend = int(await connection.fetchval("SELECT pg_backend_pid()"))
        is_here = _text(_PROCESSES / str(backend) / "comm").startswith("postgres")
        return cls(connection, _parent(backend) if is_here else None)

    async def read(self, pids: Iterable[int]) -> Reading:
        commits = int(await self.connection.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text"))
        server = _seconds(_family(self.server)) if self.server else None
        return Reading(monotonic(), _seconds(pids), server, _busy(), commits)


def _more(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """Of processes that ended meanwhile, nothing."""
    return sum(max(0.0, now - before.get(pid, 0.0)) for pid, now in after.items())


def _seconds(pids: Iterable[int]) -> dict[int, float]:
    return {
        pid: sum(map(_nanoseconds, (_PROCESSES / str(pid) / "task").glob("*/schedstat"))) / 1e9 for pid in pids
    }


def _nanoseconds(schedstat: Path) -> int:
    return int((_text(schedstat) or "0").split()[0])


def _busy() -> float:
    """The seconds that all processors have worked: in the fourth and fifth column they were idle."""
    ticks = [*map(int, _text(_PROCESSES / "stat").partition("\n")[0].split()[1:9])]
    return (sum(ticks) - sum(ticks[3:5])) / os.sysconf("SC_CLK_TCK")


def _family(parent: int) -> list[int]:
    every = (int(entry.name) for entry in _PROCESSES.iterdir() if entry.name.isdecimal())
    return [parent, *(pid for pid in every if _parent(pid) == parent)]


def _parent(pid: int) -> int | None:
    fields = _text(_PROCESSES / str(pid) / "stat").rpartition(")")[2].split()
    return int(fields[1]) if fields else None


def _text(path: Path) -> str:
    """What it says, nothing if its process has ended."""
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
