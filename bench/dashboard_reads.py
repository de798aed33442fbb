"""How long the requests of the dashboard take over a full store, on SQLite and on PostgreSQL.

A `tickwise serve` fires what is due meanwhile. Each request is sent over one connection, again and again, and the
time that nineteen of twenty stay below counts. The first of each is not timed: it reads definitions.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from urllib.parse import quote, urlsplit

from tickwise.core.errors import TickwiseError

from .bulk_data import fill_store
from .measure import Figures, Progress
from .postgres import database, postgres
from .runtime.server_process import ServerProcess, run_server

STORES = ("SQLite", "PostgreSQL")
_TARGET = 100  # milliseconds
_MONTH = timedelta(days=30)
_READS = {  # what is asked for, by the name of its row
    "attention": "/attention",
    "slots of an hour": "/slots",
    "slots of 30 days": "/slots?since={month_ago}",
    "a hundred schedules": "/schedules?limit=100",
    "slots of a schedule": "/schedules/etl-00012/slots",
    "failed runs": "/runs?q={failed}",
    "lost runs": "/runs?q={lost}",
    "runs by a word": "/runs?q=etl-00012",
    "runs by an error": "/runs?q={ledger}",
    "runs of a label": "/runs?q={label}",
    "runs of a pattern of names": "/runs?q={pattern}",
    "facets": "/runs:facets",
    "facets of failed runs": "/runs:facets?q={failed}",
    "forecast": "/forecast",
}
_QUERIES = {"failed": "state:failed", "lost": "state:lost last 3d", "ledger": "error:Ledger*",
            "label": "label:kind=etl", "pattern": "job:etl-0*"}  # fmt: skip


def targets(schedules: int, runs: int) -> dict[str, float]:
    """The required rows, each with its upper bound."""
    return {_row_name(read, store, schedules, runs): _TARGET for store in STORES for read in _READS}


def _row_name(read: str, store: str, schedules: int, runs: int) -> str:
    return f"{read}, {schedules:,} schedules, {runs:,} runs, {store}, p95"


def figures(schedules: int, runs: int, requests: int, progress: Progress) -> Figures:
    """Measure all reads on each store."""
    for store in STORES:
        with _empty_store(store) as url:
            progress(f"filling {store}")
            asyncio.run(fill_store(url, schedules, runs))
            progress(f"reading from {store}")
            with run_server(url) as server:
                for read, path in _READS.items():
                    seconds = _p95(_times(server, path, requests))
                    yield _row_name(read, store, schedules, runs), seconds * 1_000, "ms", None


@contextmanager
def _empty_store(store: str) -> Iterator[str]:
    """The URL of a store that ends with the block."""
    if store == "SQLite":
        with TemporaryDirectory(prefix="tickwise-bench-") as folder:
            yield f"sqlite:///{Path(folder, 'tickwise.db')}"
        return
    with postgres() as server, asyncio.Runner() as runner:
        opened = database(server)
        url = runner.run(opened.__aenter__())
        try:
            yield url
        finally:
            runner.run(opened.__aexit__(None, None, None))


def _times(server: ServerProcess, path: str, requests: int) -> list[float]:
    month_ago = (datetime.now(UTC) - _MONTH).isoformat(timespec="seconds")
    given = {name: quote(text) for name, text in {**_QUERIES, "month_ago": month_ago}.items()}
    connection = HTTPConnection(urlsplit(server.address).netloc)
    took = []
    for _ in range(requests + 1):
        begun = perf_counter()
        connection.request(
            "GET", f"/api/v1{path.format(**given)}", headers={"Authorization": f"Bearer {server.token}"}
        )
        response = connection.getresponse()
        body = response.read()
        took.append(perf_counter() - begun)
        if response.status != 200:
            raise TickwiseError(f"{path} was answered with {response.status}: {body[:200]!r}")
    connection.close()
    return took[1:]


def _p95(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95)]
