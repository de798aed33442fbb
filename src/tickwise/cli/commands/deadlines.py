"""`tickwise deadlines`: how likely the next deadlines are to be missed, and why."""

from typing import Any

from rich.text import Text

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, print_nothing, print_table

_LIKELY = 0.5


@api_command
async def deadlines(api: ApiClient) -> CommandResult:
    """List the deadlines of the next day, and how likely each is missed. Past run times and the planner say so."""
    answer = await api.get("/deadlines")
    return CommandResult(answer, lambda: _print_deadlines(answer["items"], api.where))


def _print_deadlines(items: list[dict[str, Any]], where: str) -> None:
    if not items:
        print_nothing("No deadline comes in the next 24 hours.", where)
        return
    columns = ("at", "schedule", "deadline", "slot", "missed", "because")
    rows = [
        (
            format_time(one["at"]),
            one["schedule"],
            one["deadline"],
            format_time(one["slot"]),
            _probability(one),
            _why(one),
        )
        for one in items
    ]
    print_table(columns, rows, optional=("slot",))


def _probability(one: dict[str, Any]) -> Text:
    if one["probability"] is None:
        return Text("unknown", "dim")
    limit = _LIKELY if one["warn"] is None else one["warn"]
    return Text(f"{one['probability']:.0%}", "yellow" if one["probability"] >= limit else "")


def _why(one: dict[str, Any]) -> str:
    causes = [f"{cause['text']} ({cause['share']:.0%})" for cause in one["causes"][:3]]
    return one["unknown"] or ", ".join(causes)
