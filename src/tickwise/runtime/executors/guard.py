"""Programs end with their worker: a small process outlives it, and kills what it leaves behind.

The guard is started with the first program and tells of its worker's end by two signs: the pipe between them is
closed, or the process is gone (a child that the worker forked may hold the pipe open). It then kills the process
groups of all programs that were running. A parent-death signal would not do: it is Linux only, does not reach the
children of a program, and is sent when the thread that started the program ends (docs/adr/0029).

A program is announced before it starts, with a mark that stands in its environment. If the worker dies between
the start and the message with the group, the guard finds the program by this mark.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import NamedTuple

MARK = "TICKWISE_PROGRAM"  # the variable
_SCRIPT = Path(__file__).with_name("guard_process.py")


class GuardedProgram(NamedTuple):
    """A program that is about to start."""

    mark: str
    started: Callable[[int], None]  # to be called with its process group


class ProgramGuard:
    """The worker's side of the guard; one for all programs of a process."""

    def __init__(self) -> None:
        self._owner = 0  # the process that started the guard; a fork of it needs another
        self._pipe = -1
        self._running: dict[str, int] = {}  # marks to process groups; 0: about to start
        self._numbers = count(1)
        self._lock = Lock()

    @contextmanager
    def watched(self) -> Iterator[GuardedProgram]:
        """Announce a program; when the block ends, nothing of it is left."""
        mark = f"{os.getpid()}-{os.urandom(8).hex()}-{next(self._numbers)}"
        self._tell(mark, 0)
        try:
            yield GuardedProgram(mark, partial(self._tell, mark))
        finally:
            self._tell(mark, None)

    def _tell(self, mark: str, group: int | None) -> None:
        with self._lock:
            if self._owner != os.getpid():
                self._running.clear()
                self._start()
            if group is None:
                self._running.pop(mark, None)
            else:
                self._running[mark] = group
            try:
                self._write(mark, group)
            except OSError:  # the guard was killed
                self._start()
                for each, known in self._running.items():
                    self._write(each, known)

    def _write(self, mark: str, group: int | None) -> None:
        os.write(self._pipe, f"{mark} {'' if group is None else group}\n".encode())

    def _start(self) -> None:
        if self._owner == os.getpid():
            os.close(self._pipe)
        read, self._pipe = os.pipe()
        self._owner = os.getpid()
        devnull = os.open(os.devnull, os.O_RDWR)
        streams = enumerate((read, devnull, devnull))
        try:
            os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", str(_SCRIPT), str(self._owner)],
                {},
                file_actions=[(os.POSIX_SPAWN_DUP2, file, number) for number, file in streams],
                setsid=True,
            )
        finally:
            os.close(read)
            os.close(devnull)


guard = ProgramGuard()
