"""The pictures of the dashboard in README and docs, from half an hour of jobs with everything that can happen.

python -m tests.support.screenshots docs/images [minutes]
"""

import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Literal, NamedTuple

from playwright.sync_api import Browser, Page, expect, sync_playwright

from ..browser.conftest import QUIET
from .animation import Frame, animate
from .browser import Site, Visitor
from .showcase import FILES
from .tickwise_processes import Nest

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
MINUTES = 30
BLACKOUT = {
    "name": "weekends",
    "labels": ["team=billing"],
    "cron": "0 22 * * FRI",
    "length": "60h",
    "timezone": "Europe/Berlin",
}
PAUSED = {"nightly-backup": "db-migration #482, back at 09:00 (Ada)", "cache-warm": "the cache moves to Redis"}
_CLICK = """([x, y]) => {
    const node = document.body.appendChild(document.createElement("div"));
    node.id = "shown-click";
    Object.assign(node.style, {
        position: "fixed", zIndex: 99, left: `${x - 14}px`, top: `${y - 14}px`, width: "28px", height: "28px",
        borderRadius: "50%", border: "3px solid #ffb020", pointerEvents: "none",
    });
}"""

_NAME_FOLDER = """folder => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(folder, "/srv/shop");
}"""  # where the jobs lie is of no interest


class Screen(NamedTuple):
    """How large a page is, and how large it is shown in a sheet of all pages."""

    name: str
    width: int
    height: int
    shown: int  # wide
    columns: int


DESKTOP = Screen("desktop", 1280, 800, 400, 3)
PHONE = Screen("phone", 390, 844, 195, 6)


class Picture(NamedTuple):
    """A page that the documentation shows by itself."""

    file: str
    place: str
    theme: Theme
    screen: Screen = DESKTOP


def places(site: Site) -> dict[str, str]:
    """Pages by a short name."""
    return {
        "now": "", "schedules": "schedules", "slots": "schedules/slow-report",
        "runs-of-one": "schedules/health-probe?tab=runs",
        "definition": "schedules/ml-train?tab=definition", "what-if": "schedules/orders-etl?tab=whatif",
        "runs": "runs?q=state%3Afailed%2Cskipped", "failed": f"runs/{newest(site, 'billing-reconcile')}",
        "pipeline": f"runs/{newest(site, 'ml-train', state='succeeded')}", "create": "create",
        "edit": "schedules/ml-train/edit", "forecast": "forecast", "calendars": "calendars", "fleet": "fleet",
        "audit": "audit",
    }  # fmt: skip


PICTURES = (
    Picture("overview.png", "now", "dark"), Picture("schedule.png", "slots", "light"),
    Picture("run-dark.png", "pipeline", "dark"), Picture("create.png", "edit", "light"),
    Picture("runs.png", "runs", "light"), Picture("what-if.png", "what-if", "dark"),
    Picture("schedules-phone.png", "schedules", "light", PHONE),
)  # fmt: skip


def newest(site: Site, job: str, **filters: str) -> str:
    query = "&".join(f"{name}={value}" for name, value in {"job": job, "limit": "1", **filters}.items())
    return str(site.api("GET", f"runs?{query}")["items"][0]["id"])


def show(visitor: Visitor, place: str, theme: Theme) -> Page:
    page = visitor.page
    page.emulate_media(color_scheme=theme)
    page.goto(f"{visitor.site.address}#/{place}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)
    expect(page.get_by_text("Loading …")).to_have_count(0)
    page.evaluate(_NAME_FOLDER, str(visitor.site.folder))
    return page


def sheet(page: Page, pictures: list[bytes], screen: Screen, file: Path) -> None:
    shown = "".join(
        f'<img width="{screen.shown}" src="data:image/png;base64,{b64encode(picture).decode()}">'
        for picture in pictures
    )
    columns = f"display: grid; grid-template-columns: repeat({screen.columns}, {screen.shown}px)"
    style = f"{columns}; gap: 10px; padding: 10px; width: max-content"
    page.set_content(f'<body style="margin: 0; background: #888"><div style="{style}">{shown}</div>')
    page.locator("div").screenshot(path=file)


def story(visitor: Visitor) -> Iterator[Frame]:
    """From the first page over a slot to its reason."""
    page = show(visitor, "", "dark")
    yield Frame(page.screenshot(), 2.5)
    ribbon = page.get_by_role("slider", name="Slots of slow-report", exact=True)
    ribbon.scroll_into_view_if_needed()
    page.mouse.wheel(0, 160)
    expect(ribbon.locator(".slot.is-skipped").first).to_be_visible()
    page.wait_for_function("scrollY === Math.round(scrollY) && scrollY > 0")
    yield Frame(page.screenshot(), 1.5)
    box = ribbon.locator(".bin:has(.is-skipped)").last.bounding_box()
    assert box
    at = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    page.mouse.move(*at)
    expect(page.locator(".reading")).to_be_visible()
    yield Frame(page.screenshot(), 1.6)
    page.evaluate(_CLICK, at)
    yield Frame(page.screenshot(), 0.5)
    page.evaluate("document.getElementById('shown-click').remove()")
    page.mouse.click(*at)
    expect(page.get_by_role("dialog").locator(".chain")).to_be_visible()
    page.mouse.move(5, 5)
    page.evaluate(_NAME_FOLDER, str(visitor.site.folder))
    yield Frame(page.screenshot(), 4.5)


def draw(browser: Browser, site: Site, folder: Path) -> None:
    found = places(site)
    for screen in (DESKTOP, PHONE):
        with Visitor(browser, site, width=screen.width, height=screen.height) as visitor:
            visitor.sign_in(site.admin_token)
            for theme in THEMES:
                shots = [show(visitor, place, theme).screenshot() for place in found.values()]
                page = browser.new_page()
                sheet(page, shots, screen, folder / f"pages-{screen.name}-{theme}.png")
                page.close()
            for one in (one for one in PICTURES if one.screen is screen):
                show(visitor, found[one.place], one.theme).screenshot(path=folder / one.file)
    with Visitor(browser, site, width=1100, height=700) as visitor:
        visitor.sign_in(site.admin_token)
        (folder / "why.png").write_bytes(animate(list(story(visitor))))


def let_happen(site: Site, minutes: float) -> None:
    """What people and other programs do meanwhile: a pause, a blackout, events, fires of another scheduler."""
    for name, reason in PAUSED.items():
        site.api("POST", f"schedules/{name}:pause", {"reason": reason})
    site.api("POST", "blackouts", BLACKOUT)
    begun, turns = monotonic(), 0
    while monotonic() - begun < minutes * 60:
        sleep(20)
        turns += 1
        site.api("POST", "schedules/old-export:seen", {"key": f"web1/{turns}"}) if turns % 6 == 1 else None
        if turns % 8 == 0:
            site.api(
                "POST", "schedules/deploy/events", {"key": f"push-{turns}", "data": {"commit": f"{turns:07x}"}}
            )


def main(folder: Path, minutes: float = MINUTES) -> None:
    with (
        TemporaryDirectory() as place,
        Nest() as nest,
        sync_playwright() as playwright,
        Site(nest, Path(place), jobs=FILES) as site,
    ):
        let_happen(site, minutes)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=QUIET)
        draw(browser, site, folder)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:]))
