"""What a fleet and its database use: processor time from Linux, the number of commits from PostgreSQL."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from tickwise.clock import monotonic

_PROCESSES = Path("/proc")


class ResourcesUsed(NamedTuple):
    """The difference of two snapshots."""

    seconds: float  # of wall time
    client: float  # processor seconds of the fleet
    server: float | None  # processor seconds of the database, if it is on this machine
    machine: float  # processor seconds of all processes
    commits: int  # that changed something


class ResourceSnapshot(NamedTuple):
    """An instant, processor seconds by process and of the machine, and the number of the next commit."""

    at: float
    client: Mapping[int, float]
    server: Mapping[int, float] | None
    machine: float
    commits: int

    def since(self, before: Self) -> ResourcesUsed:
        server = _difference(before.server, self.server) if before.server and self.server else None
        client, machine = _difference(before.client, self.client), self.machine - before.machine
        return ResourcesUsed(
            seconds=self.at - before.at,
            client=client,
            server=server,
            machine=machine,
            commits=self.commits - before.commits,
        )


class ResourceSampler(NamedTuple):
    """Takes snapshots; `server` is the process id of PostgreSQL's postmaster, if it runs on this machine."""

    connection: Any
    server: int | None

    @classmethod
    async def create(cls, connection: Any) -> Self:
        backend = int(await connection.fetchval("SELECT pg_backend_pid()"))
        is_here = _read_text(_PROCESSES / str(backend) / "comm").startswith("postgres")
        return cls(connection, _parent_pid(backend) if is_here else None)

    async def take(self, pids: Iterable[int]) -> ResourceSnapshot:
        commits = int(await self.connection.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text"))
        server = _cpu_seconds(_with_children(self.server)) if self.server else None
        return ResourceSnapshot(
            at=monotonic(),
            client=_cpu_seconds(pids),
            server=server,
            machine=_machine_cpu_seconds(),
            commits=commits,
        )


def _difference(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """Processes that ended meanwhile do not count."""
    return sum(max(0.0, now - before.get(pid, 0.0)) for pid, now in after.items())


def _cpu_seconds(pids: Iterable[int]) -> dict[int, float]:
    return {
        pid: sum(map(_cpu_nanoseconds, (_PROCESSES / str(pid) / "task").glob("*/schedstat"))) / 1e9 for pid in pids
    }


def _cpu_nanoseconds(schedstat: Path) -> int:
    return int((_read_text(schedstat) or "0").split()[0])


def _machine_cpu_seconds() -> float:
    """The seconds that all processors were busy: the fourth and fifth columns are idle time."""
    ticks = [*map(int, _read_text(_PROCESSES / "stat").partition("\n")[0].split()[1:9])]
    return (sum(ticks) - sum(ticks[3:5])) / os.sysconf("SC_CLK_TCK")


def _with_children(parent: int) -> list[int]:
    every = (int(entry.name) for entry in _PROCESSES.iterdir() if entry.name.isdecimal())
    return [parent, *(pid for pid in every if _parent_pid(pid) == parent)]


def _parent_pid(pid: int) -> int | None:
    fields = _read_text(_PROCESSES / str(pid) / "stat").rpartition(")")[2].split()
    return int(fields[1]) if fields else None


def _read_text(path: Path) -> str:
    """The content of a file of /proc, empty if its process has ended."""
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
