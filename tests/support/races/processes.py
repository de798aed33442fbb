"""Processes that race: started together, talked to, stopped and killed by the test.

    with Nursery() as nursery, Crew(nursery) as crew:
        racers = crew.start(10, "worker.tick_on_word", url=…, clock=…)
        say(racers, "go")
        results = [racer.hear() for racer in racers]

Nothing here sleeps: who waits, waits for a message; PATIENCE is only against hanging.
"""

import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Self

from ..fork_server import PATIENCE, Forker

ROUNDS = int(os.environ.get("TICKWISE_RACES", "1"))  # how often a race is run


class Gone(Exception):  # noqa: N818  (it is what some tests want)
    """The child ended without a word."""


class Nursery(Forker):
    """The process that forks children which have all modules and nothing open."""

    def __init__(self) -> None:
        super().__init__(f"{__package__}.fork_server")

    def child(self, role: str, **arguments: Any) -> "Child":
        ours, theirs = socket.socketpair()
        with theirs:
            pid = self.fork([role, arguments], theirs.fileno())
        return Child(pid, Connection(ours.detach()))


class Child:
    """A process, and the line to it."""

    def __init__(self, pid: int, connection: "Connection[Any, Any]") -> None:
        self.pid = pid
        self._connection = connection
        self._over = False

    def say(self, value: Any) -> None:
        self._connection.send(value)

    def hear(self) -> Any:
        """The next word, or the result at the end; fails with what the child raised."""
        if not self._connection.poll(PATIENCE):
            raise AssertionError(f"process {self.pid} has said nothing for {PATIENCE} s")
        try:
            kind, value = self._connection.recv()
        except (EOFError, ConnectionResetError):
            self._over = True
            raise Gone(f"process {self.pid} is gone") from None
        self._over = kind != "said"
        if kind == "failed":
            raise AssertionError(f"process {self.pid} failed:\n{value}")
        return value

    def heard_last(self) -> Any:
        """The result, after whatever else it says."""
        while True:
            value = self.hear()
            if self._over:
                return value

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def fileno(self) -> int:
        return self._connection.fileno()

    def end(self) -> None:
        """Kill it unless it has ended."""
        if not self._over:
            with suppress(ProcessLookupError):
                self.signal(signal.SIGKILL)
        self._connection.close()


class Crew:
    """The children of one test; none of them outlives it."""

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery
        self._children: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.end()

    def start(self, number: int, role: str, **arguments: Any) -> list[Child]:
        """As many children, each told which it is by `node`."""
        return [self.one(role, node=f"{role}-{len(self._children)}", **arguments) for _ in range(number)]

    def one(self, role: str, **arguments: Any) -> Child:
        child = self._nursery.child(role, **arguments)
        self._children.append(child)
        return child


def tell(text: str) -> None:
    """A figure for who looks; pytest shows it with -s, and when the test fails."""
    sys.stdout.write(f"{text}\n")


def say(children: Sequence[Child], value: Any) -> None:
    for child in children:
        child.say(value)


def next_word(children: Sequence[Child]) -> tuple[Child, Any]:
    """Who speaks first, and the word."""
    lines = {child.fileno(): child for child in children}
    speaking = wait(lines, PATIENCE)
    if not speaking:
        raise AssertionError(f"none of {len(children)} processes has said anything for {PATIENCE} s")
    child = next(child for fd, child in lines.items() if fd in speaking)
    return child, child.hear()
