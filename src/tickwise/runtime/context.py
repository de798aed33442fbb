"""What an attempt knows about its run, and what it reports about its steps.

A run is shown in three forms: as variables to commands, as `run` to functions, and as JSON to a function in a
process of its own. That process imports this module, so it imports nothing heavier than `core.timeparse`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.step_waits import StepWait
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
_ITEM = "TICKWISE_ITEM"
_PARAM = "TICKWISE_PARAM_"
_LONGEST_VARIABLE = 100_000  # bytes; the system takes 128 KiB


class Cancellation:
    """Whether a run was asked to end. Set once, by the worker; read by the function, in any thread."""

    __slots__ = ("requested",)

    def __init__(self) -> None:
        self.requested = False


@dataclass(frozen=True, slots=True)
class Run:
    """This run, as a function sees it through its parameter `run`. Times are aware, in UTC."""

    id: str
    job: str
    schedule: str | None
    slot: datetime | None  # none: the run was started by hand
    previous_slot: datetime | None
    trigger: str
    attempt: int  # 1 for the first
    params: Mapping[str, Any]
    outcome: str  # only in handlers, after the run: how it ended, and why
    error: str
    log: Callable[[str], None]  # writes a line, or several, to the run's log
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of earlier steps, by name (S72)
    item: Any = None  # of a step with `foreach` (S73)
    events: tuple[Mapping[str, Any], ...] = ()  # that it runs for: key, at, source, data (S71)
    cancellation: Cancellation = field(default_factory=Cancellation, repr=False, compare=False)

    @property
    def cancelled(self) -> bool:
        """Whether the run was asked to end: by a person, its timeout, a stop, or the worker's shutdown.

        A thread cannot be killed, so a function that takes long looks at this and returns.
        """
        return self.cancellation.requested


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
    env: Mapping[str, str] = field(default_factory=dict)  # of this run; overrides the job's and the step's
    outcome: str = ""  # how the run ended; only for handlers
    error: str = ""
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of the steps that have ended, by name
    item: Any = None  # the item of a step with `foreach`
    events: Sequence[Mapping[str, Any]] = ()  # that it runs for (S71)

    def facts(self) -> dict[str, str]:
        """The run as texts; empty where it has no value."""
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
        """The facts and the params, as environment variables of a command."""
        facts = {_VARIABLES[name]: text for name, text in self.facts().items()}
        params = {f"{_PARAM}{name.upper()}": as_text(value) for name, value in self.params.items()}
        item = {} if self.item is None else {_ITEM: as_text(self.item)}
        return (
            facts | params | item | event_variables(self.events) | ({_ERROR: self.error} if self.outcome else {})
        )

    def references(self) -> dict[str, str]:
        """The values of references as texts."""
        return {name: as_text(value) for name, value in self.values().items()}

    def values(self) -> dict[str, Any]:
        """The values of `${params.…}`, `${run.…}`, `${steps.….outputs.…}`, `${item}` and `${item.…}`."""
        values: dict[str, Any] = {f"params.{name}": value for name, value in self.params.items()}
        values |= {f"run.{name}": text for name, text in self.facts().items()}
        for step, outputs in self.outputs.items():
            values |= {f"steps.{step}.outputs.{name}": value for name, value in outputs.items()}
        if self.item is not None:
            parts = self.item.items() if isinstance(self.item, Mapping) else ()
            values |= {"item": self.item, **{f"item.{name}": value for name, value in parts}}
        return values

    def headers(self) -> dict[str, str]:
        """The facts, as headers of a request, such as `Tickwise-Slot`."""
        facts = self.facts().items()
        return {_VARIABLES[name].replace("_", "-").title(): text for name, text in facts if text}

    def as_run(self, log: Callable[[str], None], cancellation: Cancellation | None = None) -> Run:
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
            outputs=self.outputs,
            item=self.item,
            events=tuple(self.events),
            log=log,
            cancellation=cancellation or Cancellation(),
        )

    def to_json(self) -> dict[str, Any]:
        """All fields, as JSON; `RunContext(**fields)` reads them back."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        outputs = {step: dict(values) for step, values in self.outputs.items()}
        events = [dict(event) for event in self.events]
        return fields | {
            "params": dict(self.params), "env": dict(self.env), "outputs": outputs, "events": events
        }  # fmt: skip


def event_variables(events: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The newest event, how many there are, and all of them as JSON; what is too long is left out."""
    if not events:
        return {}
    newest, texts = events[-1], {"TICKWISE_EVENT_COUNT": str(len(events))}
    texts |= {f"TICKWISE_EVENT_{name.upper()}": as_text(newest.get(name)) for name in ("key", "at", "source")}
    texts |= {"TICKWISE_EVENT": as_text(newest.get("data")), "TICKWISE_EVENTS": as_text(list(events))}
    return {name: text for name, text in texts.items() if len(text.encode()) <= _LONGEST_VARIABLE}


def as_text(value: Any) -> str:
    """A param as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=dict)


FUNCTION_STEP = "function"  # how a function is named as a step, while it does not end though it was asked to


class StepState(StrEnum):
    """The state of a step. A step that has not begun has none."""

    RUNNING = "running"
    WAITING = "waiting"  # it failed or snoozed and will be tried again; or it waits for a child
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"  # its preconditions are not met, or a step that it depends on did not succeed
    CANCELLED = "cancelled"  # it was stopped from outside


class StepRecord(NamedTuple):
    """A change of a step's state, reported when it happens."""

    name: str  # empty: the only step of a job that is a function
    state: StepState
    started_at: datetime | None = None  # of its first try
    finished_at: datetime | None = None
    attempt: int = 1  # which try, within this attempt of the run
    error: str = ""
    outputs: Mapping[str, Any] = MappingProxyType({})  # what it hands on (S72)
    wait: StepWait | None = None  # what it waits for, or has waited for (S74)
