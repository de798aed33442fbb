"""A folder source under test: its items one by one, and the jobs that they add up to.

A source looks at its folder only while its next item is awaited. So whatever a test does between two items is one
burst to it.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from tickwise.core.definition import JobDefinition
from tickwise.sources.folder import FolderChange, FolderSource

LONG = 60  # against hanging only


class Stream:
    """Applies what a source tells, in the order that it asks for."""

    def __init__(self, source: FolderSource) -> None:
        self.stop = asyncio.Event()
        self.items = source.changes(self.stop)
        self.jobs: dict[str, JobDefinition] = {}

    async def next(self) -> FolderChange:
        async with asyncio.timeout(LONG):
            change = await anext(self.items)
        for name in change.removed:
            del self.jobs[name]
        self.jobs |= {located.job.name: located.job for located in change.defined}
        return change

    def queues(self) -> dict[str, str]:
        return {name: job.queue for name, job in self.jobs.items()}


@asynccontextmanager
async def watched(path: Path, **options: Any) -> AsyncIterator[Stream]:
    """A stream that ends with the block; its first item is still to come."""
    stream = Stream(
        FolderSource(path, **{"thorough_every": math.inf} | options)
    )  # else that finds what others miss
    async with aclosing(stream.items):
        yield stream


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def move(path: Path, to: Path) -> None:
    path.rename(to)


def names(change: FolderChange) -> list[str]:
    return [located.job.name for located in change.defined]


def problems(change: FolderChange) -> list[str]:
    return [error.problem for error in change.errors]
