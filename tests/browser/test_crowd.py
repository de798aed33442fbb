"""The dashboard before ten thousand schedules and very many runs: every page shows little, and asks for little."""

import asyncio
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from bench.bulk_data import RARE_QUEUE, fill_store

from ..support.browser import JOBS, Site, Visitor
from ..support.tickwise_processes import Nest

SCHEDULES = 10_000
RUNS = 1_000_000 if os.environ.get("TICKWISE_PROOF") else 200_000
HOURS = RUNS // SCHEDULES  # for which each has run
FIRST_VIEW = 150_000  # bytes on the wire
DRAWN = 80  # rows that a list may have in the document


class Asked(NamedTuple):
    """An answer of the API."""

    path: str
    query: dict[str, list[str]]
    size: int
    rows: list[Any]


class Ear:
    """Notes what a page is answered."""

    def __init__(self, page: Page) -> None:
        self._answers: list[Response] = []
        page.on("response", lambda answer: self._answers.append(answer))  # noqa: PLW0108  (they mark what they call)

    @property
    def on_the_wire(self) -> int:
        told = [answer for answer in self._answers if not answer.url.endswith("/events")]
        return sum(answer.request.sizes()["responseBodySize"] for answer in told)

    @property
    def asked(self) -> list[Asked]:
        """But for who somebody is, and for the stream."""
        found = []
        for answer in self._answers:
            path = urlsplit(answer.url).path.partition("/api/v1/")[2]
            if path not in ("", "me", "events", "jobs"):
                query = parse_qs(urlsplit(answer.url).query)
                found.append(Asked(path, query, len(answer.body()), answer.json().get("items", [])))
        return found

    def of(self, path: str) -> list[Asked]:
        return [one for one in self.asked if one.path == path]


@pytest.fixture(scope="module")
def crowded(nest: Nest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server on a store that is full, and goes on to fire."""
    folder: Path = tmp_path_factory.mktemp("crowded")
    (folder / ".tickwise").mkdir(mode=0o700)
    asyncio.run(fill_store(f"sqlite:///{folder}/.tickwise/tickwise.db", SCHEDULES, RUNS))
    with Site(nest, folder, allow_commands=True, queues=["default", RARE_QUEUE]) as site:
        yield site
        site.process.stop()


@pytest.fixture
def guest(crowded: Site, browser: Browser) -> Iterator[Visitor]:  # in this order: see `browser`
    with Visitor(browser, crowded) as visitor:
        yield visitor


@pytest.fixture
def ear(guest: Visitor) -> Ear:
    return Ear(guest.page)


def scroll_to_the_end(page: Page, rows: int) -> None:
    """Down as long as there is more, as somebody would who holds the End key."""
    scroller = page.locator(".scroller")
    while int(page.locator("table.virtual").get_attribute("aria-rowcount") or 0) <= rows:
        scroller.evaluate("node => node.scrollTop = node.scrollHeight")
        page.wait_for_function(
            "count => document.querySelector('table.virtual').ariaRowCount != count",
            arg=page.locator("table.virtual").get_attribute("aria-rowcount"),
        )
    scroller.evaluate("node => node.scrollTop = node.scrollHeight")


def test_the_first_view(guest: Visitor, ear: Ear) -> None:
    """Three questions fill it, and none is answered with more than it shows."""
    page = guest.open()
    expect(page.locator("main")).to_contain_text(f"{SCHEDULES + len(JOBS):,} schedules")
    expect(page.locator(".ribbon .bin").first).to_be_visible()
    assert {one.path for one in ear.asked} == {"overview", "attention", "slots"}
    assert ear.on_the_wire < FIRST_VIEW


def test_the_list_of_schedules(guest: Visitor, ear: Ear) -> None:
    """Page by page to the last of them, with few rows drawn at any time; each shows how its last runs went."""
    page = guest.open("schedules")
    first = page.get_by_role("row").filter(has=page.get_by_role("link", name="backup-00000"))
    expect(first.locator(".slot.is-ran").first).to_be_visible()
    assert [len(one.rows) for one in ear.of("schedules")] == [100]
    scroll_to_the_end(page, SCHEDULES)
    expect(page.get_by_role("link", name="wicked")).to_be_visible()
    assert page.locator("tbody tr").count() < DRAWN
    assert {one.path for one in ear.asked} == {"schedules", "attention"}
    assert len(ear.of("schedules")) <= 2 * (SCHEDULES // 500)


def test_schedules_are_found(guest: Visitor, ear: Ear, crowded: Site) -> None:
    """By a part of the name while it is typed, by a label, and by whether they are paused."""
    crowded.api("POST", "schedules/mail-09997:pause", {"reason": "too many"})
    page = guest.open("schedules")
    page.get_by_role("searchbox").fill("etl-0004")
    expect(page.locator("tbody a.name")).to_have_text(["etl-00042"])
    page.get_by_role("searchbox").fill("")
    page.get_by_role("group", name="Which").get_by_role("button", name="paused").click()
    expect(page.locator("tbody a.name")).to_have_text(["mail-09997"])
    page.goto(f"{crowded.address}#/schedules?label=kind%3Dreport")
    expect(page.locator("tbody a.name").first).to_have_text("report-00008")
    assert max(len(one.rows) for one in ear.of("schedules")) == 100


def test_runs_page_by_page(guest: Visitor, ear: Ear) -> None:
    """Each page goes on after the last run of the one before; none comes twice, once new runs stay above."""
    page = guest.open("runs")
    scroll_to_the_end(page, 2_000)
    pages = ear.of("runs")
    pages = pages[max(place for place, one in enumerate(pages) if "after" not in one.query) :]
    assert [len(one.rows) for one in pages[:5]] == [100, 500, 500, 500, 500]
    ids = [run["id"] for one in pages for run in one.rows]
    assert len(ids) == len(set(ids))
    assert all(after.query["after"] == [before.rows[-1]["id"]] for before, after in pairwise(pages))
    assert page.locator("tbody tr").count() < DRAWN


def test_runs_are_found(guest: Visitor, ear: Ear, crowded: Site) -> None:
    """By state, by job and by a part of the name; as many as fit a page, the newest first."""
    page = guest.open("runs?state=failed")
    expect(page.locator("tbody .badge").first).to_have_text("failed")
    page.goto(f"{crowded.address}#/runs?job=etl-00042")
    expect(page.locator("table.virtual")).to_have_attribute("aria-rowcount", str(min(HOURS, 100) + 1))
    page.goto(f"{crowded.address}#/runs")
    page.get_by_role("combobox", name="Query").fill("job:report-00048")
    page.keyboard.press("Enter")
    expect(page.locator("tbody .name").first).to_have_text("report-00048")
    assert {run["job"] for run in ear.of("runs")[-1].rows} == {"report-00048"}
    assert max(len(one.rows) for one in ear.of("runs")) <= 100


def test_a_schedule(guest: Visitor, ear: Ear) -> None:
    """What it was is told by a few rows, and its month by sums."""
    page = guest.open("schedules/etl-00042")
    expect(page.get_by_role("table", name="Slots").get_by_role("row").nth(10)).to_be_visible()
    expect(page.locator(".day .slot.is-ran").first).to_be_visible()
    expect(page.locator(".trend-bar").first).to_be_visible()
    assert len(ear.asked) <= 8
    assert ear.on_the_wire < FIRST_VIEW


def test_the_forecast(guest: Visitor, ear: Ear) -> None:
    """A day is counted by minute, and where many start at once is listed; a click tells who starts in a minute."""
    page = guest.open("forecast")
    expect(page.get_by_role("table", name="Many start at once").get_by_role("row")).to_have_count(11)
    page.locator(".heat [role=button]").nth(100).click()
    expect(page.get_by_role("table", name="Starts").get_by_role("row").nth(100)).to_be_visible()
    assert {one.path for one in ear.asked} == {"forecast", "upcoming", "attention", "blackouts"}
    assert ear.on_the_wire < FIRST_VIEW


def test_workers_and_queues(guest: Visitor, ear: Ear) -> None:
    """One process that lives, and its queue."""
    page = guest.open("fleet")
    expect(page.get_by_role("table", name="Queues").get_by_role("row").filter(has_text="default")).to_be_visible()
    expect(page.get_by_role("table", name="Processes").get_by_role("row")).to_have_count(2)
    assert sum(one.size for one in ear.asked) < 20_000


def test_the_doctor(guest: Visitor) -> None:
    """Who has very many schedules asks for it, and is told that nothing is wrong."""
    page = guest.open()
    page.get_by_role("button", name="Run the doctor").click()
    expect(page.get_by_text("No problems found.")).to_be_visible()
