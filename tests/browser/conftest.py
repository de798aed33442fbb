"""A browser for each module, and one server for all who do not end theirs."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from ..support.browser import PATIENCE, Site, Visitor
from ..support.tickwise_processes import Nest

QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
expect.set_options(timeout=PATIENCE * 1_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For no longer than a module: as long as it is open, its event loop is in the way of others."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def nest() -> Iterator[Nest]:
    with Nest() as nest:
        yield nest


@pytest.fixture(scope="session")
def site(nest: Nest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(nest, tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture
def visitor(browser: Browser, site: Site) -> Iterator[Visitor]:
    with Visitor(browser, site) as visitor:
        yield visitor
