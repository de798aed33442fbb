"""Every page and dialog for everybody: axe finds nothing in both themes and widths, and nothing jumps."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from ..support.browser import Site, Visitor
from .test_pages import PLACES

AXE = (Path(__file__).parent / "vendor" / "axe.js").read_text("utf-8")
RUN_AXE = """async part => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const found = await axe.run(part, {runOnly: tags, resultTypes: ["violations"]});
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
STILL = [
    "", "schedules", "runs", "schedules/steady", "schedules/mended?tab=definition", "schedules/rare?tab=whatif",
    "create", "schedules/mended/edit", "forecast", "calendars", "fleet", "audit",
]  # fmt: skip


def check(page: Page, place: str, part: str = "html") -> None:
    found = page.evaluate(RUN_AXE, part)
    assert not found, (place, found)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(visitor: Visitor, site: Site, theme: Literal["light", "dark"], size: str) -> None:
    """No page breaks a rule, and no page scrolls sideways."""
    page = visitor.open(token=site.admin_token)
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    page.evaluate(AXE)
    for place, heading in {**PLACES, f"runs/{site.run('mended')}": "Run"}.items():
        page.goto(f"{site.address}#/{place}")
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
        expect(page.locator(".loading")).to_have_count(0)
        check(page, place)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_dialogs_are_whole(visitor: Visitor, site: Site, theme: Literal["light", "dark"], size: str) -> None:
    """Each dialog fits the screen and breaks no rule; none has a native field for dates."""
    page = visitor.open(token=site.admin_token)
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
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


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_drawers_are_for_everybody(
    visitor: Visitor, site: Site, theme: Literal["light", "dark"], size: str
) -> None:
    """The panel that says why of a slot, and the look into a run, break no rule over the page that they cover."""
    run = site.run("wicked")
    page = visitor.open("schedules/steady", token=site.admin_token)
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    page.evaluate(AXE)
    page.get_by_role("table", name="Slots").get_by_role("row").filter(has_text="ran").first.get_by_role(
        "button"
    ).click()
    expect(page.get_by_role("dialog", name="Slots of steady").locator(".chain")).to_be_visible()
    check(page, "slot", ".drawer")
    page.goto(f"{site.address}#/runs?q=job%3Awicked")
    expect(page.get_by_role("link", name=f"#{run}", exact=True)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("p")
    expect(page.get_by_role("dialog", name="Run #").locator(".facts")).to_be_visible()
    check(page, "run", ".drawer")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_steps_and_marks_are_for_everybody(
    visitor: Visitor, site: Site, theme: Literal["light", "dark"], size: str
) -> None:
    """What a step hands on, its items, slots to skip and groups of ribbons break no rule."""
    name = f"parts-{theme}-{size}"
    steps = [
        {"name": "list", "script": """echo '{"parts": [1, 2, 3, 4, 5, 6, 7]}'"""},
        {"name": "load", "depends": "list", "foreach": "${steps.list.outputs.parts}", "script": "exit 1"},
    ]
    job = {"name": name, "schedule": {"every": "1h"}, "steps": steps}
    site.api("POST", "schedules", job, admin=True)
    slot = site.api("GET", f"schedules/{name}")["next_run_at"]
    site.api("POST", f"schedules/{name}:skip", {"slot": slot})
    page = visitor.open(f"runs/{site.run(name)}?step=list")
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    page.evaluate(AXE)
    expect(page.get_by_role("button", name="Retry from list")).to_be_visible()
    page.locator(".step-fold").click()
    check(page, "what a step hands on")
    for place, shown in {f"schedules/{name}": ".skips li", "?group=prefix": ".ribbon .bin"}.items():
        page.goto(f"{site.address}#/{place}")
        expect(page.locator(shown).first).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        check(page, place)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place


@pytest.mark.parametrize("size", SIZES)
def test_nothing_jumps(visitor: Visitor, site: Site, size: str) -> None:
    """What has been drawn stays where it is while the rest comes."""
    visitor.page.add_init_script(NOTE_SHIFTS)
    visitor.page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    page = visitor.open(token=site.admin_token)
    for place in STILL:
        page.goto(f"{site.address}#/{place}")
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        assert page.evaluate("window.shift") < MOST_SHIFT, place
