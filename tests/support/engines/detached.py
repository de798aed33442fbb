"""An engine that starts programs on this machine: they outlive the node that ordered them, and any node sees them.

A folder named by the reference is made once. In it are the process's number, its output and its exit code.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from subprocess import DEVNULL, Popen
from typing import Any, ClassVar

from tickwise.core.handover import Sight, Sighting
from tickwise.core.settle import Failed, Succeeded
from tickwise.runtime.engines.contract import Engine, LogChunk, Order, Submitted

_ROOT = Path(__file__).parents[3]  # so that the other side finds the apps of our tests
_WRAPPER = '"$0" -m tickwise exec >output 2>&1; echo $? >code.new; mv code.new code'


class DetachedEngine(Engine):
    """`kind = "tests.support.engines.detached:DetachedEngine"`, with a folder."""

    kind: ClassVar[str] = "detached"
    creates_once: ClassVar[bool] = True
    tells_unknown: ClassVar[bool] = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> "DetachedEngine":  # noqa: ARG003
        return cls(Path(settings["folder"]))

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """A job may say anything."""

    async def submit(self, order: Order) -> Submitted:
        return await asyncio.to_thread(self._submit, order)

    def _submit(self, order: Order) -> Submitted:
        place = self._folder / order.reference
        try:
            place.mkdir()
        except FileExistsError:
            return Submitted(str(place), existed=True)
        variables = {**os.environ, **order.environment, "PYTHONPATH": str(_ROOT)}
        process = Popen(
            ["/bin/sh", "-c", _WRAPPER, sys.executable],
            cwd=place,
            env=variables,
            stdin=DEVNULL,
            start_new_session=True,
        )
        (place / "pid").write_text(str(process.pid))
        return Submitted(str(place))

    async def look(self, references: Sequence[str]) -> Mapping[str, Sighting]:
        return {one: self._sighting(self._folder / one) for one in references if (self._folder / one).exists()}

    def _sighting(self, place: Path) -> Sighting:
        with suppress(FileNotFoundError):
            code = (place / "code").read_text().strip()
            return Sighting(Sight.ENDED, Succeeded() if code == "0" else Failed(), f"exit code {code}", str(place))
        return Sighting(Sight.RUNNING, address=str(place))

    async def cancel(self, reference: str) -> None:
        self._signal(reference, signal.SIGTERM)

    async def kill(self, reference: str) -> None:
        self._signal(reference, signal.SIGKILL)

    def _signal(self, reference: str, number: signal.Signals) -> None:
        with suppress(FileNotFoundError, ProcessLookupError):
            os.killpg(int((self._folder / reference / "pid").read_text()), number)

    async def log(self, reference: str, cursor: str = "") -> LogChunk:
        text = (self._folder / reference / "output").read_text("utf-8", "replace")
        start = int(cursor or "0")
        return LogChunk(text[start:], str(len(text)))

    async def forget(self, reference: str) -> None:
        rmtree(self._folder / reference, ignore_errors=True)

    async def close(self) -> None:
        """The work goes on."""
