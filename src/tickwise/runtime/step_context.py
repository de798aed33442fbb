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
from ..core.redaction import NO_SECRETS, Redactor
from ..core.references import SECRET, fill_text
from ..core.step_waits import StepWait
from ..core.variables import ORDINARY, passed_variables
from .approvals import AnswersOfRun
from .child_runs import ChildRuns
from .context import RunContext, StepRecord
from .executors.address import AddressPolicy
from .executors.log import Sink
from .executors.timeout import Sleep
from .private_values import NO_PRIVATE_VALUES, PrivateValues
from .secret_providers import NO_PROVIDERS, SecretProviders

_SEARCH_PATHS = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")
Keep: TypeAlias = Callable[[StepWait], Awaitable[None]]
Report: TypeAlias = Callable[[StepRecord], Awaitable[None]]
WriteLog: TypeAlias = Callable[[str, str, str], None]  # step, stream, line


async def _ignore(_record: StepRecord) -> None:
    """The default report."""


async def _flush_nothing() -> None:
    """The default flush."""


class WaitingStep:
    """How a step waits: what it has waited for so far, in which of its tries, and what keeps it in the store."""

    def __init__(self, name: str, number: int, wait: StepWait | None, keep: Keep) -> None:
        self.name = name
        self.number = number
        self.wait = wait
        self._keep = keep

    async def keep(self, wait: StepWait) -> None:
        """Keep what it waits for; when this returns, a worker that goes on with the run finds it."""
        await self._keep(wait)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Services:
    """What a worker provides to an attempt; the first nine belong to one run."""

    report: Report = _ignore
    log: WriteLog = lambda _step, _stream, _line: None
    allow_commands: bool = False  # whether this run's definition may say what is executed
    flush: Callable[[], Awaitable[None]] = _flush_nothing  # stores what was reported, or raises
    children: ChildRuns | None = None  # starts and finds them; none on an engine
    answers: AnswersOfRun | None = None  # of people to its steps; none on an engine
    redactor: Redactor = NO_SECRETS  # of everything that is kept of a run
    private: PrivateValues = NO_PRIVATE_VALUES
    providers: SecretProviders = NO_PROVIDERS
    trace: Callable[[], Mapping[str, str]] = dict  # variables by which a program joins the trace of its attempt
    variables: tuple[str, ...] = ORDINARY  # patterns: what programs get of the worker's environment
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
    waiting: WaitingStep | None = None

    def environment(self) -> dict[str, str]:
        """All variables of a process: those that the worker passes on, then the job's, the step's, the run's."""
        inherited = passed_variables(os.environ, self.services.variables)
        inherited |= {name: _absolute(inherited[name]) for name in _SEARCH_PATHS if name in inherited}
        own = {**self.services.private.variables, **self.filled(self.env)}
        return {**inherited, **self.services.trace(), **own, **self.run.env, **self.run.variables()}

    def filled(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Variables or headers, with values in place of their references."""
        secrets = {f"{SECRET}{name}": value for name, value in self.services.private.secrets.items()}
        values = {**self.run.references(), **secrets}
        return {name: fill_text(text, values) for name, text in texts.items()}


def _absolute(places: str) -> str:
    """The list of folders as it is for the worker: a step's own folder is not searched for code (B10)."""
    return os.pathsep.join(map(os.path.abspath, places.split(os.pathsep)))
