"""The limits of a database, measured on it: commits per second, connections, and bytes of a stored run."""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from ..capacity import DatabaseLimits
from ..postgres import connection, database
from ..runtime import lateness_app
from ..runtime.server_process import run_server
from ..runtime.size import INTERVAL, JOB_COUNT, OUTPUT_FILE
from ..stores.node import TickwiseNode

WRITERS, _WRITES = 16, 100
_JOBS = 100  # of the busy server, each once a second
_COUNT_CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tickwise'"
)


class DiskUsageNode(TickwiseNode):
    """Measures the disk space of a finished run, including its index entries."""

    bytes_per_run = 0.0

    async def done(self) -> int:
        done = await super().done()
        async with connection(self._url) as connected:
            await connected.execute("VACUUM FULL tickwise_runs")
            self.bytes_per_run = await connected.fetchval("SELECT pg_total_relation_size('tickwise_runs')") / done
        return done


async def measure_limits(server: str, seconds: float) -> DatabaseLimits:
    """Measure a database that shares its machine with the nodes."""
    async with database(server) as url, connection(url) as connected:
        allowed = int(await connected.fetchval("SHOW max_connections"))
        commits = await _commits_per_second(url)
        with TemporaryDirectory(prefix="tickwise-bench-") as folder:
            variables = {JOB_COUNT: str(_JOBS), INTERVAL: "1", OUTPUT_FILE: str(Path(folder, "calls"))}
            with run_server(url, f"{lateness_app.__name__}:app", variables=variables):
                await asyncio.sleep(seconds)
                opened = int(await connected.fetchval(_COUNT_CONNECTIONS))
        cores = os.cpu_count() or 1
        return DatabaseLimits(cores=cores, commits=commits, connections=allowed, per_node=opened, shared=True)


async def _commits_per_second(url: str) -> float:
    """The rate of some connections, each of which commits one row after the other."""
    async with connection(url) as connected:
        await connected.execute("CREATE TABLE rows (writer int)")
        begun = await connected.fetchval("SELECT clock_timestamp()")
        await asyncio.gather(*(_write_rows(url, writer) for writer in range(WRITERS)))
        took = await connected.fetchval("SELECT clock_timestamp() - $1::timestamptz", begun)
    return WRITERS * _WRITES / float(took.total_seconds())


async def _write_rows(url: str, writer: int) -> None:
    async with connection(url) as connected:
        for _ in range(_WRITES):
            await connected.execute("INSERT INTO rows VALUES ($1)", writer)
