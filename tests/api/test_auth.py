"""Who asks, from where, and what they may see."""

import httpx2
import pytest
from structlog.testing import capture_logs

from tickwise.api.auth import MAX_FAILURES, WINDOW, Authenticator, FailedLoginLimiter
from tickwise.api.auth_settings import AuthSettings, check_binding, warnings
from tickwise.api.loopback import is_loopback
from tickwise.core.errors import InputError
from tickwise.stores.access_records import AccessRole

from ..support.api import Api, api, problem_of
from ..support.app import patiently

FORWARDING = ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"]


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "203.0.113.9"])
@patiently
async def test_an_address_has_no_role(peer: str) -> None:
    """Without a token nobody has a role: proxies and all local users come from loopback, too (B1)."""
    async with api(access=AuthSettings(), peer=peer) as here:
        answer = await here.ask("GET", "/me")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        problem_of(answer, 401)


@pytest.mark.parametrize("header", FORWARDING)
@patiently
async def test_a_forwarded_request_needs_a_token(header: str) -> None:
    """A proxy speaks for people elsewhere: the identity of its connection is not theirs (B1)."""
    async with api() as here:
        answer = await here.ask("GET", "/me", headers={header: "203.0.113.9"})
        assert "proxy" in problem_of(answer, 401)["detail"]


@patiently
async def test_a_dead_token_says_what_it_died_of() -> None:
    """Expired and revoked tokens are told apart, and an unknown one from both."""
    async with api() as here:
        short = await here.token(AccessRole.VIEWER, name="short", expires="1h")
        gone = await here.post("/tokens", {"name": "gone", "role": "viewer"})
        await here.ask("DELETE", f"/tokens/{gone['id']}")
        here.clock.advance(3_600)
        for secret, why in ((short, "expired"), (gone["secret"], "revoked"), ("made-up", "nobody")):
            assert why in problem_of(await here.ask("GET", "/me", token=secret), 401)["detail"]


@pytest.mark.parametrize("given", ["Basic YTpi", "Bearer", "Bearer ", "token x", f"Bearer {'x' * 300}"])
@patiently
async def test_other_credentials_are_refused(given: str) -> None:
    """Who sends credentials that are no token is refused, also on loopback."""
    async with api() as here:
        problem_of(await here.ask("GET", "/me", headers={"Authorization": given}), 401)


@patiently
async def test_the_secret_is_shown_once() -> None:
    """A token's secret is in the answer that made it, and nowhere else: not in lists, not in the audit."""
    async with api() as here:
        secret = await here.token(AccessRole.OPERATOR, name="ci")
        assert secret not in (await here.ask("GET", "/tokens")).text
        assert secret not in (await here.ask("GET", "/audit")).text
        assert (await here.get("/me", token=secret)) == {"name": "ci", "role": "operator", "scopes": []}


HOSTS = [
    ("localhost", 200), ("localhost:8484", 200), ("127.0.0.1:8484", 200), ("[::1]:8484", 200),
    ("tick.example", 200), ("TICK.example:443", 200),
    ("evil.example", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403), ("", 403),
]  # fmt: skip


@pytest.mark.parametrize(("host", "status"), HOSTS)
@patiently
async def test_the_host_must_be_ours(host: str, status: int) -> None:
    """A name that we do not know may have been pointed at us by a stranger (DNS rebinding)."""
    async with api() as here:
        here.app.state.authenticator = Authenticator(AuthSettings(hosts=("tick.example",)))
        answer = await here.ask("GET", "/me", headers={"Host": host})
        assert answer.status_code == status


ORIGINS = [
    ("http://localhost", 200), ("http://localhost:80", 200), ("http://localhost:8484", 403),
    ("https://evil.example", 403), ("null", 403), ("http://localhost.evil.example", 403), ("http://[::", 403),
]  # fmt: skip


@pytest.mark.parametrize(("origin", "status"), ORIGINS)
@patiently
async def test_a_strangers_page_changes_nothing(origin: str, status: int) -> None:
    """A browser that changes something must come from a page of ours; to read it need not."""
    async with api() as here:
        answer = await here.ask("PUT", "/pause", headers={"Origin": origin})
        assert answer.status_code == status
        paused = (await here.get("/pause", headers={"Origin": origin}))["paused"]
        assert (paused is not None) is (status == 200)


@patiently
async def test_another_sites_page_does_not_even_read() -> None:
    """A browser says whose page asks; one of another site is refused whatever it asks for."""
    async with api() as here:
        for site, status in (("cross-site", 403), ("same-origin", 200), ("none", 200)):
            answer = await here.ask("GET", "/forecast", headers={"Sec-Fetch-Site": site})
            assert answer.status_code == status


@patiently
async def test_a_trusted_proxy_says_under_which_name_it_was_reached() -> None:
    """Behind a proxy that we trust its X-Forwarded-Host counts, for the host and the origin; else it does not."""
    passed_on = {"X-Forwarded-Host": "tick.example", "Host": "127.0.0.1:8484", "Origin": "https://tick.example"}
    for proxies, status in ((("127.0.0.1",), 200), ((), 403)):
        access = AuthSettings(hosts=("tick.example",), trusted_proxies=proxies)
        async with api() as inside:
            token = await inside.token(AccessRole.OPERATOR)
            inside.app.state.authenticator = Authenticator(access)
            answer = await inside.ask("PUT", "/pause", token=token, headers=passed_on)
            assert answer.status_code == status


@patiently
async def test_a_forwarded_host_is_checked_besides_the_host() -> None:
    """A proxy may pass on the client's X-Forwarded-Host: it cannot stand in for a Host that is unknown (B14)."""
    access = AuthSettings(hosts=("tick.example",), trusted_proxies=("127.0.0.1",))
    async with api() as here:
        token = await here.token(AccessRole.VIEWER)
        here.app.state.authenticator = Authenticator(access)
        for host, forwarded, status in (
            ("evil.example", "localhost", 403), ("localhost", "evil.example", 403),
            ("localhost", "tick.example", 200),
        ):  # fmt: skip
            headers = {"Host": host, "X-Forwarded-Host": forwarded}
            assert (await here.ask("GET", "/me", token=token, headers=headers)).status_code == status


@patiently
async def test_wrong_tokens_are_rationed() -> None:
    """After ten wrong tokens more from that address are told to wait; right ones always pass (B9)."""
    async with api() as here:
        now = 1_000.0
        right = await here.token(AccessRole.VIEWER)
        here.app.state.authenticator = Authenticator(AuthSettings(), FailedLoginLimiter(lambda: now))
        for _ in range(MAX_FAILURES):
            problem_of(await here.ask("GET", "/me", token="wrong"), 401)  # noqa: S106  (not one)
        answer = await here.ask("GET", "/me", token="wrong")  # noqa: S106  (not one)
        assert answer.headers["retry-after"] == str(round(WINDOW))
        problem_of(answer, 429)
        assert (await here.get("/me", token=right))["role"] == "viewer"
        elsewhere = httpx2.ASGITransport(app=here.app, client=("203.0.113.9", 1))
        async with httpx2.AsyncClient(transport=elsewhere, base_url="http://localhost") as other:
            headers = {"Authorization": "Bearer wrong"}
            assert (await other.get("/api/v1/me", headers=headers)).status_code == 401
        now += WINDOW
        problem_of(await here.ask("GET", "/me", token="wrong"), 401)  # noqa: S106  (not one)


@patiently
async def test_a_refused_login_is_logged_once_a_minute() -> None:
    """With its address and why, and without the token; not once for each of a thousand tries (B14)."""
    async with api() as here:
        with capture_logs() as logged:
            for _ in range(15):
                await here.ask("GET", "/me", token="guessed-token-12345")  # noqa: S106  (not one)
        assert [(line["event"], line["address"], line["log_level"]) for line in logged] == [
            ("login refused", "127.0.0.1", "warning")
        ]
        assert "guessed-token" not in str(logged)


def test_failures_take_bounded_memory() -> None:
    """However many addresses fail, only so many are remembered."""
    attempts = FailedLoginLimiter(lambda: 0.0)
    for number in range(20_000):
        attempts.fail(f"2001:db8::{number:x}")
    assert len(attempts._failed) == 10_000


@patiently
async def test_a_trusted_proxys_word_counts() -> None:
    """Behind a trusted proxy failures are counted by the address that it names, the last one."""
    access = AuthSettings(trusted_proxies=("127.0.0.1",))
    async with api(access=access) as here:
        for _ in range(MAX_FAILURES):
            await here.ask("GET", "/me", token="wrong", headers={"X-Forwarded-For": "203.0.113.9"})  # noqa: S106
        for address, status in (("203.0.113.9", 429), ("203.0.113.8", 401), ("203.0.113.8, 203.0.113.9", 429)):
            answer = await here.ask("GET", "/me", token="wrong", headers={"X-Forwarded-For": address})  # noqa: S106
            assert answer.status_code == status


async def _two_jobs(here: Api) -> str:
    for name in ("etl-load", "payroll"):
        await here.post("/schedules", {"name": name, "schedule": "0 * * * *", "command": "echo hi"})
    await here.post("/runs", {"job": "payroll"})
    return await here.token(AccessRole.OPERATOR, "etl-*")


@patiently
async def test_what_is_out_of_scope_does_not_exist() -> None:
    """Lists leave it out, its own addresses say 404, and no hint gives its name away."""
    async with api() as here:
        token = await _two_jobs(here)
        for path in ("/schedules", "/jobs", "/runs", "/upcoming", "/timeline"):
            assert "payroll" not in (await here.ask("GET", path, token=token)).text, path
        assert [one["name"] for one in (await here.get("/schedules", token=token))["items"]] == ["etl-load"]
        for method, path in (
            ("GET", "/schedules/payroll"), ("POST", "/schedules/payroll:pause"),
            ("GET", "/jobs/payroll"), ("GET", "/runs/1"), ("POST", "/runs/1:cancel"), ("GET", "/runs/1/logs"),
        ):  # fmt: skip
            answer = await here.ask(method, path, token=token)
            problem_of(answer, 404)
        hint = problem_of(await here.ask("GET", "/schedules/payrol", token=token), 404)
        assert "payroll" not in hint["detail"]
        problem_of(await here.ask("POST", "/runs", token=token, json={"job": "payroll"}), 422)
        forecast = await here.get("/forecast?hours=2", token=token)
        assert sum(forecast["counts"]) == 1
        world = await here.world()
        await here.post("/schedules:pause", {"names": ["etl-load", "payroll"]})
        here.clock.advance(7_200)
        await here.post("/schedules:resume", {"names": ["etl-load", "payroll"]})
        await world.tick()
        decided = await here.get("/decisions", token=token)
        assert {one["schedule"] for one in decided["items"]} == {"etl-load"}


@patiently
async def test_an_admin_has_no_scopes() -> None:
    """Who decides what is executed can read the admin's token by a job: a scoped admin is refused (B12)."""
    async with api() as here:
        body = {"name": "half", "role": "admin", "scopes": ["etl-*"]}
        assert problem_of(await here.ask("POST", "/tokens", json=body), 422)["field"] == "scopes"
        assert (await here.get("/tokens"))["items"] == []


@pytest.mark.parametrize(
    ("host", "is_ours"), [("127.0.0.1", True), ("::1", True), ("192.0.2.1", False), ("x", False)]
)
def test_nobody_listens_beyond_loopback_without_a_token(host: str, is_ours: bool) -> None:
    """Binding elsewhere is refused without a token, and warned of without TLS or a trusted proxy."""
    assert is_loopback(host) is is_ours
    check_binding(host, has_token=True)
    if is_ours:
        check_binding(host, has_token=False)
        assert not list(warnings(host, AuthSettings(), tls=False))
    else:
        with pytest.raises(InputError, match="no token yet"):
            check_binding(host, has_token=False)
        told = " ".join(warnings(host, AuthSettings(), tls=False))
        assert "without TLS" in told
        assert not list(warnings(host, AuthSettings(hosts=("a",), trusted_proxies=("10.0.0.1",)), tls=False))
