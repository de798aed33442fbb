"""People sign in at a real OpenID provider, on another site than the page: Debian's browser, npm's provider."""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from ..support.browser import Site
from ..support.servers import oidc_provider
from ..support.servers.process import free_port
from ..support.tickwise_processes import Nest

JOBS = {
    "team-a.load": ["schedule: '0 3 * * *'", "command: echo a"],
    "team-b.load": ["schedule: '0 4 * * *'", "command: echo b"],
}
GROUPS = {"ada": ["team-a", "staff"], "bob": ["team-a"], "eve": ["nobody"]}


class Office(NamedTuple):
    """A server, and where people reach it: by a name that is no name of the provider."""

    site: Site
    address: str


@pytest.fixture(scope="module")
def office(nest: Nest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder, port = tmp_path_factory.mktemp("office"), free_port()
    address = f"http://localhost:{port}/"
    with oidc_provider.server(f"{address}sign-on", GROUPS) as provider:
        (folder / "secret").write_text(f"{oidc_provider.SECRET}\n")
        oidc = f"""
            issuer = "{provider.url}"
            client_id = "tickwise"
            client_secret = "file:{folder}/secret"
            scope = "openid profile groups"
            label = "the office"
            [roles]
            operator = [{{group = "team-a", jobs = "team-a.*"}}]
            viewer = ["staff"]
        """
        with Site(nest, folder, jobs=JOBS, port=port, oidc=oidc) as site:
            yield Office(site, address)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def _sign_in(page: Page, office: Office, name: str, place: str = "") -> None:
    """As somebody does who comes for a page, and has no session anywhere."""
    page.goto(f"{office.address}#/{place}")
    page.get_by_role("button", name="Sign in with the office").click()
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("x")
    page.get_by_role("button", name="Sign-in").click()
    assert urlsplit(page.url).hostname == "127.0.0.1"
    page.get_by_role("button", name="Continue").click()


def test_a_person_signs_in_and_out(page: Page, office: Office) -> None:
    """They come back to the page that they wanted, with a session; signing out ends it. No code stays behind."""
    _sign_in(page, office, "ada", "schedules")
    expect(page.get_by_text(re.compile(r"ada \(browser "))).to_be_visible()
    expect(page.get_by_role("link", name="team-b.load")).to_be_visible()
    assert page.url == f"{office.address}#/schedules"
    expect(page.get_by_role("checkbox", name="Select team-a.load")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Select team-b.load")).to_have_count(0)
    cookies = {one["name"]: one for one in page.context.cookies() if "tickwise" in one["name"]}
    (session,) = cookies.values()
    assert (session["httpOnly"], session["sameSite"]) == (True, "Strict")
    page.reload()
    expect(page.get_by_role("link", name="team-a.load")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in with the office")).to_be_visible()
    page.get_by_role("link", name="Sign out at the office, too").click()
    expect(page.get_by_role("button", name="Yes, sign me out")).to_be_visible()
    (entry, *_) = office.site.api("GET", "audit", admin=True)["items"]
    assert (entry["action"], entry["after"]["sub"], entry["after"]["role"]) == (
        "session.create",
        "ada",
        "operator",
    )


def test_a_person_sees_the_jobs_of_their_groups(page: Page, office: Office) -> None:
    """A role on some jobs shows these, and no others; a code that comes again opens nothing."""
    answers: list[str] = []
    page.on("request", lambda request: answers.append(request.url) if "/sign-on?" in request.url else None)
    _sign_in(page, office, "bob", "schedules")
    expect(page.get_by_role("link", name="team-a.load")).to_be_visible()
    expect(page.get_by_role("link", name="team-b.load")).to_have_count(0)
    (answer,) = answers
    assert "code=" in answer
    page.goto(answer)
    expect(page.get_by_role("alert")).to_contain_text("this browser has begun no sign-on")


def test_a_person_without_a_group_is_told_so(page: Page, office: Office) -> None:
    """Nobody has a role by default: the page says so, and there is no session."""
    _sign_in(page, office, "eve")
    expect(page.get_by_role("alert")).to_contain_text("eve has signed in, and no group of theirs has a role here")
    assert not [one for one in page.context.cookies() if one["name"].startswith("tickwise-session")]
