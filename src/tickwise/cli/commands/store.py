"""`tickwise store`: the tables themselves, which no API route touches."""

import asyncio
from pathlib import Path

import typer

from ...config import load
from ...ownership import WriterCheck
from ...stores.url import check_exists, hidden, open_store
from ..command import ConfigFile, StoreUrl
from ..output import AsJson, print_error, print_json, print_line

app = typer.Typer(help="The store itself: its tables or collections.", no_args_is_help=True)


@app.command("upgrade")
def upgrade(store: StoreUrl = None, config: ConfigFile = None, *, as_json: AsJson = False) -> None:
    """Create a store, or upgrade it to this version. Nodes of the version before keep working."""
    url, applied = asyncio.run(_check_or_upgrade(store, config, check=False))
    if as_json:
        print_json({"store": url, "applied": applied})
    else:
        print_line(f"{url}: {', '.join(applied)} applied" if applied else f"{url} is up to date")


@app.command("check")
def check(store: StoreUrl = None, config: ConfigFile = None, *, as_json: AsJson = False) -> None:
    """Check whether this version can use a store; exits with 1 if not."""
    url, problems = asyncio.run(_check_or_upgrade(store, config, check=True))
    if as_json:
        print_json({"store": url, "problems": problems})
    else:
        for problem in problems:
            print_error(problem)
        if not problems:
            print_line(f"{url} is fine")
    raise typer.Exit(1 if problems else 0)


async def _check_or_upgrade(given: str | None, config: Path | None, *, check: bool) -> tuple[str, list[str]]:
    settings = load({"store": given}, file=config)
    url, writers = settings.store, WriterCheck(settings.trusted_folders)
    if check:
        check_exists(url)
    store = open_store(url, writers=writers)
    try:
        return hidden(url), list(await (store.schema.check() if check else store.schema.upgrade()))
    finally:
        await store.close()
