"""`tickwise store`: the tables themselves, which no API route touches."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from ...app.restoration import Restoration, mark_restored
from ...app.values import as_second
from ...config import load
from ...ownership import WriterCheck
from ...stores.contract import Store
from ...stores.schema_contract import Durability
from ...stores.url import check_exists, hidden, open_store
from ..arguments import as_past
from ..command import ConfigFile, StoreUrl
from ..output import AsJson, print_error, print_json, print_line
from ..prompts import Yes, confirm
from ..user import user_name

app = typer.Typer(help="The store itself: its tables or collections.", no_args_is_help=True)


@app.command("upgrade")
def upgrade(store: StoreUrl = None, config: ConfigFile = None, *, as_json: AsJson = False) -> None:
    """Create a store, or upgrade it to this version. Nodes of the version before keep working."""
    url, applied = asyncio.run(_upgrade(store, config))
    if as_json:
        print_json({"store": url, "applied": applied})
    else:
        print_line(f"{url}: {', '.join(applied)} applied" if applied else f"{url} is up to date")


@app.command("check")
def check(store: StoreUrl = None, config: ConfigFile = None, *, as_json: AsJson = False) -> None:
    """Check whether this version can use a store; exits with 1 if not."""
    url, problems, durability = asyncio.run(_check(store, config))
    if as_json:
        told = {"settings": durability.settings, "loss": durability.loss} if durability else None
        print_json({"store": url, "problems": problems, "durability": told})
    else:
        for problem in problems:
            print_error(problem)
        if not problems:
            print_line(f"{url} is fine")
        if durability:
            print_line(f"{durability.settings}: {durability.loss or 'a crash of the server loses nothing'}")
    raise typer.Exit(1 if problems else 0)


@app.command("restored")
def restored(
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="When the lost store stopped (in UTC), or 2h ago: 2h.")
    ],
    store: StoreUrl = None,
    config: ConfigFile = None,
    *,
    yes: Annotated[bool, Yes] = False,
    as_json: AsJson = False,
) -> None:
    """Say that a store comes from a backup.

    What the lost store did is not done again: slots up to that time are recorded as restored, and runs that the
    backup has as unfinished are cancelled. Later slots go through catch-up. Do this before nodes are started.
    """
    done = asyncio.run(_restored(store, config, as_past(until) or "", yes=yes))
    if as_json:
        print_json(done._asdict())
    else:
        print_line(f"{done.schedules} schedules moved on, {done.runs} unfinished runs cancelled")
        print_line(f"New runs are numbered from {done.next_run}")


async def _restored(given: str | None, config: Path | None, until: str, *, yes: bool) -> Restoration:
    await confirm(f"Decide no slot up to {until} again, and cancel what the backup has as unfinished?", yes=yes)
    async with _opened(given, config, must_exist=True) as (_, store):
        return await mark_restored(store, as_second(until, 0), user_name())


async def _upgrade(given: str | None, config: Path | None) -> tuple[str, list[str]]:
    async with _opened(given, config) as (url, store):
        return hidden(url), list(await store.schema.upgrade())


async def _check(given: str | None, config: Path | None) -> tuple[str, list[str], Durability | None]:
    async with _opened(given, config, must_exist=True) as (url, store):
        return hidden(url), list(await store.schema.check()), await store.schema.durability()


@asynccontextmanager
async def _opened(
    given: str | None, config: Path | None, *, must_exist: bool = False
) -> AsyncIterator[tuple[str, Store]]:
    settings = load({"store": given}, file=config)
    if must_exist:
        check_exists(settings.store)
    store = open_store(settings.store, writers=WriterCheck(settings.trusted_folders))
    try:
        yield settings.store, store
    finally:
        await store.close()
