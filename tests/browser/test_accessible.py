"""Every page and dialog for everybody: axe finds nothing in both themes and widths, and nothing jumps."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from ..support.browser import Site, Visitor
from .test_pages import PLACES

AXE = (Path(__file__).parent / "vendor" / "axe.js").read_text("utf-8")
RUN_AXE = """async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const found = await axe.run(document, {runOnly: tags, resultTypes: ["violations"]});
    const told = node => node.html.slice(0, 200) + node.failureSummary;
    return found.violations.map(one => [one.id, one.nodes.slice(0, 3).map(told)]);
}"""
SIZES = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}
MOST_SHIFT = 0.05
NOTE_SHIFTS = """window.shift = 0; new PerformanceObserver(list => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) window.shift += one.value;
}).observe({type: "layout-shift", buffered: true})"""
DIALOGS = {
    "schedules/rare": ["Run now", "Pause", "Reschedule", "Backfill", "Reset"],
    "": ["Pause all", "Search or do …"],
}


def check(page: Page, place: str) -> None:
    found = page.evaluate(RUN_AXE)
    assert not found, (place, found)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(visitor: Visitor, site: Site, theme: Literal["light", "dark"], size: str) -> None:
    """No page breaks a rule, and no page scrolls sideways."""
    page = visitor.open(token=site.admin_token)
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    page.evaluate(AXE)
    for place, heading in {**PLACES, f"runs/{site.run('mended')}": "Run"}.items():
        page.goto(f"{site.address}#/{place}")
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
        expect(page.locator(".loading")).to_have_count(0)
        check(page, place)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place


@pytest.mark.parametrize("size", ["desktop"])
def test_dialogs_are_whole(visitor: Visitor, site: Site, size: str) -> None:
    """Each dialog fits the screen and breaks no rule; none has a native field for dates."""
    page = visitor.open(token=site.admin_token)
    page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    page.evaluate(AXE)
    for place, openers in DIALOGS.items():
        page.goto(f"{site.address}#/{place}")
        for opener in openers:
            page.get_by_role("main").or_(page.locator("header.top")).get_by_role(
                "button", name=opener
            ).first.click()
            dialog = page.get_by_role("dialog")
            box = dialog.bounding_box()
            assert box
            assert 0 <= box["x"] <= SIZES[size]["width"] - box["width"], opener
            assert 0 <= box["y"] <= SIZES[size]["height"] - box["height"], opener
            assert dialog.locator("input[type=datetime-local]").count() == 0
            check(page, opener)
            page.keyboard.press("Escape")
            expect(dialog).to_have_count(0)


@pytest.mark.parametrize("place", ["", "schedules", "runs"])
def test_nothing_jumps(visitor: Visitor, place: str) -> None:
    """What has been drawn stays where it is while the rest comes."""
    visitor.page.add_init_script(NOTE_SHIFTS)
    page = visitor.open(place)
    expect(page.locator(".loading")).to_have_count(0)
    expect(page.locator(".slot, .badge").first).to_be_visible()
    assert page.evaluate("window.shift") < MOST_SHIFT
