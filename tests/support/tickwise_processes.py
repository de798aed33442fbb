"""Real `tickwise` processes: started, listened to, asked for their health, stopped and killed.

Nothing here sleeps: who waits, waits for the process to end or to print; PATIENCE is only against hanging.
"""

import os
import re
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Self
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from .fork_server import PATIENCE, Forker

_numbers = count()  # of processes
_LOOK_EVERY = 0.02  # seconds between looks at what a process has printed
_UP = "Tickwise is running"
_HEALTH = re.compile(r"Health: (http://\S+)/readyz")


class Process:
    """One `tickwise` process."""

    def __init__(self, pid: int, line: socket.socket, printed: Path) -> None:
        self.pid = pid
        self.code: int | None = None  # of its exit; none for one that runs or was killed
        self.ended = False
        self._line = line
        self._printed = printed

    @property
    def output(self) -> str:
        return self._printed.read_text("utf-8", "replace")

    def says(self, text: str) -> str:
        """Wait until it has printed this; all that it has printed."""
        self._until(lambda: text in self.output, f"say {text!r}")
        return self.output

    def up(self) -> Self:
        """Wait until its folders are read and its first pass is over, and it is ready by its own word."""
        self.says(_UP)
        self.answers("readyz", 200)
        return self

    def answers(self, path: str, status: int) -> None:
        """Wait until it answers so."""
        self._until(lambda: self.asked(path) == status, f"answer {path} with {status}")

    def asked(self, path: str) -> int:
        """The status with which it answers."""
        found = _HEALTH.search(self.output)
        if not found:
            return 0
        try:
            with urlopen(f"{found[1]}/{path}", timeout=PATIENCE) as answer:  # noqa: S310  (an address it printed)
                return int(answer.status)
        except HTTPError as error:
            return error.code
        except (ConnectionError, URLError):  # who answers is just starting
            return 0

    def lives_for(self, seconds: float) -> bool:
        """Whether it goes on for so long."""
        return not self._ends_within(seconds)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        if not self.ended:
            with suppress(ProcessLookupError):
                self.signal(signal.SIGKILL)
            self._wait()

    def stop(self) -> None:
        """Ask it to end, and see that it does so in peace."""
        self.signal(signal.SIGTERM)
        self._wait()
        assert self.code == 0, f"it ended with {self.code}:\n{self.output}"

    def ends(self) -> None:
        """Wait until it has ended, or has become another program."""
        self._wait()

    def _wait(self) -> None:
        if not self._ends_within(PATIENCE):
            raise AssertionError(f"process {self.pid} does not end:\n{self.output}")

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        give_up = time.monotonic() + PATIENCE
        while not condition():
            if self._ends_within(_LOOK_EVERY) or time.monotonic() > give_up:
                state = f"ended with {self.code}" if self.ended else "is still running"
                raise AssertionError(f"process {self.pid} did not {what} and {state}; it printed:\n{self.output}")

    def _ends_within(self, seconds: float) -> bool:
        if not self.ended and select.select([self._line], [], [], seconds)[0]:
            self.ended = True
            with suppress(ConnectionResetError):
                self.code = int(self._line.recv(20) or b"-9")
            self._line.close()
        return self.ended


class Nest(Forker):
    """Where processes come from; none outlives it. Variables are for all of them."""

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{__package__}.tickwise_fork_server", variables)
        self._variables = variables or {}
        self._hatched: list[Process] = []

    def __exit__(self, *_: object) -> None:
        self.end_all()
        super().__exit__()

    def start(self, folder: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> Process:
        """A `tickwise` process with these arguments, in this folder, with these variables besides the own."""
        printed = folder / f"printed-{next(_numbers)}.log"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TICKWISE_")}
        asked = [arguments, str(folder), {**inherited, **self._variables, **(variables or {})}]
        ours, theirs = socket.socketpair()
        with theirs, printed.open("wb") as file:
            pid = self.fork(asked, theirs.fileno(), file.fileno())
        process = Process(pid, ours, printed)
        self._hatched.append(process)
        return process

    def end_all(self) -> None:
        for process in self._hatched:
            process.kill()

    def told(self) -> str:
        """What the processes that still run have printed."""
        return "\n".join(process.output for process in self._hatched if not process.ended)
