"""Sessions of browsers: links that work once, cookies that are half a token, and pages of other origins."""

import asyncio

import httpx2
import pytest

from tickwise.api.auth import Authenticator
from tickwise.api.auth_settings import AuthSettings
from tickwise.stores.access_records import AccessRole

from ..support.api import Api, api, problem_of
from ..support.app import patiently

KEY = "Tickwise-Session-Key"


class Browser(httpx2.AsyncClient):
    """Somebody who connects to an API with cookies, and no identity of the connection."""

    def __init__(self, here: Api, peer: str = "127.0.0.1", base_url: str = "http://localhost:8484") -> None:
        transport = httpx2.ASGITransport(app=here.app, client=(peer, 50_000))
        super().__init__(transport=transport, base_url=base_url)

    async def sign_in(self, **given: str) -> httpx2.Response:
        return await self.post("/session", json=given)

    async def me(self, key: str | None, **headers: str) -> httpx2.Response:
        return await self.get("/api/v1/me", headers={**headers, **({KEY: key} if key else {})})


async def _link(here: Api, role: str = "admin") -> str:
    made: str = (await here.post("/links", {"role": role}))["code"]
    return made


@patiently
async def test_a_link_signs_one_browser_in_once() -> None:
    """It begins a session of its role; for a second browser it is used up (B1)."""
    async with api() as here, Browser(here) as one, Browser(here) as other:
        code = await _link(here, "operator")
        begun = await one.sign_in(code=code)
        assert begun.status_code == 201
        assert (await one.me(begun.json()["key"])).json()["role"] == "operator"
        assert "used already" in problem_of(await other.sign_in(code=code), 401)["detail"]
        assert not other.cookies


@patiently
async def test_two_browsers_at_once_share_no_link() -> None:
    """Of two that come with one link at the same moment, one gets in."""
    async with api() as here, Browser(here) as one, Browser(here) as other:
        code = await _link(here)
        both = await asyncio.gather(one.sign_in(code=code), other.sign_in(code=code))
        assert sorted(answer.status_code for answer in both) == [201, 401]


@patiently
async def test_a_link_expires_and_is_no_token() -> None:
    """After ten minutes it is too late; as a bearer token its code opens nothing, at no time."""
    async with api() as here, Browser(here) as browser:
        code = await _link(here)
        assert "code of a link" in problem_of(await here.ask("GET", "/me", token=code), 401)["detail"]
        here.clock.advance(600)
        assert "expired" in problem_of(await browser.sign_in(code=code), 401)["detail"]
        assert "not known" in problem_of(await browser.sign_in(code="made-up"), 401)["detail"]


@patiently
async def test_the_cookie_is_half_a_token() -> None:
    """A server on another port gets the cookie: alone it opens nothing, and no script can read it (B1)."""
    async with api() as here, Browser(here) as browser:
        begun = await browser.sign_in(token=await here.token(AccessRole.VIEWER))
        given = begun.headers["set-cookie"]
        assert given.startswith("tickwise-session-8484=")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(given.split("; "))
        assert (await browser.me(None)).status_code == 401
        assert (await browser.me("AAAA")).status_code == 401
        assert (await browser.me(begun.json()["key"])).status_code == 200
        browser.cookies.clear()
        assert (await browser.me(begun.json()["key"])).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://localhost:9999"}, {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "same-site"},
     {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}],
)  # fmt: skip
@patiently
async def test_a_page_of_another_origin_changes_nothing(headers: dict[str, str]) -> None:
    """The session of a browser is for pages of our own origin, not for another port of this host either."""
    async with api() as here, Browser(here) as browser:
        begun = await browser.sign_in(token=await here.token(AccessRole.OPERATOR))
        given = {KEY: begun.json()["key"], **headers}
        assert (await browser.put("/api/v1/pause", headers=given)).status_code == 403
        assert (await here.get("/pause"))["paused"] is None
        own = {KEY: begun.json()["key"], "Origin": "http://localhost:8484", "Sec-Fetch-Site": "same-origin"}
        assert (await browser.put("/api/v1/pause", headers=own)).status_code == 200


@patiently
async def test_a_session_ends_with_its_token() -> None:
    """Revoking the token ends the sessions that were begun with it."""
    async with api() as here, Browser(here) as browser:
        made = await here.post("/tokens", {"name": "ada", "role": "operator"})
        begun = await browser.sign_in(token=made["secret"])
        await here.ask("DELETE", f"/tokens/{made['id']}")
        assert "revoked" in problem_of(await browser.me(begun.json()["key"]), 401)["detail"]


@patiently
async def test_signing_out_ends_the_session_of_a_link_and_spares_a_token() -> None:
    """What a link began is revoked; a token that somebody also uses elsewhere stays valid."""
    async with api() as here, Browser(here) as browser:
        token = await here.token(AccessRole.VIEWER)
        for given, status in (({"code": await _link(here)}, 401), ({"token": token}, 200)):
            key = (await browser.sign_in(**given)).json()["key"]
            kept = dict(browser.cookies)
            assert (await browser.delete("/session", headers={KEY: key})).status_code == 200
            assert not browser.cookies
            browser.cookies.update(kept)
            assert (await browser.me(key)).status_code == status
            browser.cookies.clear()
        assert not [one for one in (await here.get("/tokens"))["items"] if "browser" in one["name"]]


@patiently
async def test_wrong_codes_are_rationed_and_change_nothing() -> None:
    """Like wrong tokens they are counted, and a request with neither is refused."""
    async with api() as here, Browser(here) as browser:
        for _ in range(10):
            problem_of(await browser.sign_in(code="wrong"), 401)
        problem_of(await browser.sign_in(code="wrong"), 429)
        assert (await browser.sign_in(code=await _link(here))).status_code == 201
        problem_of(await browser.sign_in(), 422)


@patiently
async def test_the_cookie_of_tls_is_secure() -> None:
    """Over TLS, to us or to a trusted proxy, the cookie is never sent without."""
    async with api() as here:
        token = await here.token(AccessRole.VIEWER)
        here.app.state.authenticator = Authenticator(AuthSettings(trusted_proxies=("10.0.0.1",)))
        for peer, url, secure in (
            ("127.0.0.1", "https://localhost", True), ("10.0.0.1", "http://localhost", True),
            ("127.0.0.1", "http://localhost", False),
        ):  # fmt: skip
            async with Browser(here, peer, url) as browser:
                answer = await browser.post(
                    "/session", json={"token": token}, headers={"X-Forwarded-Proto": "https"}
                )
                assert ("Secure" in answer.headers["set-cookie"].split("; ")) is secure


@patiently
async def test_what_was_done_is_in_the_audit() -> None:
    """The audit names who made a link, and the browser that it let in; no secret is in it."""
    async with api() as here, Browser(here) as browser:
        code = await _link(here)
        key = (await browser.sign_in(code=code)).json()["key"]
        entries = (await here.get("/audit"))["items"]
        assert [(one["who"].split()[0], one["action"]) for one in entries] == [
            ("browser", "session.create"), ("inside", "link.create"),
        ]  # fmt: skip
        assert code not in str(entries)
        assert key not in str(entries)
