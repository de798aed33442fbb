"""What agents propose, and what would have let a slot run: people see the effect, and decide."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from ..support.browser import Site, Visitor
from ..support.tickwise_processes import Nest
from .test_actions import confirm

JOBS = {
    "nightly": ['schedule: "0 * * * *"', "command: echo done"],
    "busy": ["schedule: {every: 2s}", 'script: "sleep 600"'],
}


@pytest.fixture(scope="module")
def site(nest: Nest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One of their own: others would find proposals that wait."""
    with Site(nest, tmp_path_factory.mktemp("proposed"), jobs=JOBS) as site:
        yield site


def propose(site: Site, act: str, **given: Any) -> str:
    return str(site.api("POST", "proposals", {"act": act, "target": "nightly", **given})["id"])


def state(site: Site, proposal: str) -> str:
    return str(site.api("GET", f"proposals/{proposal}")["state"])


def the_one(page: Page) -> Any:
    return page.get_by_role("list", name="Proposals").get_by_role("listitem")


@pytest.mark.parametrize("width", [1280, 390])
def test_approve_a_proposal(browser: Browser, site: Site, width: int) -> None:
    """It is named among what needs somebody, tells its effect, and is carried out on a click, once."""
    pause = propose(site, "pause", arguments={"until": "3h"}, reason="the disk is full")
    with Visitor(browser, site, width=width) as visitor:
        page = visitor.open()
        expect(page.get_by_text("1 proposal waits for you")).to_be_visible()
        page.get_by_role("button", name="Decide").click()
        expect(page.locator("#proposals")).to_be_focused()
        expect(the_one(page)).to_contain_text("pause nightly")
        expect(the_one(page)).to_contain_text("3 starts would not come")
        expect(the_one(page)).to_contain_text("“the disk is full” · by ops")
        page.get_by_role("button", name="Approve").click()
        expect(the_one(page)).to_have_count(0)
        expect(page.get_by_text("1 proposal waits for you")).to_have_count(0)
    assert state(site, pause) == "approved"
    assert site.api("GET", "schedules/nightly")["paused"]["by"] == "ops"
    site.api("POST", "schedules/nightly:resume", {})


def test_reject_a_proposal(visitor: Visitor, site: Site) -> None:
    """With a reason, which the agent finds in the list of proposals."""
    trigger = propose(site, "trigger")
    page = visitor.open()
    page.get_by_role("button", name="Reject").click()
    page.get_by_label("Reason").fill("not today")
    confirm(page, "Reject")
    expect(the_one(page)).to_have_count(0)
    assert site.api("GET", f"proposals/{trigger}")["note"] == "not today"


def test_the_world_has_changed_since(visitor: Visitor, site: Site) -> None:
    """The page shows both effects, and asks again."""
    visitor.expects(409)
    skip = propose(site, "pause")
    site.api("POST", "schedules/nightly:pause", {"reason": "by ann"})
    page = visitor.open()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("dialog")).to_contain_text("Then: pause nightly")
    confirm(page, "Approve anyway")
    expect(the_one(page)).to_have_count(0)
    assert state(site, skip) == "approved"
    site.api("POST", "schedules/nightly:resume", {})


def test_a_viewer_only_looks(visitor: Visitor, site: Site) -> None:
    """Who may not approve has no buttons."""
    trigger = propose(site, "trigger")
    token = site.api("POST", "tokens", {"name": "guest", "role": "viewer"}, admin=True)["secret"]
    page = visitor.open(token=token)
    expect(the_one(page)).to_contain_text("one run of nightly would start now")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    expect(page.get_by_role("button", name="Reject")).to_have_count(0)
    site.api("POST", f"proposals/{trigger}:reject", {})


def test_what_would_have_let_a_slot_run(visitor: Visitor) -> None:
    """The panel of a slot that was skipped names the smallest change, and what that does to others."""
    page = visitor.open()
    page.get_by_role("button", name="Why").click()
    panel = page.get_by_role("dialog", name="Slots of busy")
    panel.get_by_role("button", name="What would have let it run?").click()
    expect(panel.locator(".what-if")).to_contain_text("overlap: ")
    expect(panel.locator(".what-if li").first).to_contain_text("Its run would have begun at")
