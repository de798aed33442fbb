"""The resources of the API, one module each; this package lists all their routes."""

from collections.abc import Iterator

from .. import metrics
from ..routing import Route
from . import (
    actions,
    adoption,
    attempts,
    attention,
    backfill,
    blackouts,
    bulk,
    calendars,
    dashboard,
    deadlines,
    decisions,
    definitions,
    doctor,
    events,
    fleet,
    health,
    jobs,
    logs,
    notifications,
    overview,
    pause,
    preview,
    proposals,
    received_events,
    replay,
    run_search,
    runs,
    schedules,
    session,
    shadow,
    sign_on,
    slots,
    sources,
    times,
    tokens,
)

_RESOURCES = (
    bulk, adoption, shadow, schedules, slots, received_events, actions, backfill, run_search, runs,
    logs, sources, jobs, times, deadlines, decisions, definitions, preview, calendars, replay, proposals,
    fleet, pause, blackouts, overview, attention, doctor, notifications, events, tokens, attempts,
)  # fmt: skip
PREFIX = "/api/v1"


def all_routes() -> Iterator[tuple[str, Route]]:
    """Every route with its path prefix."""
    for resource in _RESOURCES:
        for route in resource.router.routes:
            yield PREFIX, route
    for resource in (health, metrics, dashboard, session, sign_on):
        for route in resource.router.routes:
            yield "", route
    for route in received_events.hooks.routes:
        yield "", route
