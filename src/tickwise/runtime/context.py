"""What an attempt is told about its run, and what it tells about its steps.

A run has three faces: variables for commands, `run` for functions, and plain JSON for a function in a process of
its own. That process imports this module, so it stays light: nothing heavier than `core.instant`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from ..core.timeparse import iso, to_datetime

_VARIABLES = {
    "id": "TICKWISE_RUN_ID",
    "job": "TICKWISE_JOB",
    "schedule": "TICKWISE_SCHEDULE",
    "slot": "TICKWISE_SLOT",
    "previous_slot": "TICKWISE_PREVIOUS_SLOT",
    "trigger": "TICKWISE_TRIGGER",
    "attempt": "TICKWISE_ATTEMPT",
    "outcome": "TICKWISE_OUTCOME",
}
_ERROR = "TICKWISE_ERROR"
_PARAM = "TICKWISE_PARAM_"


@dataclass(frozen=True, slots=True)
class Run:
    """This run, as a function sees it through its parameter `run`. Times are aware, in UTC."""

    id: str
    job: str
    schedule: str | None
    slot: datetime | None  # none: the run was asked for by hand
    previous_slot: datetime | None
    trigger: str
    attempt: int  # 1 for the first
    params: Mapping[str, Any]
    outcome: str  # for what is done after the run: how it ended, and why
    error: str
    log: Callable[[str], None]  # a line, or several, for the run's log


@dataclass(frozen=True, slots=True)
class RunContext:
    """One attempt of one run, as the worker knows it. Instants are whole UTC seconds."""

    id: str
    job: str
    schedule: str | None = None
    slot: int | None = None
    previous_slot: int | None = None
    trigger: str = "manual"  # a core.model.Trigger
    trigger_label: str = ""
    attempt: int = 1
    failures: int = 0  # attempts that failed before this one; decides whether a failure is the last (S44)
    params: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)  # of this run alone; wins over the job's and the step's
    outcome: str = ""  # how the run ended; only for what is done after it
    error: str = ""

    def facts(self) -> dict[str, str]:
        """The run in words; what it has not is empty."""
        facts = {
            "id": self.id,
            "job": self.job,
            "schedule": self.schedule or "",
            "slot": "" if self.slot is None else iso(self.slot),
            "previous_slot": "" if self.previous_slot is None else iso(self.previous_slot),
            "trigger": str(self.trigger),
            "attempt": str(self.attempt),
        }
        return facts | ({"outcome": self.outcome} if self.outcome else {})

    def variables(self) -> dict[str, str]:
        """The facts and the params, as a command finds them in its environment."""
        facts = {_VARIABLES[name]: text for name, text in self.facts().items()}
        params = {f"{_PARAM}{name.upper()}": as_text(value) for name, value in self.params.items()}
        return facts | params | ({_ERROR: self.error} if self.outcome else {})

    def headers(self) -> dict[str, str]:
        """The facts, as a web server finds them in a request: `Tickwise-Slot` and its like."""
        facts = self.facts().items()
        return {_VARIABLES[name].replace("_", "-").title(): text for name, text in facts if text}

    def as_run(self, log: Callable[[str], None]) -> Run:
        return Run(
            id=self.id,
            job=self.job,
            schedule=self.schedule,
            slot=None if self.slot is None else to_datetime(self.slot),
            previous_slot=None if self.previous_slot is None else to_datetime(self.previous_slot),
            trigger=str(self.trigger),
            attempt=self.attempt,
            params=self.params,
            outcome=self.outcome,
            error=self.error,
            log=log,
        )

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON can hold them; `RunContext(**fields)` reads them back."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {"params": dict(self.params), "env": dict(self.env)}


def as_text(value: Any) -> str:
    """A param for a command: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=dict)


class StepState(StrEnum):
    """Where a step is. A step that has not begun has no state."""

    RUNNING = "running"
    WAITING = "waiting"  # it failed or snoozed, and will be tried again
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"  # its preconditions say no, or what it depends on held it up
    CANCELLED = "cancelled"  # it was ended from outside


class StepRecord(NamedTuple):
    """A change of a step, as it is reported when it happens."""

    name: str  # empty: the only step of a job that is a function
    state: StepState
    started_at: datetime | None = None  # its first try
    finished_at: datetime | None = None
    attempt: int = 1  # which try, within this attempt of the run
    error: str = ""
