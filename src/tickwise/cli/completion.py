"""Names of schedules for the shell, from the store; silent when there is none to read."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

import typer

from ..config import load
from ..stores.records import ScheduleFilter
from ..stores.url import open_store
from .client import store_exists

_MOST = 100


def schedule_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Those that begin with what has been typed."""
    with suppress(Exception):  # a shell that completes is no place for complaints
        settings = load({"store": ctx.params.get("store")}, file=ctx.params.get("config"))
        return asyncio.run(_names(settings.store, incomplete)) if store_exists(settings.store) else []
    return []


async def _names(url: str, begin: str) -> list[str]:
    store = open_store(url)
    try:
        page = await store.insights.schedules(ScheduleFilter(text=begin or None), limit=_MOST)
    finally:
        await store.close()
    return [name for row in page.items if (name := row.schedule.name).startswith(begin)]


_ARGUMENT: dict[str, Any] = {"metavar": "NAME", "help": "A schedule.", "autocompletion": schedule_names}
Name = Annotated[str, typer.Argument(**_ARGUMENT)]
