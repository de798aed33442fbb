"""What an executor is given besides its action: the worker's tools, and the place of one step."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from .. import clock
from .context import RunContext, StepRecord
from .executors.address import AddressPolicy
from .executors.log import Sink
from .executors.timeout import Sleep

OURS = "TICKWISE_"  # the worker's own settings, secrets among them, begin so
Report: TypeAlias = Callable[[StepRecord], Awaitable[None]]
WriteLog: TypeAlias = Callable[[str, str, str], None]  # step, stream, line


async def _nobody(_record: StepRecord) -> None:
    """Nobody asked."""


@dataclass(frozen=True, slots=True)
class Services:
    """What a worker lends to an attempt. `report`, `log` and `allow_commands` are of one run."""

    report: Report = _nobody
    log: WriteLog = lambda _step, _stream, _line: None
    allow_commands: bool = False  # whether this run's definition may say what is executed
    addresses: AddressPolicy = field(default_factory=AddressPolicy)
    kill_grace: float = 5.0  # seconds between asking a process to end and ending it
    clock: Callable[[], datetime] = clock.now
    sleep: Sleep = asyncio.sleep


@dataclass(frozen=True, slots=True)
class StepContext:
    """Where one action is executed."""

    context: RunContext
    tools: Services
    log: Sink
    env: Mapping[str, str] = field(default_factory=dict)  # the job's and the step's
    folder: str | None = None  # none: the worker's
    timeout: int | None = None

    def environment(self) -> dict[str, str]:
        """All variables of a process: the worker's but for its settings, the job's, the step's, the run's."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        return {**inherited, **self.env, **self.context.env, **self.context.variables()}
