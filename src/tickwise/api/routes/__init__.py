"""The resources of the API, one file each; all of their doors are listed here."""

from collections.abc import Iterator

from .. import metrics
from ..routing import Route
from . import (
    actions,
    backfill,
    bulk,
    dashboard,
    decisions,
    doctor,
    events,
    fleet,
    health,
    jobs,
    logs,
    overview,
    pause,
    planning,
    runs,
    schedules,
    times,
    tokens,
)

_RESOURCES = (
    bulk, schedules, actions, backfill, runs, logs, jobs, times, decisions, planning, fleet, pause, overview,
    doctor, events, tokens,
)  # fmt: skip
PREFIX = "/api/v1"


def all_routes() -> Iterator[tuple[str, Route]]:
    """Each with the beginning of its address."""
    for resource in _RESOURCES:
        for door in resource.doors.all:
            yield PREFIX, door
    for door in (*health.doors.all, *metrics.doors.all, *dashboard.doors.all):
        yield "", door
