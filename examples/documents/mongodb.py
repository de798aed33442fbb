"""Run as `python mongodb.py mongodb://HOST/DATABASE`: a collection with its own names for the scheduler's fields.

Needs `pip install 'tickwise[mongodb]'`.
"""

import asyncio
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pymongo import AsyncMongoClient

from tickwise.documents import DocumentScheduler, Fields, MongoJobStore

COLLECTION = "letters"
FIELDS = Fields(
    sleep_until="cron.next",
    interval="cron.every",
    repeat_until="cron.until",
    auto_remove="cron.disposable",
    lock_owner="cron.lock.owner",
    lock_until="cron.lock.until",
    error="cron.error",
)


async def send(letter: Mapping[str, Any]) -> None:
    print(f"Dear {letter['to']}: {letter['text']}")


async def write_letters(url: str) -> None:
    overdue = datetime.now(UTC) - timedelta(minutes=5)
    async with AsyncMongoClient[dict[str, Any]](url) as client:
        letters = client.get_default_database()[COLLECTION]
        await letters.drop()
        await letters.insert_many(
            [
                {"kind": "news", "to": "Ada", "text": "Hello", "cron": {"next": overdue, "every": "0 9 * * MON"}},
                {"kind": "news", "to": "Bob", "text": "Once", "cron": {"next": overdue, "disposable": True}},
                {"kind": "news", "to": "Eve", "text": "Never", "cron": {"next": overdue, "every": "often"}},
                {"kind": "draft", "to": "Joe", "text": "Not yet", "cron": {"next": overdue}},
                {"kind": "news", "to": "Zoe", "text": "No time"},
            ]
        )


async def show_letters(url: str) -> None:
    async with AsyncMongoClient[dict[str, Any]](url) as client:
        async for letter in client.get_default_database()[COLLECTION].find():
            cron = letter.get("cron", {})
            print(letter["to"], "|", cron.get("next"), "|", cron.get("error", "no error").partition("\n")[0])


async def main(url: str) -> None:
    await write_letters(url)
    store = MongoJobStore(url, COLLECTION, fields=FIELDS, condition={"kind": "news"})
    await store.create_index()

    async def stop() -> None:
        await scheduler.stop()

    def print_error(error: Exception, letter: Mapping[str, Any] | None) -> None:
        print(f"Error with {letter['to'] if letter else 'the collection'}: {str(error).splitlines()[0]}")

    scheduler = DocumentScheduler(store, send, on_idle=stop, on_error=print_error)  # without on_idle: until Ctrl-C
    await scheduler.run()
    await show_letters(url)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
