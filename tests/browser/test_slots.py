"""What the page draws adds up to what the store decided, whatever has happened to a job."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from ..support.browser import PATIENCE, Site, Visitor
from ..support.tickwise_processes import Nest

JOBS = {
    "outlasts": ["schedule: {every: 1s}", "overlap: skip", 'script: "sleep 2.5"'],
    "flaky": [
        "schedule: {every: 2s}", "overlap: queue", "retry: {limit: 2, interval: 1s}",
        'script: "test -f flaky.mark && rm flaky.mark || { touch flaky.mark; exit 1; }"',
    ],
    "failing": ["schedule: {every: 2s}", "catchup: all", 'script: "echo LedgerMismatch >&2; exit 3"'],
    "held": ["schedule: {every: 1s}", "catchup: skip", "command: echo held"],
    "calm": ["schedule: {every: 1s}", "command: echo calm"],
}  # fmt: skip
DECIDED = ("ran", "ran_after_retries", "failed", "skipped")
NO_RUN = {"skipped", "coalesced", "superseded", "expired"}


@pytest.fixture(scope="module")
def site(nest: Nest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A store with skips, retries, failures, a pause and an outage; nothing moves in it any longer."""
    with Site(nest, tmp_path_factory.mktemp("slots"), jobs=JOBS) as site:
        wait_for(lambda: decided(site, "outlasts")["skipped"] >= 2)
        wait_for(lambda: decided(site, "flaky")["ran_after_retries"] >= 1)
        wait_for(lambda: decided(site, "failing")["failed"] >= 3)
        site.api("POST", "schedules/held:pause", {"reason": "the database moves"})
        site.process.stop()
        site.serve("--port", site.port)
        wait_for(lambda: decided(site, "calm")["ran"] >= 3)
        site.api("POST", "schedules/held:resume", {})
        wait_for(lambda: decided(site, "held")["skipped"] >= 1)
        site.api("PUT", "pause", {"reason": "to be counted"})
        wait_for(lambda: not site.api("GET", "runs?state=running&state=queued")["items"])
        yield site


def wait_for(happened: Callable[[], bool]) -> None:
    until = monotonic() + PATIENCE  # only against hanging
    while not happened():
        assert monotonic() < until


def decided(site: Site, schedule: str) -> Counter[str]:
    """Slots by what became of them, from the runs and decisions that the store has."""
    found: Counter[str] = Counter()
    for run in site.api("GET", f"runs?schedule={schedule}&limit=1000")["items"]:
        if run["slot"] is not None:
            found[_state_of(run)] += 1
    for row in site.api("GET", f"decisions?schedule={schedule}&limit=1000")["items"]:
        if row["verdict"] in NO_RUN:
            found["skipped"] += row["count"]
    return found


def _state_of(run: dict[str, Any]) -> str:
    if run["state"] == "succeeded":
        return "ran" if run["attempt"] == 1 else "ran_after_retries"
    return {"failed": "failed", "lost": "failed", "queued": "waiting"}.get(run["state"], str(run["state"]))


def drawn(page: Page, schedule: str) -> Counter[str]:
    """Slots by what the ribbon of a schedule shows."""
    ribbon = page.get_by_role("slider", name=f"Slots of {schedule}", exact=True)
    expect(ribbon.locator(".slot").first).to_be_visible()
    found: Counter[str] = Counter()
    for state, count in ribbon.locator(".slot").evaluate_all(
        "nodes => nodes.map(n => [n.dataset.state, n.dataset.count])"
    ):
        found[state] += int(count)
    return found


def test_the_list_shows_slots_and_not_only_runs(visitor: Visitor) -> None:
    """A job that skips most of its slots is not green: each of its last slots has a cell."""
    page = visitor.open("schedules")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="outlasts"))
    expect(row.locator(".slot.is-skipped").first).to_be_visible()
    expect(row.locator(".slot.is-ran").first).to_be_visible()


@pytest.mark.parametrize("schedule", JOBS)
def test_what_is_drawn_is_what_was_decided(visitor: Visitor, site: Site, schedule: str) -> None:
    """Every slot of the store is in the ribbon once, in its state, on the first page and on the schedule's own."""
    expected = decided(site, schedule)
    assert expected
    page = visitor.open("?hours=1")
    first = drawn(page, schedule)
    page.goto(f"{site.address}#/schedules/{schedule}?hours=6")
    own = drawn(page, schedule)
    for state in DECIDED:
        assert first[state] == own[state] == expected[state], (schedule, state)


def test_no_false_all_clear(visitor: Visitor) -> None:
    """The first page says what is wrong: a streak of failures, counted in the tab's title and icon."""
    page = visitor.open()
    expect(page.locator(".need").filter(has_text="failing")).to_contain_text("runs failed")
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("as they should be")
    expect(page).to_have_title(re.compile(r"^\(\d+\) Now · Tickwise$"))
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("icon-needs"))


def test_from_the_ribbon_to_the_reason(visitor: Visitor) -> None:
    """Arrows move through the slots and read them; Enter says why, with buttons; Escape leads back."""
    page = visitor.open("?hours=1")
    ribbon = page.get_by_role("slider", name="Slots of outlasts", exact=True)
    ribbon.focus()
    page.keyboard.press("Home")
    reading = page.locator(".reading")
    expect(reading).to_contain_text(re.compile("ran|skipped"))
    while "skipped" not in str(reading.text_content()):  # the first bin may end before a slot was skipped
        last = str(ribbon.get_attribute("aria-valuenow"))
        page.keyboard.press("ArrowRight")
        expect(ribbon).not_to_have_attribute("aria-valuenow", last)
    assert "skipped" in (ribbon.get_attribute("aria-valuetext") or "")
    page.keyboard.press("Enter")
    why = page.get_by_role("dialog", name="Slots of outlasts")
    why.get_by_role("list", name="Slots").get_by_role("button").filter(has_text="skipped").first.click()
    expect(why.locator(".chain")).to_contain_text("was still active")
    expect(why.get_by_role("button", name="Run this slot")).to_be_visible()
    expect(why.get_by_role("link", name="Change overlap")).to_be_visible()
    page.keyboard.press("Escape")
    expect(why).to_have_count(0)
    expect(ribbon).to_be_focused()


def test_many_schedules_are_grouped(visitor: Visitor, site: Site) -> None:
    """Ribbons of schedules whose names or labels are alike are one, which leads to them; more are read by page."""
    for name in ("shop-a", "shop-b", *(f"other-{number}" for number in range(60))):
        job = {"name": name, "schedule": {"every": "1m"}, "command": "true"}
        job |= {"labels": {"team": "web"}} if name == "shop-b" else {}
        site.api("POST", "schedules", job, admin=True)
    page = visitor.open("?hours=1")
    ribbons = page.locator(".ribbon-row:not(.ribbon-head)")
    expect(ribbons).to_have_count(40)
    page.get_by_label("Group schedules").select_option("by prefix")
    shop = ribbons.filter(has=page.get_by_role("button", name="shop", exact=True))
    expect(shop).to_contain_text("2 schedules")
    shop.get_by_role("button").click()
    expect(ribbons.get_by_role("link")).to_have_text(["shop-a", "shop-b"])
    page.get_by_label("Group schedules").select_option("by team")
    ribbons.get_by_role("button", name="web", exact=True).click()
    expect(ribbons.get_by_role("link")).to_have_text(["shop-b"])
    page.get_by_role("button", name="team=web").click()
    page.get_by_role("button", name="Show more").click()
    expect(ribbons).to_have_count(62 + len(JOBS))
