"""What a page costs that stays open: bytes, processor time of the browser, and whether its memory grows.

All pages are open side by side, each in a browser of its own, while the server goes on to fire; the worst of them
counts. Processor time is that of a page's own thread, so other programs do not add to it. Memory is compared after
a collection of garbage.
"""

from typing import Any, NamedTuple

from .measure import Figures
from .runtime.server_process import ServerProcess

_PLACES = ("", "schedules", "schedules/etl-00012", "runs", "runs/1", "forecast", "calendars", "fleet", "audit")
_SETTLING = 0.1  # of the time, before it counts
_MINUTE = 60_000  # milliseconds
_TARGETS = {"kB a minute": 100.0, "% of a core": 2.0, "growth of its memory, MB": 1.0}


def targets(what: str) -> dict[str, float]:
    """The required rows, each with its upper bound."""
    return {_row_name(what, measure): bound for measure, bound in _TARGETS.items()}


def _row_name(what: str, measure: str) -> str:
    return f"open page, {what}, {measure}"


class _Usage(NamedTuple):
    kilobytes: float
    seconds: float
    megabytes: float  # of memory, now


class _OpenPage:
    """A page, with what it has used since it was opened."""

    def __init__(self, browser: Any, server: ServerProcess, place: str) -> None:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        session = context.request.post(f"{server.address}/session", data={"token": server.token}).json()
        context.add_init_script(f"localStorage.setItem('tickwise.session', {session['key']!r})")
        self.page = context.new_page()
        self.close = context.close
        self._bytes = 0
        self._session = context.new_cdp_session(self.page)
        self._session.send("Network.enable")
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._session.on("Network.dataReceived", self._count)
        self.page.goto(f"{server.address}/#/{place}")
        self.page.wait_for_selector("h1")

    def _count(self, event: dict[str, Any]) -> None:
        self._bytes += event["encodedDataLength"]

    def usage(self) -> _Usage:
        self._session.send("HeapProfiler.collectGarbage")
        memory = self._session.send("Runtime.getHeapUsage")["usedSize"]
        metrics = {one["name"]: one["value"] for one in self._session.send("Performance.getMetrics")["metrics"]}
        return _Usage(self._bytes / 1e3, metrics["TaskDuration"], memory / 1e6)


def figures(browser: Any, server: ServerProcess, what: str, minutes: float) -> Figures:
    """Let all pages be open for a while."""
    pages = [_OpenPage(browser, server, place) for place in _PLACES]
    pages[0].page.wait_for_timeout(minutes * _SETTLING * _MINUTE)
    before = [one.usage() for one in pages]
    pages[0].page.wait_for_timeout(minutes * _MINUTE)
    after = [one.usage() for one in pages]
    for one in pages:
        one.close()
    used = [_Usage(*(b - a for a, b in zip(*both, strict=True))) for both in zip(before, after, strict=True)]
    yield _row_name(what, "kB a minute"), max(one.kilobytes for one in used) / minutes, "kB", None
    yield _row_name(what, "% of a core"), max(one.seconds for one in used) / minutes / 60 * 100, "%", None
    yield _row_name(what, "growth of its memory, MB"), max(0.0, *(one.megabytes for one in used)), "MB", None
