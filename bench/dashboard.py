"""How soon the first view of the dashboard is complete, what open pages cost, and how long their reads take.

Playwright opens the page of a `tickwise serve` in Chromium with an empty cache. The view is complete when every
number and the timeline are drawn. Its time counts from the navigation, as the page itself measures it. Later
requests and the event stream do not count.

The reads are requests of `dashboard_reads`, one after the other, to the same server and to one over PostgreSQL.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tickwise.core.errors import InputError

from . import dashboard_open, dashboard_reads
from .bulk_data import fill_store
from .measure import Figures, Progress
from .report import Row
from .runtime.server_process import ServerProcess, run_server

_CHROMIUM_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
_COMPLETE_VIEW = """() => {
    const summary = document.querySelector(".summary")?.textContent ?? "";
    const drawn = summary.includes("worker") && document.querySelector(".ribbon .bin");
    if (!drawn || document.querySelector(".loading")) return null;
    const loaded = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
    return [performance.now(), loaded.reduce((sum, one) => sum + one.encodedBodySize, 0)];
}"""


@dataclass(frozen=True, slots=True)
class DashboardSize:
    """How much is in the store, and how often the page is opened."""

    schedules: int
    runs: int
    views: int
    requests: int  # for each read
    minutes: float  # for which pages are open


FULL, QUICK = DashboardSize(10_000, 1_000_000, 5, 40, 10), DashboardSize(600, 600, 1, 2, 0.02)


class PageView(NamedTuple):
    seconds: float
    kilobytes: float


def targets(size: DashboardSize) -> dict[str, float]:
    """The required rows, each with its upper bound."""
    seconds, kilobytes = _row_names(size)
    reads = dashboard_reads.targets(size.schedules, size.runs)
    return {seconds: 1, kilobytes: 150, **dashboard_open.targets(_crowd(size)), **reads}


def rows(progress: Progress = lambda _: None, size: DashboardSize = FULL) -> list[Row]:
    """Measure the first view and the reads; what cannot be measured has a note and no row."""
    bounds = targets(size)
    measured = chain(
        _measure_view(size, progress),
        dashboard_reads.figures(size.schedules, size.runs, size.requests, progress),
    )
    return [Row.of(name, ours, unit, target=bounds[name]) for name, ours, unit, _ in measured]


def _row_names(size: DashboardSize) -> tuple[str, str]:
    what = f"first view, {_crowd(size)}"
    return what, f"{what}, bytes on the wire"


def _crowd(size: DashboardSize) -> str:
    return f"{size.schedules:,} schedules, {size.runs:,} runs"


def _measure_view(size: DashboardSize, progress: Progress) -> Figures:
    try:
        chromium = _chromium()
        with TemporaryDirectory(prefix="tickwise-bench-") as folder:
            progress("filling the store")
            file = Path(folder, "tickwise.db")
            asyncio.run(fill_store(f"sqlite:///{file}", size.schedules, size.runs))
            progress("opening the dashboard")
            with run_server(f"sqlite:///{file}", "--allow-commands") as server, chromium() as browser:
                views = [first_view(browser, server) for _ in range(size.views)]
                progress(f"leaving pages open for {size.minutes:g} minutes")
                left_open = list(dashboard_open.figures(browser, server, _crowd(size), size.minutes))
    except InputError as error:
        progress(f"note: the dashboard is left out: {error}")
        return
    seconds, kilobytes = _row_names(size)
    yield seconds, min(view.seconds for view in views), "s", None
    yield kilobytes, max(view.kilobytes for view in views), "kB", None
    yield from left_open


def _chromium() -> Callable[[], AbstractContextManager[Any]]:
    """A function that opens a browser; TICKWISE_BENCH_CHROMIUM names one of your own."""
    program = os.environ.get("TICKWISE_BENCH_CHROMIUM") or shutil.which("chromium")
    if program is None:
        raise InputError("there is no Chromium: install it, or name one with TICKWISE_BENCH_CHROMIUM")
    try:
        playwright = import_module("playwright.sync_api")
    except ImportError:
        raise InputError("playwright is missing: pip install playwright") from None

    @contextmanager
    def launch() -> Iterator[Any]:  # late, since playwright's event loop stops others from running
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=program, args=_CHROMIUM_FLAGS)
            yield browser
            browser.close()

    return launch


def first_view(browser: Any, server: ServerProcess) -> PageView:
    """Open the page as somebody who has signed in, with an empty cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    session = context.request.post(f"{server.address}/session", data={"token": server.token}).json()
    context.add_init_script(f"localStorage.setItem('tickwise.session', {session['key']!r})")
    page = context.new_page()
    page.goto(f"{server.address}/")
    milliseconds, size = page.wait_for_function(_COMPLETE_VIEW).json_value()
    context.close()
    return PageView(milliseconds / 1_000, size / 1_000)
