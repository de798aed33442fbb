"""Processes for tests, forked from one that has everything imported and nothing open: each costs milliseconds.

    python -m MODULE FD

is that one; its `main(FD)` is a call of `fork_on_demand`. Each message on the socket is JSON, with descriptors
beside it for the child alone; the answer is the child's pid.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, Self

PATIENCE = 120.0  # seconds, against hanging
ROOT = Path(__file__).parents[2]
_LONGEST, _MOST = 65_536, 2  # bytes and descriptors of a message


class Forker:
    """The process that forks, as a test sees it."""

    def __init__(self, module: str, variables: Mapping[str, str] | None = None) -> None:
        self._asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **(variables or {})}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno())],
                cwd=ROOT, pass_fds=[theirs.fileno()], env=environment,
            )  # fmt: skip
        self._asked.settimeout(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._asked.close()
        self._process.wait(PATIENCE)

    def fork(self, message: Any, *handed: int) -> int:
        """The pid of a new child, which has this message and these descriptors."""
        socket.send_fds(self._asked, [json.dumps(message).encode()], handed)
        return int(self._asked.recv(20))


def fork_on_demand(fd: int, live: Callable[..., NoReturn]) -> None:
    """Fork a child for each message, to live as that says, until nobody can ask any longer."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the system
    with socket.socket(fileno=fd) as asked:
        while True:
            message, handed, _, _ = socket.recv_fds(asked, _LONGEST, _MOST)
            if not message:
                return
            pid = os.fork()
            if pid == 0:
                asked.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                live(*json.loads(message), *handed)
            for each in handed:
                os.close(each)
            asked.send(str(pid).encode())
