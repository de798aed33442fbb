"""What a node costs that has many schedules and nothing to do; its API is a process of its own."""

import asyncio

from ..measure import Figures
from ..stores.bed import Bed
from ..stores.databases import database
from .load import Size
from .process import Usage, serving, usage

_SETTLING = 3.0  # seconds after it is up


def names(size: Size) -> tuple[str, str]:
    what = f"idle, {size.stored:,} schedules"
    return f"{what}, of a core", f"{what}, memory"


def figures(server: str, size: Size) -> Figures:
    before, after = asyncio.run(_watched(server, size))
    percent, memory = names(size)
    yield percent, (after.seconds - before.seconds) / size.seconds * 100, "%", None
    yield memory, after.megabytes, "MB", None


async def _watched(server: str, size: Size) -> tuple[Usage, Usage]:
    async with database(server) as url:
        bed = await Bed.laid(url, stored=size.stored, due=1)
        await bed.store.close()
        with serving(url) as served:
            await asyncio.sleep(min(_SETTLING, size.seconds))
            before = usage(served.pid)
            await asyncio.sleep(size.seconds)
            return before, usage(served.pid)
