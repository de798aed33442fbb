"""`tickwise workers`: the processes of the fleet."""

from typing import Any

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, in_colour, print_error, print_nothing, print_table


@api_command
async def workers(api: ApiClient) -> CommandResult:
    """List live processes, and those seen in the last 24 hours."""
    answer = await api.get("/workers")
    return CommandResult(answer, lambda: _print_workers(answer["items"], api.where))


def _print_workers(items: list[dict[str, Any]], where: str) -> None:
    if not items:
        print_nothing("No processes seen in the last 24 hours. To start one: tickwise serve.", where)
        return
    columns = ["state", "roles", "host", "process", "busy", "queues", "last seen", "version", "id"]
    optional = ["version", "process", "queues", "roles", "last seen"]
    print_table(columns, [_worker_cells(one) for one in items], optional=optional)
    for problem in (f"{one['host']}: {problem}" for one in items if one["live"] for problem in one["problems"]):
        print_error(problem)


def _worker_cells(one: dict[str, Any]) -> tuple[Any, ...]:
    return (
        in_colour("alive" if one["live"] else "gone"), ", ".join(one["roles"]), one["host"], str(one["pid"]),
        f"{one['busy']} of {one['capacity']}", ", ".join(one["queues"]), format_time(one["seen_at"]),
        one["version"], one["id"],
    )  # fmt: skip
