"""sshd of Debian's openssh-server, on a loopback port, for the user who runs the tests."""

import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from .process import PATIENCE, Server, ServerError, free_port, own_folder, run, running

READY = "Server listening on"
_CONFIG = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 100
"""


def found() -> str:
    """The program; it insists on an absolute path."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if program is None:
        raise ServerError("there is no sshd: apt-get install openssh-server")
    return program


@contextmanager
def server() -> Iterator[Server]:
    """Start sshd and wait until it answers; `user` in its folder is the key that it lets in."""
    with own_folder() as folder:
        port = free_port()
        for name in ("host", "user"):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], folder)
        (folder / "config").write_text(_CONFIG.format(port=port, folder=folder))
        host_key = (folder / "host.pub").read_text()
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        with _started(folder) as process:
            yield Server(f"ssh://{getpass.getuser()}@127.0.0.1:{port}", process, folder)


@contextmanager
def _started(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command: list[str | Path] = [found(), "-D", "-e", "-f", folder / "config"]
    with running(command, folder, ready=READY, end=signal.SIGTERM) as process:
        yield process


def cut(server: Server) -> None:
    """End the server and its connections. What they have started goes on."""
    listener = psutil.Process(server.process.pid)
    for process in [*listener.children(recursive=True), listener]:
        with suppress(psutil.NoSuchProcess):
            if process.name() == "sshd":
                process.kill()
    server.process.wait(PATIENCE)


@contextmanager
def mended(server: Server) -> Iterator[Server]:
    """Start it again, on the same port."""
    with _started(server.folder) as process:
        yield Server(server.url, process, server.folder)


def settings(server: Server) -> dict[str, Any]:
    """The settings of an engine that reaches it."""
    user, _, address = server.url.removeprefix("ssh://").partition("@")
    host, _, port = address.partition(":")
    return {
        "host": host,
        "user": user,
        "port": int(port),
        "identity": str(server.folder / "user"),
        "options": [f"UserKnownHostsFile={server.folder}/known_hosts", "IdentitiesOnly=yes", "IdentityAgent=none"],
    }
