"""What a database gives: commits, connections and room, as counted on it."""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from ..capacity import Site
from ..runtime import load, punctual
from ..runtime.process import serving
from ..stores.databases import connection, database
from ..stores.ours import Ours

WRITERS, _WRITES = 16, 100
_JOBS = 100  # of the busy server, each once a second
_OPEN = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tickwise'"
)


class Weighed(Ours):
    """Runs that are weighed when all have ended, their indexes included."""

    bytes_per_run = 0.0

    async def done(self) -> int:
        done = await super().done()
        async with connection(self._url) as asked:
            await asked.execute("VACUUM FULL tickwise_runs")
            self.bytes_per_run = await asked.fetchval("SELECT pg_total_relation_size('tickwise_runs')") / done
        return done


async def site_of(server: str, seconds: float) -> Site:
    """Of a database whose machine the nodes share."""
    async with database(server) as url, connection(url) as asked:
        most = int(await asked.fetchval("SHOW max_connections"))
        commits = await _commits_per_second(url)
        with TemporaryDirectory(prefix="tickwise-bench-") as folder:
            variables = {load.COUNT: str(_JOBS), load.EVERY: "1", load.NOTES: str(Path(folder, "notes"))}
            with serving(url, f"{punctual.__name__}:app", variables=variables):
                await asyncio.sleep(seconds)
                held = int(await asked.fetchval(_OPEN))
        return Site(os.cpu_count() or 1, commits, most, held, shared=True)


async def _commits_per_second(url: str) -> float:
    """As many as some connections get, each of which commits one row after the other."""
    async with connection(url) as asked:
        await asked.execute("CREATE TABLE rows (writer int)")
        begun = await asked.fetchval("SELECT clock_timestamp()")
        await asyncio.gather(*(_write(url, writer) for writer in range(WRITERS)))
        took = await asked.fetchval("SELECT clock_timestamp() - $1::timestamptz", begun)
    return WRITERS * _WRITES / float(took.total_seconds())


async def _write(url: str, writer: int) -> None:
    async with connection(url) as own:
        for _ in range(_WRITES):
            await own.execute("INSERT INTO rows VALUES ($1)", writer)
