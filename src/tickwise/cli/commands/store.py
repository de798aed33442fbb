"""`tickwise store`: the tables themselves, of which the API knows nothing."""

import asyncio
from pathlib import Path

import typer

from ...config import load
from ...stores.url import hidden, open_store
from ..command import ConfigFile, StoreUrl
from ..output import AsJson, complain, print_json, print_line

app = typer.Typer(help="The store itself: its tables or collections.", no_args_is_help=True)


@app.command("upgrade")
def upgrade(store: StoreUrl = None, config: ConfigFile = None, *, as_json: AsJson = False) -> None:
    """Bring a store to this version; nodes of the version before go on beside it."""
    url, applied = asyncio.run(_act(store, config, check=False))
    if as_json:
        print_json({"store": url, "applied": applied})
    else:
        print_line(f"{url}: {', '.join(applied)} applied" if applied else f"{url} is up to date")


@app.command("check")
def check(store: StoreUrl = None, config: ConfigFile = None, *, as_json: AsJson = False) -> None:
    """Say whether this version can work with a store; exits with 1 if not."""
    url, problems = asyncio.run(_act(store, config, check=True))
    if as_json:
        print_json({"store": url, "problems": problems})
    else:
        for problem in problems:
            complain(problem)
        if not problems:
            print_line(f"{url} is fine")
    raise typer.Exit(1 if problems else 0)


async def _act(given: str | None, config: Path | None, *, check: bool) -> tuple[str, list[str]]:
    url = load({"store": given}, file=config).store
    store = open_store(url)
    try:
        return hidden(url), list(await (store.schema.check() if check else store.schema.upgrade()))
    finally:
        await store.close()
