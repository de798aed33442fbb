"""Names and ids as parts of the API's addresses; what cannot be one is told before it is asked for."""

import re

from ..core.definition import check_name
from ..core.errors import InputError

_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def schedule_path(name: str) -> str:
    return f"/schedules/{check_name(name, 'the name of a schedule')}"


def queue_path(name: str) -> str:
    return f"/queues/{check_name(name, 'the name of a queue')}"


def run_path(run: str) -> str:
    if not _ID.fullmatch(run):
        raise InputError(f"{run[:60]!r} cannot be the id of a run: see tickwise runs list")
    return f"/runs/{run}"
