"""Run as `python basic.py`: process a table of reminders when they are due.

The table belongs to the user, in an SQLite file; it needs only the columns below.
"""

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tickwise.documents import DocumentScheduler, SqliteJobStore

TABLE = """
    CREATE TABLE reminders (
        id integer PRIMARY KEY, text text NOT NULL,                                -- your own
        sleep_until text, interval text, repeat_until text, auto_remove boolean,   -- when
        lock_owner text, lock_until text, error text                               -- the scheduler's
    )
"""
REMINDERS = """
    INSERT INTO reminders (text, sleep_until, interval, auto_remove) VALUES
        ('call Ada', datetime('now', '-2 minutes'), NULL, FALSE),                  -- once
        ('water the plants', datetime('now', '-10 days'), '0 7 * * MON-FRI', FALSE),  -- every morning
        ('buy milk', datetime('now', '-1 minute'), NULL, TRUE),                    -- once, then deleted
        ('renew the passport', datetime('now', '+2 years'), NULL, FALSE)           -- not yet
"""


def remind(reminder: Mapping[str, Any]) -> None:
    print(f"Remember to {reminder['text']}.")


def process_due(file: Path) -> None:
    """Run until nothing is due. Without `on_idle` it would run until Ctrl-C."""

    def stop() -> None:
        scheduler.request_stop()

    store = SqliteJobStore(file, "reminders", condition="text <> ''")
    scheduler = DocumentScheduler(store, remind, on_idle=stop, timezone="Europe/Berlin")
    asyncio.run(store.create_index())
    asyncio.run(scheduler.run())


def main() -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "own.db"
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(TABLE)
            connection.execute(REMINDERS)
        process_due(file)
        with closing(sqlite3.connect(file)) as connection:
            for text, sleep_until in connection.execute("SELECT text, sleep_until FROM reminders"):
                print(f"{text}: {'done' if sleep_until is None else f'sleeps until {sleep_until}'}")


if __name__ == "__main__":
    main()
