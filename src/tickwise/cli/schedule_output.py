"""What several commands print of schedules: their next runs and their zones."""

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from .arguments import schedule_path
from .client import ApiClient
from .output import format_time, in_colour
from .sender import ApiRefusal


def format_next_run(one: dict[str, Any]) -> Text:
    """The next run of a schedule in its own zone, or why there is none."""
    if one["shadow"] and one["shadow"]["in_shadow"]:
        return Text("in shadow", "dim")
    if one["next_run_at"] is not None:
        return Text(format_time(one["next_run_at"], one["timezone"]))
    if one["waits_for_events"] and not (one["unreadable"] or one["paused"]):
        return Text("on an event")
    return in_colour("unreadable" if one["unreadable"] else "paused" if one["paused"] else "finished")


def format_shadow(one: dict[str, Any], zone: str = "UTC") -> str:
    """Whether a schedule is in shadow, since when, and who has adopted it."""
    if one["in_shadow"]:
        return f"in shadow since {format_time(one['since'], zone)}"
    by = f" by {one['adopted_by']}" if one["adopted_by"] else ""
    return f"adopted {format_time(one['adopted_at'], zone)}{by}"


async def fetch_zones(api: ApiClient, names: Iterable[str | None]) -> dict[str | None, str]:
    """The zone of each schedule; UTC for those that no longer exist."""
    return {name: await _fetch_zone(api, name) for name in dict.fromkeys(names)}


async def _fetch_zone(api: ApiClient, name: str | None) -> str:
    if name is None:
        return "UTC"
    try:
        found: str = (await api.get(schedule_path(name)))["timezone"]
    except ApiRefusal:
        return "UTC"
    return found
