"""News without reloading, a server that goes and comes back, and hands that never touch a mouse."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from ..support.browser import SUMMARY, Site, Visitor
from ..support.tickwise_processes import Nest


@pytest.fixture(scope="module")
def site(nest: Nest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Served below a path, as behind a proxy."""
    with Site(nest, tmp_path_factory.mktemp("below"), root_path="/tickwise") as site:
        yield site


def test_news_come_by_themselves(visitor: Visitor, site: Site) -> None:
    """A run that begins elsewhere appears in the list and ends there, without a reload."""
    page = visitor.open("runs?job=rare")
    expect(page.get_by_text("No runs match.")).to_be_visible()
    run = site.run("rare")
    row = page.get_by_role("row").filter(has_text=f"#{run}")
    expect(row.locator(".badge")).to_have_text("succeeded")


def test_by_keyboard_alone(visitor: Visitor) -> None:
    """Ways by letters, a search by slash, rows by Tab, help by question mark, and a link past the menu."""
    page = visitor.open()
    expect(page.get_by_role("heading", level=1)).to_have_text(SUMMARY)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.type("gs")
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Find a schedule or job")).to_be_focused()
    page.keyboard.type("rare")
    expect(page.locator("tbody a.name")).to_have_count(1)
    page.get_by_role("link", name="rare").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Find a schedule or job")).to_be_focused()
    page.get_by_role("link", name="steady").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_server_that_goes_and_comes_back(visitor: Visitor, site: Site) -> None:
    """A page says that its server is away, and goes on by itself when it is back."""
    visitor.expects("ERR_")
    page = visitor.open("runs")
    expect(page.locator("tbody .badge").first).to_be_visible()
    site.process.kill()
    banner = page.get_by_role("alert").filter(has_text="The server cannot be reached")
    expect(banner).to_be_visible()
    site.serve("--port", site.port)
    expect(banner).to_be_hidden()
    run = site.run("rare")
    expect(page.get_by_role("row").filter(has_text=f"#{run}").locator(".badge")).to_have_text("succeeded")


def test_an_outage_met_on_the_way(visitor: Visitor, site: Site) -> None:
    """A page that somebody goes to while the server is away fills itself when it is back."""
    visitor.expects("ERR_")
    page = visitor.open("runs")
    expect(page.locator("tbody .badge").first).to_be_visible()
    site.process.kill()
    page.goto(f"{site.address}#/fleet")
    expect(page.get_by_role("alert").filter(has_text="cannot be reached").first).to_be_visible()
    site.serve("--port", site.port)
    expect(page.get_by_role("table", name="Processes").get_by_role("row").nth(1)).to_be_visible()
