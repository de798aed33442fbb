"""What the servers share: a folder of their own, a port, a start that waits until they answer, and an end."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

PATIENCE = 60.0  # seconds for a start or an end, on the slowest machine
NOBODY = 65534
LOG = "server.log"


class ServerError(Exception):
    """A server did not come up; the text holds its own log."""


@dataclass(frozen=True)
class Server:
    """A running server: where it answers, and what must be gone when it has ended."""

    url: str
    process: subprocess.Popen[bytes]
    folder: Path


def packaged(package: str, path: str) -> Path:
    """Find a file of an installed package without importing the package."""
    return Path(str(distribution(package).locate_file(path)))


def free_port() -> int:
    """Reserve a loopback port: its last connection, in TIME_WAIT, keeps the kernel from handing it out again."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        with socket.create_connection(listener.getsockname()):
            listener.accept()[0].close()
        return int(listener.getsockname()[1])


@contextmanager
def own_folder(owner: int | None = None) -> Iterator[Path]:
    """Make a temporary folder, given to the user that the server will run as."""
    with TemporaryDirectory(prefix="tickwise-") as name:
        if owner is not None:
            os.chown(name, owner, owner)
        yield Path(name)


@contextmanager
def running(
    command: Sequence[str | Path],
    folder: Path,
    *,
    ready: str,
    end: signal.Signals,
    user: int | None = None,
    hints: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command until the block ends, however it ends; the block begins once the log says `ready`."""
    with (folder / LOG).open("wb") as log, _spawn(command, folder, log.fileno(), user) as process:
        try:
            _wait_until_ready(process, folder / LOG, ready, hints or {})
            yield process
        finally:
            process.send_signal(end)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def run(command: Sequence[str | Path], folder: Path, user: int | None = None) -> None:
    """Run a command to its end; if it fails, say what it printed."""
    with (folder / LOG).open("wb") as log, _spawn(command, folder, log.fileno(), user) as process:
        process.wait()
    if process.returncode:
        raise _failure(process, folder / LOG, "ended", {})


def _spawn(command: Sequence[str | Path], folder: Path, log: int, user: int | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(word) for word in command], cwd=folder, env={**os.environ, "LC_ALL": "C"}, user=user, group=user,
        extra_groups=None if user is None else [],
        stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path, ready: str, hints: Mapping[str, str]) -> None:
    give_up = time.monotonic() + PATIENCE
    while ready not in log.read_text(errors="replace"):
        try:
            process.wait(0.01)
        except subprocess.TimeoutExpired:
            if time.monotonic() < give_up:
                continue
        raise _failure(process, log, f"did not say {ready!r}", hints)


def _failure(process: subprocess.Popen[bytes], log: Path, what: str, hints: Mapping[str, str]) -> ServerError:
    said = log.read_text(errors="replace").strip()
    advice = "".join(f"\n{hint}" for sign, hint in hints.items() if sign in said)
    state = "is still running" if process.returncode is None else f"exited with {process.returncode}"
    return ServerError(f"{process.args!r} {what} and {state}{advice}\nIts log:\n{said or '(empty)'}")
