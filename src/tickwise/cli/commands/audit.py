"""`tickwise audit` and `tickwise templates`."""

import json
from typing import Annotated, Any

import typer

from ..arguments import shown_time
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import print_line, print_table


@api_command
async def audit(
    api: ApiClient,
    subject: Annotated[str | None, typer.Option(help="Only about this schedule, run or token.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="How many at most.")] = 20,
) -> CommandResult:
    """List who changed what, the newest first."""
    page = await api.pages("/audit", limit, subject=subject)
    rows = [(shown_time(o["at"]), o["who"], o["action"], o["subject"], _short(o["after"])) for o in page["items"]]
    if not rows:
        return CommandResult(page, lambda: print_line("Nothing was changed.", "dim"))
    return CommandResult(page, lambda: print_table(["when", "who", "what", "of", "with"], rows))


def _short(value: Any) -> str:
    text = "" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"


@api_command
async def templates(api: ApiClient) -> CommandResult:
    """List the schedules that have a name of their own: schedule: {template: NAME}."""
    answer = await api.get("/templates")
    rows = [(one["name"], one["expression"], one["description"]) for one in answer["items"]]
    return CommandResult(answer, lambda: print_table(["template", "expression", "what it means"], rows))
