"""Every page of the dashboard in both themes, wide and narrow, as the four sheets that its documentation shows.

python -m tests.support.screenshots docs/images
"""

import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from playwright.sync_api import Browser, Page, expect, sync_playwright

from ..browser.conftest import QUIET
from ..browser.test_pages import PLACES
from .browser import Site, Visitor
from .tickwise_processes import Nest

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")


class Screen(NamedTuple):
    """How large a page is, and how large it is shown."""

    name: str
    width: int
    height: int
    shown: int  # wide
    columns: int


SCREENS = (Screen("desktop", 1280, 800, 400, 3), Screen("phone", 390, 844, 195, 6))


def shots(visitor: Visitor, places: list[str], theme: Theme) -> Iterator[bytes]:
    page = visitor.open(token=visitor.site.admin_token)
    page.emulate_media(color_scheme=theme)
    for place in places:
        page.goto(f"{visitor.site.address}#/{place}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        expect(page.get_by_text("Loading …")).to_have_count(0)
        yield page.screenshot()


def sheet(page: Page, pictures: list[bytes], screen: Screen, file: Path) -> None:
    shown = "".join(
        f'<img width="{screen.shown}" src="data:image/png;base64,{b64encode(picture).decode()}">'
        for picture in pictures
    )
    columns = f"display: grid; grid-template-columns: repeat({screen.columns}, {screen.shown}px)"
    style = f"{columns}; gap: 10px; padding: 10px; width: max-content"
    page.set_content(f'<body style="margin: 0; background: #888"><div style="{style}">{shown}</div>')
    page.locator("div").screenshot(path=file)


def draw(browser: Browser, site: Site, folder: Path) -> None:
    places = [*PLACES, f"runs/{_ended(site, 'mended')}", f"runs/{_ended(site, 'rare')}"]
    for theme in THEMES:
        for screen in SCREENS:
            with Visitor(browser, site, width=screen.width, height=screen.height) as visitor:
                pictures = list(shots(visitor, places, theme))
            page = browser.new_page()
            sheet(page, pictures, screen, folder / f"pages-{screen.name}-{theme}.png")
            page.close()


def _ended(site: Site, schedule: str) -> str:
    run = site.run(schedule)
    while site.api("GET", f"runs/{run}")["state"] in {"queued", "running"}:
        pass
    return run


def main(folder: Path) -> None:
    with TemporaryDirectory() as place, Nest() as nest, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=QUIET)
        with Site(nest, Path(place)) as site:
            draw(browser, site, folder)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
