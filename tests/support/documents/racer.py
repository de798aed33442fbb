"""A process with many schedulers on one collection: prints the keys it has processed when nothing is left.

racer.py mongodb|postgres|mysql|redis|sqlite URL COLLECTION SCHEDULERS CONCURRENCY
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tickwise.documents import (
    DocumentScheduler,
    JobStore,
    MongoJobStore,
    MysqlJobStore,
    PostgresJobStore,
    RedisJobStore,
    SqliteJobStore,
)

STORES: dict[str, Any] = {
    "mongodb": MongoJobStore,
    "mysql": MysqlJobStore,
    "postgres": PostgresJobStore,
    "redis": RedisJobStore,
    "sqlite": lambda path, table: SqliteJobStore(Path(path), table),
}


async def race(store: JobStore, count: int, concurrency: int) -> list[str]:
    processed = []

    async def handle(document: Mapping[str, Any]) -> None:
        processed.append(str(document["_id"] if "_id" in document else document["id"]))

    def scheduler() -> DocumentScheduler:
        async def stop() -> None:
            await made.stop()

        made = DocumentScheduler(store, handle, on_idle=stop, concurrency=concurrency)
        return made

    await asyncio.gather(*(scheduler().run() for _ in range(count)))
    return processed


if __name__ == "__main__":
    kind, url, name, schedulers, concurrency = sys.argv[1:]
    print(json.dumps(asyncio.run(race(STORES[kind](url, name), int(schedulers), int(concurrency)))))
