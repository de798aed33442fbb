"""A `tickwise serve` process: what is measured is what users start."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tickwise.api.token_file import FILE, state_folder
from tickwise.core.errors import TickwiseError

_ROOT = Path(__file__).parents[2]  # where `bench` can be imported
_READY_LINE = re.compile(r"Health: (http\S+)/readyz")
_TIMEOUT = 60.0  # seconds for it to end


class ServerProcess(NamedTuple):
    """A server that is ready."""

    pid: int
    address: str
    token: str  # the admin's


class ProcessUsage(NamedTuple):
    """What a process has used."""

    seconds: float  # of processor time, since its start
    megabytes: float  # of memory, now


@contextmanager
def run_server(
    store: str, *arguments: str, port: int = 0, variables: Mapping[str, str] | None = None
) -> Iterator[ServerProcess]:
    """Start a server, wait until it is ready, and stop it when the block ends."""
    command = [sys.executable, "-m", "tickwise", "serve", *arguments, "--store", store, "--port", str(port)]
    with subprocess.Popen(  # noqa: S603  (our own)
        command, env={**os.environ, **(variables or {})}, cwd=_ROOT, stdout=subprocess.PIPE, text=True
    ) as process:  # fmt: skip
        address = next((found[1] for line in process.stdout or () if (found := _READY_LINE.match(line))), None)
        if address is None:
            raise TickwiseError(f"tickwise serve ended with {process.wait(_TIMEOUT)} before it was up")
        token = (_ROOT / state_folder(store) / FILE).read_text("ascii").strip()
        try:
            yield ServerProcess(process.pid, address, token)
        finally:
            process.terminate()
            process.communicate(timeout=_TIMEOUT)


def read_usage(pid: int) -> ProcessUsage:
    """From Linux's /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    ticks, pages = int(fields[11]) + int(fields[12]), int(fields[21])
    return ProcessUsage(ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
