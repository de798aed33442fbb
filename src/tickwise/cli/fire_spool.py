"""Fires of another scheduler that have not been sent yet: one small file each, in a folder of the user's own.

A fire is kept before anything else is done, and forgotten when the API has noted it. Its key makes it one fire,
however often it is sent, so calls that overlap may send it twice.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_MAX_FIRES = 10_000  # that are kept; the oldest go first
_ENDING = ".fire"


class Fire(NamedTuple):
    """That another scheduler has started the job of a schedule, by the clock of this machine."""

    schedule: str
    key: str
    at: float


class FireSpool:
    """The fires of this user that wait to be sent to one API."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, fire: Fire) -> None:
        """Write a fire down; whoever lists it finds all of it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "w") as opened:
            json.dump(fire._asdict(), opened)
        Path(name).rename(self._file(fire))

    def waiting(self) -> list[Fire]:
        """The oldest first. What cannot be read is removed."""
        return sorted(self._read(), key=lambda fire: fire.at)[-_MAX_FIRES:]

    def forget(self, fire: Fire) -> None:
        self._file(fire).unlink(missing_ok=True)

    def _file(self, fire: Fire) -> Path:
        return self.folder / f"{fire.key.replace('/', '_')}{_ENDING}"

    def _read(self) -> Iterator[Fire]:
        for file in self.folder.glob(f"*{_ENDING}"):
            try:
                yield Fire(**json.loads(file.read_text()))
            except (ValueError, TypeError):
                with suppress(OSError):
                    file.unlink()
            except OSError:
                continue


def spool_folder(target: str) -> Path:
    """Where the fires for one API are kept, in the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(state) / "tickwise" / "seen" / target
