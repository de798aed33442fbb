"""What an executor is given besides its action: the worker's services, and the context of one step.

This is not in `context`, because child processes import that one and must start fast.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from .. import clock
from ..core.references import fill_text
from .context import RunContext, StepRecord
from .executors.address import AddressPolicy
from .executors.log import Sink
from .executors.timeout import Sleep

SETTINGS_PREFIX = "TICKWISE_"  # of variables that hold the worker's own settings, secrets among them
Report: TypeAlias = Callable[[StepRecord], Awaitable[None]]
WriteLog: TypeAlias = Callable[[str, str, str], None]  # step, stream, line


async def _ignore(_record: StepRecord) -> None:
    """The default report."""


@dataclass(frozen=True, slots=True)
class Services:
    """What a worker provides to an attempt. `report`, `log` and `allow_commands` belong to one run."""

    report: Report = _ignore
    log: WriteLog = lambda _step, _stream, _line: None
    allow_commands: bool = False  # whether this run's definition may say what is executed
    addresses: AddressPolicy = field(default_factory=AddressPolicy)
    kill_grace: float = 5.0  # seconds between SIGTERM and SIGKILL
    clock: Callable[[], datetime] = clock.now
    sleep: Sleep = asyncio.sleep


@dataclass(frozen=True, slots=True)
class StepContext:
    """The run, services, log and environment of one action."""

    run: RunContext
    services: Services
    log: Sink
    env: Mapping[str, str] = field(default_factory=dict)  # the job's and the step's
    folder: str | None = None  # none: the worker's
    timeout: int | None = None

    def environment(self) -> dict[str, str]:
        """All variables of a process: the worker's except its settings, then the job's, the step's, the run's."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS_PREFIX)}
        values = self.run.references()
        own = {name: fill_text(text, values) for name, text in self.env.items()}
        return {**inherited, **own, **self.run.env, **self.run.variables()}
