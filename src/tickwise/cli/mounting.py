"""The API in this process, over a store, for the person who may open that store: its admin."""

import getpass
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from ..api.access import Access
from ..api.app import make_api
from ..app import AsyncTickwise
from ..stores.records import AccessRole
from .existing import is_there
from .inside import Inside
from .output import hint


@asynccontextmanager
async def mounted(store: str | None, config: Path | None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of it, for as long as a block runs."""
    async with AsyncTickwise(store, config=config) as tickwise:
        if not is_there(tickwise.settings.store):
            hint(f"{tickwise.settings.store} is new: there was no store.")
        app = make_api(
            tickwise, access=Access(without_token=AccessRole.ADMIN, name=_person())
        )  # no socket is served
        async with httpx.AsyncClient(transport=Inside(app), base_url="http://localhost") as http:
            yield http


def _person() -> str:
    """Who sits at this machine, as far as it knows."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no name for the user's number
        return "command line"
