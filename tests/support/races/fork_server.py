"""The process that bears the others.

    python -m tests.support.races.fork_server FD

A message is `[role, arguments]`, and beside it is one end of a connection, on which the child plays the role. It
has no store, no thread and no connection of anybody else.
"""

import asyncio
import logging
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from ...stores.races import roles
from ..fork_server import fork_on_demand
from .channel import Line


def main(fd: int) -> None:
    fork_on_demand(fd, _play)


class _Complaints(logging.Handler):
    """Whatever a driver or the event loop finds worth a warning is a failure here."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


def _play(role: str, arguments: dict[str, Any], line: int) -> NoReturn:
    connection: Connection[Any, Any] = Connection(line)
    try:
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
