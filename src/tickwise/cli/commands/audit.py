"""`tickwise audit`: who changed what."""

import json
from typing import Annotated, Any

import typer

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, print_nothing, print_table


@api_command
async def audit(
    api: ApiClient,
    subject: Annotated[str | None, typer.Option(help="Only about this schedule, run or token.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="How many at most.")] = 20,
) -> CommandResult:
    """List who changed what, the newest first."""
    page = await api.pages("/audit", limit, subject=subject)
    rows = [
        (format_time(o["at"]), o["who"], o["action"], o["subject"], _shorten(o["after"])) for o in page["items"]
    ]
    if not rows:
        return CommandResult(page, lambda: print_nothing("No changes recorded.", api.where))
    return CommandResult(page, lambda: print_table(["when", "who", "action", "subject", "details"], rows))


def _shorten(value: Any) -> str:
    text = "" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
