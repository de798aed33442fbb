"""Completion of schedule names in the shell, from the store; without a store there are none."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

import typer

from ..config import Settings, load
from ..ownership import WriterCheck
from ..stores.records import ScheduleFilter
from ..stores.url import open_store, store_exists

_MAX_NAMES = 100


def schedule_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names that begin with what was typed."""
    with suppress(Exception):  # an error would be printed into the command line
        settings = load({"store": ctx.params.get("store")}, file=ctx.params.get("config"))
        return asyncio.run(_fetch_names(settings, incomplete)) if store_exists(settings.store) else []
    return []


async def _fetch_names(settings: Settings, begin: str) -> list[str]:
    store = open_store(settings.store, writers=WriterCheck(settings.trusted_folders))
    try:
        page = await store.insights.schedules(ScheduleFilter(text=begin or None), limit=_MAX_NAMES)
    finally:
        await store.close()
    return [name for row in page.items if (name := row.schedule.name).startswith(begin)]


_ARGUMENT: dict[str, Any] = {"metavar": "NAME", "help": "A schedule.", "autocompletion": schedule_names}
Name = Annotated[str, typer.Argument(**_ARGUMENT)]
OptionalName = Annotated[str | None, typer.Argument(**_ARGUMENT)]
