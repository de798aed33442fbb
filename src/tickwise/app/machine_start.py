"""Jobs with `on_start: true`: the start of a machine is an event, and each of them runs once for it (S70, ADR 92).

A node tells the start of its machine whenever it starts itself; a restarted node tells the same start, and its key
says so. A schedule that was first seen after the machine had started is not told (S2). How long ago that was is
measured by the machine's clock alone and counted back from the store's, because the two may differ (S5).
"""

import os
import socket
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self
from uuid import uuid4

from ..clock import monotonic
from ..core.definition import JobDefinition
from ..core.event_inbox import EventsReceived
from ..core.events import MachineStart, OnEvent
from ..core.timeparse import iso
from ..stores.contract import Store
from ..stores.records import MICRO
from .events import new_event


def on_start_schedules(job: JobDefinition) -> frozenset[str]:
    """The schedules of a job that run when a machine starts."""
    return frozenset(
        one.name
        for one in job.schedules
        if isinstance(one.times, OnEvent) and isinstance(one.times.source, MachineStart)
    )


class StartOfMachine(NamedTuple):
    """Which start it is, and how long ago it was, in seconds."""

    key: str
    age: float

    @classmethod
    def read(cls, proc: Path = Path("/proc")) -> Self:
        """That of the container, where there is one: of its first process. Where none can be read, it is now."""
        with suppress(OSError, ValueError, IndexError):
            begun = int((proc / "1/stat").read_text().rpartition(")")[2].split()[19])  # ticks after the boot
            uptime = float((proc / "uptime").read_text().split()[0])
            boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
            return cls(f"{boot}/{begun}", uptime - begun / os.sysconf("SC_CLK_TCK"))
        return cls(uuid4().hex, 0.0)


class MachineStartEvents:
    """Tells each schedule with `on_start` of the start of this machine, once."""

    def __init__(self, store: Store, start: StartOfMachine | None = None) -> None:
        self._store = store
        self._start = start or StartOfMachine.read()
        self._read_at = monotonic()
        self._told: set[str] = set()

    async def tell(self, schedules: Collection[str]) -> None:
        for name in sorted({*schedules} - self._told):
            await self._tell(name)
            self._told.add(name)

    async def _tell(self, name: str) -> None:
        row = await self._store.insights.schedule(name)
        age = self._start.age + monotonic() - self._read_at
        started = int(await self._store.now() / MICRO - age)
        if row is not None and row.schedule.first_seen <= started:
            data = {"host": socket.gethostname(), "started": iso(started)}
            event = new_event(self._start.key, data, str(MachineStart()))
            await self._store.change(name, EventsReceived((event,)))
