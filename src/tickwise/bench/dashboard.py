"""How soon the first view of the dashboard stands, and how much it takes, before a store that is full.

A real Chromium, driven by playwright, opens the page of a `tickwise serve` with nothing in its cache. The view
stands when every number and the timeline are drawn; its time is from the navigation on, as the page itself tells
it. What a page asks for after that is no part of it, nor is the stream of events.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ..core.errors import InputError
from .crowd import crowd
from .measure import Figures, Progress
from .report import Row
from .runtime.process import serving

_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
_STANDS = """() => {
    const values = [...document.querySelectorAll(".tile-value")].map((tile) => tile.textContent);
    const drawn = values.length && !values.includes("…") && document.querySelector(".timeline .piece");
    if (!drawn || document.querySelector(".loading")) return null;
    const loaded = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
    return [performance.now(), loaded.reduce((sum, one) => sum + one.decodedBodySize, 0)];
}"""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is in the store, and how often it is looked at."""

    schedules: int
    runs: int
    views: int


FULL, QUICK = Size(10_000, 1_000_000, 5), Size(600, 600, 1)


class View(NamedTuple):
    seconds: float
    kilobytes: float


def targets(size: Size) -> dict[str, float]:
    """The rows that are owed, each with the most that it may be."""
    seconds, kilobytes = _names(size)
    return {seconds: 1, kilobytes: 300}


def rows(progress: Progress = lambda _: None, size: Size = FULL) -> list[Row]:
    """Measure it, if there is a browser; the notes tell if there is none."""
    owed = targets(size)
    return [Row.of(name, ours, unit, target=owed[name]) for name, ours, unit, _ in _figures(size, progress)]


def _names(size: Size) -> tuple[str, str]:
    what = f"first view, {size.schedules:,} schedules, {size.runs:,} runs"
    return what, f"{what}, bytes"


def _figures(size: Size, progress: Progress) -> Figures:
    try:
        chromium = _chromium()
        with TemporaryDirectory(prefix="tickwise-bench-") as folder:
            progress("filling the store")
            file = Path(folder, "tickwise.db")
            asyncio.run(crowd(file, size.schedules, size.runs))
            progress("looking at the dashboard")
            with serving(f"sqlite:///{file}", "--allow-commands") as served, chromium() as browser:
                views = [first_view(browser, served.address) for _ in range(size.views)]
    except InputError as error:
        progress(f"note: the dashboard is left out: {error}")
        return
    seconds, kilobytes = _names(size)
    yield seconds, min(view.seconds for view in views), "s", None
    yield kilobytes, max(view.kilobytes for view in views), "kB", None


def _chromium() -> Callable[[], AbstractContextManager[Any]]:
    """What opens a browser; TICKWISE_BENCH_CHROMIUM names one of your own."""
    program = os.environ.get("TICKWISE_BENCH_CHROMIUM") or shutil.which("chromium")
    if program is None:
        raise InputError("there is no Chromium: install it, or name one with TICKWISE_BENCH_CHROMIUM")
    try:
        playwright = import_module("playwright.sync_api")
    except ImportError:
        raise InputError("playwright is missing: pip install playwright") from None

    @contextmanager
    def opened() -> Iterator[Any]:  # its event loop is in the way of others
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=program, args=_FLAGS)
            yield browser
            browser.close()

    return opened


def first_view(browser: Any, address: str) -> View:
    """As somebody who was never here sees it."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{address}/")
    milliseconds, size = page.wait_for_function(_STANDS).json_value()
    context.close()
    return View(milliseconds / 1_000, size / 1_000)
