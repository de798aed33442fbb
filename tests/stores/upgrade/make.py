"""Make the fixtures of a schema: `python -m tests.stores.upgrade.make 3`, on the day that it is released.

The story is lived in it, and what is there then is written down as text: the statements that made the tables and
plain INSERTs for both databases, documents and indexes for MongoDB, and what people see (`seen`). Only the newest
can be made, for a program lives in no schema but its own, and what was released once is never made anew. MongoDB
counts its schemas for itself: its newest is made if it is not there yet.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bson import json_util

from tickwise.stores.mongo import base
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.sql import postgres, schema, sqlite
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Dialect, Procedure, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store
from tickwise.testing import FakeClock
from tickwise.testing.conformance.world import START, World

from ...servers import mongodb
from .story import live, seen

FOLDER = Path(__file__).parent / "fixtures"
_DIALECTS = {"sqlite": sqlite.DIALECT, "postgres": postgres.DIALECT}
_TABLES = Statement("""
    SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'tickwise%' UNION SELECT 'tickwise_logs'
    ORDER BY 1
""")


async def make_sql(version: int, folder: Path) -> Any:
    """Both databases get what was lived in SQLite; what people see."""
    clock = FakeClock(START)
    store = open_store(f"sqlite:///{folder}/own.db", clock)
    assert isinstance(store, SqlStore)
    known = schema.migrations()
    await store.schema.upgrade()
    await live(World(store, clock), version)
    for name, dialect in _DIALECTS.items():
        rows = await store.driver.run(lambda dialect=dialect: _rows(dialect), Pool.OTHER)  # type: ignore[misc]
        text = "".join(f"{statement};\n" for statement in [*_tables(known, dialect), *rows])
        text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
        (FOLDER / f"{name}-{version}.sql").write_text(text, "utf-8")
    found = await seen(store, version)
    await store.close()
    return found


def _tables(known: list[schema.Migration], dialect: Dialect) -> Iterator[str]:
    yield schema._TABLE.strip()
    for migration in known:
        yield from (statement.text for statement in schema.statements(migration, dialect))


def _rows(dialect: Dialect) -> Procedure[list[str]]:
    """What each table holds, as INSERTs; numbers go on after the last that was given out."""
    said = []
    for (table,) in (yield _TABLES()):
        columns = yield Statement(f"SELECT name, type FROM pragma_table_info('{table}') ORDER BY cid")()
        names = ", ".join(name for name, _ in columns)
        for row in (yield Statement(f"SELECT {names} FROM {table} ORDER BY 1, 2")()):
            values = ", ".join(_written(v, kind) for v, (_, kind) in zip(row, columns, strict=True))
            place = dialect.schema_words[r"\bLOGS\."] if table == "tickwise_logs" else ""
            said.append(f"INSERT INTO {place}{table} ({names}) VALUES ({values})")
        if dialect is postgres.DIALECT and columns[0] == ("id", "INTEGER"):
            said.append(f"SELECT setval('{table}_id_seq', (SELECT coalesce(max(id), 0) + 1 FROM {table}))")
    return said


def _written(value: Any, kind: str) -> str:
    if kind == "boolean":
        return str(bool(value)).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else str(value)


async def make_mongodb(url: str) -> str:
    clock = FakeClock(START)
    store = MongoStore(url, clock)
    await store.schema.upgrade()
    await live(World(store, clock), base.SCHEMA_VERSION)
    database = store.mongo.client[store.mongo.name]
    found: dict[str, Any] = {}
    for name in sorted(await database.list_collection_names()):
        documents = await database[name].find().sort("_id").to_list()
        indexes = await database[name].index_information()
        found[name.removeprefix("tickwise_")] = {"documents": documents, "indexes": indexes}
    await store.close()
    return json_util.dumps(found, indent=1) + "\n"


def make(version: int) -> None:
    path, of_mongodb = FOLDER / f"seen-{version}.json", FOLDER / f"mongodb-{base.SCHEMA_VERSION}.json"
    if path.exists():
        sys.exit(f"{path.name} is there: what was released is not made anew")
    if version != (newest := len(schema.migrations())):
        sys.exit(f"{newest} is the newest schema: no other can be made")
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        found = asyncio.run(make_sql(version, Path(folder)))
    if not of_mongodb.exists():
        with mongodb.server() as server:
            of_mongodb.write_text(asyncio.run(make_mongodb(server.url)), "utf-8")
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    make(int(sys.argv[1]))
