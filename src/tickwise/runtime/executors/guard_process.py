"""The process of `guard`: a program of its own that imports only the standard library.

It reads lines from its worker: a mark and the process group of a program, a mark and 0 for one that is about to
start, a mark alone for one that has ended. When the worker is gone it kills all that are left, and ends.
"""

import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path

MARK = "TICKWISE_PROGRAM"
_POLL = 1.0  # seconds between looks at the parent, where a process cannot be waited for


def main(worker: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    os.closerange(3, 256)
    running: dict[str, int] = {}
    _follow(worker, running)
    for mark, group in running.items():
        for each in [group] if group else _find_marked(mark):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(each, signal.SIGKILL)


def _follow(worker: int, running: dict[str, int]) -> None:
    """Note what the worker says until it is gone."""
    handle = _open_process(worker)
    watched = [0] if handle is None else [0, handle]
    rest = b""
    while True:
        ready = select.select(watched, [], [], _POLL if handle is None else None)[0]
        if 0 in ready:
            data = os.read(0, 65_536)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                _note(line.decode(), running)
            if not data:
                return
        elif ready or os.getppid() != worker:
            return


def _open_process(worker: int) -> int | None:
    """A descriptor that is readable when the worker has ended; none where there is no such thing."""
    try:
        handle = os.pidfd_open(worker)
    except (AttributeError, OSError):
        return None
    return handle if os.getppid() == worker else None


def _note(line: str, running: dict[str, int]) -> None:
    mark, _, group = line.partition(" ")
    if group:
        running[mark] = int(group)
    else:
        running.pop(mark, None)


def _find_marked(mark: str) -> list[int]:
    """The groups of processes that have this mark in their environment (Linux only)."""
    text = f"{MARK}={mark}".encode()
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if text in (folder / "environ").read_bytes().split(b"\0"):
                found.add(os.getpgid(int(folder.name)))
    return sorted(found)


if __name__ == "__main__":
    main(int(sys.argv[1]))
