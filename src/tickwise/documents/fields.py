"""Where a document keeps what the scheduler reads and writes: dotted paths, or columns of a table."""

from collections.abc import Mapping, MutableMapping
from dataclasses import astuple, dataclass
from typing import Any

from ..core.errors import InputError


@dataclass(frozen=True, slots=True)
class Fields:
    """The names of a document's fields. The last three are the scheduler's own."""

    sleep_until: str = "sleepUntil"  # when it is due; null: never
    interval: str = "interval"  # when again; any cron text
    repeat_until: str = "repeatUntil"  # its last time, inclusive
    auto_remove: str = "autoRemove"  # whether it is deleted when it is done
    lock_owner: str = "lockOwner"  # who runs it
    lock_until: str = "lockUntil"  # and until when nobody else may
    error: str = "error"  # why it cannot be run

    def __post_init__(self) -> None:
        names = astuple(self)
        if len(set(names)) < len(names) or not all(all(name.split(".")) for name in names):
            raise InputError(f"{self} does not name seven different fields")


COLUMNS = Fields("sleep_until", "interval", "repeat_until", "auto_remove", "lock_owner", "lock_until", "error")


def value_at(document: Mapping[str, Any], path: str) -> Any:
    """What stands at a dotted path; none if there is nothing."""
    found: Any = document
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def set_at(document: MutableMapping[str, Any], path: str, value: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        document = document.setdefault(parent, {})
    document[name] = value


def clear_at(document: MutableMapping[str, Any], path: str) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        document = document.get(parent, {})
    document.pop(name, None)
