"""A step that waits for a person, on the page of its run (S75)."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from ..support.browser import Site, Visitor
from ..support.tickwise_processes import Nest

JOBS = {
    "release": [
        'schedule: "0 3 * * *"',
        "steps:",
        '  - {name: build, script: "echo \'{\\"version\\": \\"1.4\\"}\'"}',
        "  - {name: ok, depends: build, approve: {role: operator, timeout: 1d}}",
        "  - {name: ship, depends: ok, command: echo shipped}",
        "  - {name: audit, depends: ok, approve: admin}",
    ],
}


@pytest.fixture(scope="module")
def site(nest: Nest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(nest, tmp_path_factory.mktemp("approvals"), jobs=JOBS) as site:
        yield site


def test_approve_on_the_page(visitor: Visitor, site: Site) -> None:
    """S75: the page says who is asked; an approval with a reason lets the run go on, and stays to be read."""
    run = site.run("release")
    page = visitor.open(f"runs/{run}", token=site.operator_token)
    asked = page.get_by_role("group", name="Approval of ok")
    expect(asked).to_contain_text("The step ok waits for an approval by an operator since")
    steps = page.get_by_role("group", name="Steps", exact=True)
    expect(steps.get_by_role("button").filter(has_text="ok")).to_contain_text("operator asked")
    expect(steps.get_by_role("button").filter(has_text="audit")).to_contain_text("waiting")
    asked.get_by_role("button", name="Approve").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("looks good")
    dialog.get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="ok", exact=False).filter(has_text="ok").first.click()
    expect(page.get_by_role("group", name="ok", exact=True)).to_contain_text("approved by ops")
    expect(page.get_by_role("group", name="ok", exact=True)).to_contain_text("looks good")
    other = page.get_by_role("group", name="Approval of audit")
    expect(other).to_contain_text("Only an admin can answer.")
    expect(other.get_by_role("button")).to_have_count(0)
    site.api("POST", f"runs/{run}:reject", {"step": "audit", "reason": "no"}, admin=True)
    expect(page.get_by_role("alert")).to_contain_text("step audit: rejected by")


def test_the_way_from_what_needs_somebody(visitor: Visitor, site: Site) -> None:
    """S75: the first page names the run that waits, and leads to its page; a rejection fails the run."""
    run = site.run("release")
    page = visitor.open("", token=site.operator_token)
    page.get_by_role("link", name="Answer").first.click()
    asked = page.get_by_role("group", name="Approval of ok")
    asked.get_by_role("button", name="Reject").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("not now")
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(page.get_by_role("alert")).to_contain_text("step ok: rejected by ops: not now")
    assert site.api("GET", f"runs/{run}")["state"] == "failed"
