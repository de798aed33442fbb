"""RabbitMQ of Debian's package rabbitmq-server, without a service manager, as the user who runs the tests.

Debian's command changes to a user of its own and uses the folders of the service. The program behind it takes all
places from variables. It would start Erlang's registry of names, `epmd`, as a daemon that outlives it; so each
server gets a registry on a port of its own first, which ends with it.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .process import PATIENCE, Server, free_port, own_folder, running

_PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_READY = "Server startup complete"
_SETTINGS = """
listeners.tcp.1 = 127.0.0.1:{port}
log.console = true
log.file = false
disk_free_limit.absolute = 10MB
"""


def why_missing() -> str:
    """Why there can be no server here; empty if there can."""
    is_there = _PROGRAM.exists() and shutil.which("epmd")
    return "" if is_there else "there is no RabbitMQ: apt-get install --no-install-recommends rabbitmq-server"


@contextmanager
def server() -> Iterator[Server]:
    """Start RabbitMQ and wait until it answers."""
    with own_folder() as folder:
        port, registry = free_port(), free_port()
        (folder / "rabbitmq.conf").write_text(_SETTINGS.format(port=port))
        (folder / "enabled_plugins").write_text("[].\n")
        places = _places(folder) | {"ERL_EPMD_PORT": str(registry), "RABBITMQ_DIST_PORT": str(free_port())}
        command: list[str | Path] = ["env", *(f"{name}={value}" for name, value in places.items()), _PROGRAM]
        with _registry(registry), running(command, folder, ready=_READY, end=signal.SIGTERM) as process:
            yield Server(f"amqp://guest:guest@127.0.0.1:{port}//", process, folder)


def _places(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder),  # where Erlang writes its cookie
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": "tickwise@localhost",
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_PID_FILE": str(folder / "pid"),
    }


@contextmanager
def _registry(port: int) -> Iterator[None]:
    command = [shutil.which("epmd") or "epmd", "-port", str(port), "-address", "127.0.0.1"]
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.kill()
            process.wait(PATIENCE)
