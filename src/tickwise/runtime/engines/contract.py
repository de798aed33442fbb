"""What an engine must do: six operations, and two facts about it.

The watcher (`watcher.py`) calls them. It has stored the reference before `submit`, sends the same reference again
when it is in doubt, looks at many references at once, and calls `forget` only after the end was stored (S52-S56).

What the work needs on the other side is in `Order.environment`, three variables:

    TICKWISE_API       the address of the API
    TICKWISE_ATTEMPT   the reference
    TICKWISE_TICKET    shown once at the gate; of no use afterwards

`tickwise exec` reads them, asks the gate, fetches what to do from the API, executes it, streams the log and
reports the end. Nothing else of the job travels through the engine: params and secrets are fetched by the work
itself, because many people can read a broker.

Every operation raises `EngineUnavailableError` if the engine did not answer: then it may or may not have acted.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ...core.errors import TickwiseError
from ...core.handover import Sighting


class EngineUnavailableError(TickwiseError):
    """The engine did not answer: what was asked may or may not have happened."""


class OrderRefusedError(TickwiseError):
    """The engine refuses the work for good: a wrong order, no right to it, another order under its reference."""


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt, as an engine is asked to run it."""

    reference: str  # becomes the engine's own id
    fingerprint: str  # kept by the engine where it can, so that another order under the reference is found out
    job: str
    environment: Mapping[str, str]  # what the work needs, whatever starts it
    options: Mapping[str, Any] = field(default_factory=dict)  # what the job says for this engine
    timeout: int | None = None  # seconds; the work keeps it by itself

    @property
    def command(self) -> tuple[str, ...]:
        """The program to start where the engine starts programs."""
        return ("tickwise", "exec")


class Submitted(NamedTuple):
    """The engine has the reference."""

    address: str = ""  # where people find it
    existed: bool = False  # an earlier order with the same fingerprint had come through


class LogChunk(NamedTuple):
    """A piece of what the engine kept of the work's output."""

    text: str
    cursor: str  # ask with this for what comes next


class Engine(ABC):
    """One configured engine, such as `[engines.gpu]`."""

    kind: ClassVar[str]
    creates_once: ClassVar[bool]  # a second order of a reference is refused by the engine itself
    tells_unknown: ClassVar[bool]  # it can say that it has no such reference; else a look says `waiting`

    @classmethod
    @abstractmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> "Engine":
        """Make one from its table in the settings; InputError names a wrong field. Connects nowhere yet."""

    @classmethod
    @abstractmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse, by an InputError, what a job says for this engine and cannot be right."""

    @classmethod
    def asks_gate(cls, options: Mapping[str, Any]) -> bool:  # noqa: ARG003
        """Whether work with these options asks the gate before it begins (S53)."""
        return True

    @abstractmethod
    async def submit(self, order: Order) -> Submitted:
        """Order the work under its reference. `OrderRefusedError` if it never can be run."""

    @abstractmethod
    async def look(self, references: Sequence[str]) -> Mapping[str, Sighting]:
        """What the engine says about each of these. A reference that is missing in the answer is unknown."""

    @abstractmethod
    async def cancel(self, reference: str) -> None:
        """Ask the work to end; no error if there is none."""

    @abstractmethod
    async def kill(self, reference: str) -> None:
        """End the work by force, as far as the engine can."""

    @abstractmethod
    async def log(self, reference: str, cursor: str = "") -> LogChunk:
        """What the engine kept of the output since the cursor; work that asks the gate sends its own."""

    @abstractmethod
    async def forget(self, reference: str) -> None:
        """Remove what the engine keeps of work that is over; no error if there is nothing."""

    @abstractmethod
    async def close(self) -> None:
        """Give connections back. The work goes on."""
