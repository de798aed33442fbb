"""The process that bears the others: everything is imported here once, and nothing is opened.

    python -m tests.stores.races.nursery FD

Each message on the socket is `[role, arguments]` as JSON, with one end of a connection beside it. A child is
forked, and its pid answered; the child plays the role on that connection and exits. So a process costs
milliseconds, and has no store, no thread and no connection of anybody else.
"""

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection
from typing import Any

from . import roles
from .line import Line

LONGEST = 65_536


def main(fd: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the system
    with socket.socket(fileno=fd) as asked:
        while True:
            message, handed, _, _ = socket.recv_fds(asked, LONGEST, 1)
            if not message:
                return
            role, arguments = json.loads(message)
            pid = os.fork()
            if pid == 0:
                asked.close()
                _play(Connection(handed[0]), role, arguments)
            os.close(handed[0])
            asked.send(str(pid).encode())


class _Complaints(logging.Handler):
    """Whatever a driver or the event loop finds worth a warning is a failure here."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


def _play(connection: "Connection[Any, Any]", role: str, arguments: dict[str, Any]) -> None:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        complaints = _Complaints()
        logging.getLogger().addHandler(complaints)
        result = asyncio.run(_role(role)(Line(connection), **arguments))
        connection.send(("failed", "\n".join(complaints.heard)) if complaints.heard else ("done", result))
    except BaseException:  # noqa: BLE001  (whatever it is, the test is told)
        connection.send(("failed", traceback.format_exc()))
    finally:
        connection.close()
        os._exit(0)


def _role(name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    module, _, function = name.partition(".")
    found: Callable[..., Coroutine[Any, Any, Any]] = getattr(getattr(roles, module), function)
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]))
