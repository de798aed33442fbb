"""A real Ray, in an environment of its own (`ray_pins`): 80 MB that nothing else needs."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.stores.isolated_peers.environment import interpreter

from .process import Server, free_port, running

TOKEN = "tickwise-test-token-0123456789abcdef"  # noqa: S105  (of this server)
_PINS = Path(__file__).parent / "ray_pins" / "pins.lock"


@contextmanager
def server() -> Iterator[Server]:
    """Start a head that asks for TOKEN, with the `tickwise` of this environment on its path."""
    bin_folder = interpreter(print, _PINS).parent
    port = free_port()
    with TemporaryDirectory(prefix="ray-", dir="/tmp") as name:
        variables = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": TOKEN,
            "PATH": f"{bin_folder}:{Path(sys.executable).parent}:/usr/bin:/bin",
        }
        command: list[str | Path] = [
            "env", *(f"{name}={value}" for name, value in variables.items()), bin_folder / "python",
            "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats", "--num-cpus=8",
            f"--port={free_port()}", "--node-ip-address=127.0.0.1", f"--temp-dir={name}",
            "--dashboard-host=127.0.0.1", f"--dashboard-port={port}",
            f"--dashboard-agent-listen-port={free_port()}",
        ]  # fmt: skip
        with running(command, Path(name), ready="Ray runtime started", end=signal.SIGTERM) as process:
            yield Server(f"http://127.0.0.1:{port}", process, Path(name))
