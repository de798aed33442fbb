"""What an idle node with many schedules costs; the API is a process of its own and does not count."""

import asyncio

from ..measure import Figures
from ..postgres import database
from ..stores.prepared_store import PreparedStore
from .server_process import ProcessUsage, read_usage, run_server
from .size import RuntimeSize

_SETTLE_SECONDS = 3.0  # after the server is ready


def names(size: RuntimeSize) -> tuple[str, str]:
    what = f"idle, {size.stored:,} schedules"
    return f"{what}, of a core", f"{what}, memory"


def figures(server: str, size: RuntimeSize) -> Figures:
    before, after = asyncio.run(_measure_usage(server, size))
    percent, memory = names(size)
    yield percent, (after.seconds - before.seconds) / size.seconds * 100, "%", None
    yield memory, after.megabytes, "MB", None


async def _measure_usage(server: str, size: RuntimeSize) -> tuple[ProcessUsage, ProcessUsage]:
    async with database(server) as url:
        prepared = await PreparedStore.create(url, stored=size.stored, due=1)
        await prepared.store.close()
        with run_server(url) as process:
            await asyncio.sleep(min(_SETTLE_SECONDS, size.seconds))
            before = read_usage(process.pid)
            await asyncio.sleep(size.seconds)
            return before, read_usage(process.pid)
