"""A `tickwise serve` of its own: what is measured is what users start."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...core.errors import TickwiseError

_UP = re.compile(r"Health: (http\S+)/readyz")
_PATIENCE = 60.0  # seconds for an end


class Server(NamedTuple):
    """One that is up."""

    pid: int
    address: str


class Usage(NamedTuple):
    """What a process has taken of the machine."""

    seconds: float  # on processors, since its start
    megabytes: float  # of memory, now


@contextmanager
def serving(store: str, *arguments: str, variables: Mapping[str, str] | None = None) -> Iterator[Server]:
    """From when it is up until the block ends."""
    command = [sys.executable, "-m", "tickwise", "serve", *arguments, "--store", store, "--port", "0"]
    with subprocess.Popen(  # noqa: S603  (our own)
        command, env={**os.environ, **(variables or {})}, stdout=subprocess.PIPE, text=True
    ) as process:  # fmt: skip
        address = next((found[1] for line in process.stdout or () if (found := _UP.match(line))), None)
        if address is None:
            raise TickwiseError(f"tickwise serve ended with {process.wait(_PATIENCE)} before it was up")
        try:
            yield Server(process.pid, address)
        finally:
            process.terminate()
            process.communicate(timeout=_PATIENCE)


def usage(pid: int) -> Usage:
    """As Linux tells it."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    ticks, pages = int(fields[11]) + int(fields[12]), int(fields[21])
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
