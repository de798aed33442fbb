"""A process that locks documents and never finishes them: prints a line for each.

holder.py KIND URL COLLECTION CONCURRENCY
"""

import sys
from threading import Event
from typing import Any

from racer import STORES  # type: ignore[import-not-found]  # it stands beside this program

from tickwise.documents import DocumentScheduler, ThreadedScheduler


def hold(_: Any) -> None:
    print("locked", flush=True)
    Event().wait()


if __name__ == "__main__":
    kind, url, name, concurrency = sys.argv[1:]
    scheduler = DocumentScheduler(STORES[kind](url, name), hold, lock_duration=0.6, concurrency=int(concurrency))
    ThreadedScheduler(scheduler).start()
    Event().wait()
