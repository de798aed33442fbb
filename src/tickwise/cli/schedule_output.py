"""Parts of responses that several commands print: next times and zones of schedules."""

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from .arguments import schedule_path, shown_time
from .client import ApiClient, ApiRefusal
from .output import in_colour


def shown_next(one: dict[str, Any]) -> Text:
    """The next time of a schedule in its own zone, or why there is none."""
    if one["next_run_at"] is not None:
        return Text(shown_time(one["next_run_at"], one["timezone"]))
    return in_colour("paused" if one["paused"] else "finished")


async def zones(api: ApiClient, names: Iterable[str | None]) -> dict[str | None, str]:
    """The zone of each schedule; UTC for those that are gone."""
    return {name: await _zone(api, name) for name in dict.fromkeys(names)}


async def _zone(api: ApiClient, name: str | None) -> str:
    if name is None:
        return "UTC"
    try:
        found: str = (await api.get(schedule_path(name)))["timezone"]
    except ApiRefusal:
        return "UTC"
    return found
