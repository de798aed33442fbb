"""The page of a schedule that runs on events: what came, and what became of each (S70, S71)."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from ..support.browser import Site, Visitor
from ..support.tickwise_processes import Nest

JOBS = {
    "extract": ["command: echo extracted"],
    "load": ["on_event: {job: extract, state: any}", "command: echo loaded"],
    "files": ['on_event: {file: {path: "FOLDER/*.csv", settle: 1s}}', "command: echo read"],
    "orders": ["on_event: {coalesce: {quiet: 10m, at_most: 10m}}", "command: echo ordered"],
    "deploys": ["on_event: {}", "overlap: skip", "command: sleep 600"],
}


@pytest.fixture(scope="module")
def site(nest: Nest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("events")
    jobs = {name: [line.replace("FOLDER", str(folder)) for line in lines] for name, lines in JOBS.items()}
    with Site(nest, folder, jobs=jobs, event_folders=[str(folder)]) as site:
        yield site


def test_events_are_listed_with_what_became_of_them(visitor: Visitor, site: Site) -> None:
    """Those of other jobs name the runs, files their path; others their key; each its run, or why it has none."""
    run = site.api("POST", "runs", {"job": "extract"})["id"]
    page = visitor.open("schedules/load")
    events = page.get_by_role("table", name="Events")
    expect(events).to_contain_text(f"#{run} of extract succeeded")
    expect(events.locator("[data-state=ran]")).to_have_count(1)
    (site.folder / "a.csv").write_text("1")
    page.goto(f"{site.address}#/schedules/files")
    expect(events).to_contain_text(f"{site.folder}/a.csv 1 bytes")
    expect(events.locator("[data-state=ran]")).to_have_count(1)
    events.get_by_role("button", name="ran").click()
    expect(page.get_by_role("dialog")).to_contain_text("event")


def test_an_event_is_sent_from_the_page(visitor: Visitor, site: Site) -> None:
    """It is there at once; one that the job has no room for says so, and one of a group that it waits."""
    page = visitor.open("schedules/deploys")
    events = page.get_by_role("table", name="Events")
    expect(page.get_by_role("button", name="Backfill")).to_have_count(0)
    for key in ("first", "second"):
        page.get_by_role("button", name="Send an event").click()
        page.get_by_label("Key", exact=True).fill(key)
        page.get_by_label("Data", exact=True).fill('{"n": 1234567890123456789}')
        page.get_by_role("button", name="Send", exact=True).click()
        expect(events).to_contain_text(key)
    expect(events.locator("[data-state=running]")).to_have_count(1)
    expect(events.locator("[data-state=skipped]")).to_have_count(1)
    events.get_by_text("second").click()
    expect(events).to_contain_text("1234567890123456789")
    page.get_by_role("button", name="Send an event").click()
    page.get_by_label("Data", exact=True).fill("{")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("this is not JSON")
    page.keyboard.press("Escape")
    site.api("POST", "schedules/orders/events", {"key": "k1"})
    page.goto(f"{site.address}#/schedules/orders")
    expect(events).to_contain_text("waits for others")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
