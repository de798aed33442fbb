"""How many runs a second clients enqueue through the API of a server, one run in each request."""

import asyncio

from tickwise.core.definition import JobDefinition
from tickwise.core.errors import TickwiseError

from ..measure import Figures
from ..postgres import connection, database
from ..stores.prepared_store import open_sql_store
from .api_clients import CONNECTIONS, ApiRequest, send_once, send_requests
from .server_process import run_server
from .size import RuntimeSize

_AS_FAST_AS_POSSIBLE = 1_000_000  # requests per second
_ENQUEUE = ApiRequest("POST /api/v1/runs", status=201, body='{"job": "job"}')


def name() -> str:
    return f"enqueue through the API, one at a time by {CONNECTIONS} clients"


def figures(server: str, size: RuntimeSize) -> Figures:
    yield name(), asyncio.run(_measure_rate(server, size)), "requests/s", None


async def _measure_rate(server: str, size: RuntimeSize) -> float:
    """Nobody can execute the job, so its runs stay queued."""
    async with database(server) as url:
        store = open_sql_store(url)
        await store.schema.upgrade()
        await store.define(JobDefinition("job"), "bench")
        await store.close()
        with run_server(url) as process:
            await send_once(process, _ENQUEUE)
            async with send_requests(process, _AS_FAST_AS_POSSIBLE, _ENQUEUE) as responses:
                await asyncio.sleep(size.seconds)
        async with connection(url) as connected:
            made = int(await connected.fetchval("SELECT count(*) FROM tickwise_runs"))
    if not responses.count < made <= responses.count + CONNECTIONS + 1:  # with the first
        raise TickwiseError(f"{responses.count:,} requests made {made:,} runs")
    return responses.rate
