"""The document scheduler for synchronous code: it runs on an event loop in a thread of its own."""

import asyncio
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Self

from .scheduler import DocumentScheduler


class ThreadedScheduler:
    """Starts and stops a `DocumentScheduler` from any thread."""

    def __init__(self, scheduler: DocumentScheduler) -> None:
        self.scheduler = scheduler
        self._lock = Lock()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start; returns after `on_start`. A problem with the store is raised here."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            started: Future[None] = Future()
            self._thread = Thread(target=self._run, args=(started,), name="tickwise-documents", daemon=True)
            self._thread.start()
            started.result()

    def stop(self) -> None:
        """As `DocumentScheduler.stop`."""
        if self.scheduler.is_inside():
            self.scheduler.request_stop()
            return
        with self._lock:
            if self._thread is not None:
                self.scheduler.request_stop()
                self._thread.join()

    def _run(self, started: "Future[None]") -> None:
        asyncio.run(self._start_and_join(started))

    async def _start_and_join(self, started: "Future[None]") -> None:
        try:
            await self.scheduler.start()
        except BaseException as error:  # noqa: BLE001  (`start` raises it)
            started.set_exception(error)
            return
        started.set_result(None)
        await self.scheduler.join()

    @property
    def is_running(self) -> bool:
        return self.scheduler.is_running

    @property
    def is_processing(self) -> bool:
        return self.scheduler.is_processing

    @property
    def is_idle(self) -> bool:
        return self.scheduler.is_idle

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
