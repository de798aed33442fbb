"""Parts of answers that several commands show."""

from collections.abc import Iterable
from io import StringIO
from typing import Any

from rich.text import Text
from ruamel.yaml import YAML

from .addresses import schedule_path
from .arguments import shown_time
from .client import Api, Refused
from .output import in_colour


def shown_next(one: dict[str, Any]) -> Text:
    """The next time of a schedule in its own zone, or why there is none."""
    if one["next_run_at"] is not None:
        return Text(shown_time(one["next_run_at"], one["timezone"]))
    return in_colour("paused" if one["paused"] else "finished")


async def zones(api: Api, names: Iterable[str | None]) -> dict[str | None, str]:
    """The zone of each schedule; UTC for those that are gone."""
    return {name: await _zone(api, name) for name in dict.fromkeys(names)}


async def _zone(api: Api, name: str | None) -> str:
    if name is None:
        return "UTC"
    try:
        found: str = (await api.get(schedule_path(name)))["timezone"]
    except Refused:
        return "UTC"
    return found


def as_yaml(fields: dict[str, Any]) -> list[str]:
    """A definition as the job file that would say it."""
    stream = StringIO()
    writer = YAML()
    writer.default_flow_style = False
    writer.dump(fields, stream)
    return stream.getvalue().splitlines()
