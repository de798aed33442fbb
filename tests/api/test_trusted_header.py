"""An authenticating proxy says who it is: counted only from its addresses, and never a client's own word."""

from typing import Any

import httpx2
import pytest

from tickwise.api.auth_settings import AuthSettings, warnings
from tickwise.core.errors import InputError
from tickwise.sign_on_settings import read_trusted_header
from tickwise.stores.access_records import AccessRole

from ..support.api import NIGHTLY, Api, api, problem_of
from ..support.app import patiently

PROXY, OTHER = "10.0.0.7", "10.0.0.8"
ADA = {"X-Forwarded-User": "ada", "X-Forwarded-Groups": "etl, all"}
TABLE: dict[str, Any] = {
    "user": "X-Forwarded-User", "groups": "X-Forwarded-Groups", "from": ["10.0.0.7/32", "fd00::7"],
    "roles": {"admin": ["platform"], "operator": ["etl"], "viewer": ["all"]},
}  # fmt: skip
TRUSTING = AuthSettings(trusted_header=read_trusted_header(TABLE))


async def _me(here: Api, peer: str, headers: Any) -> httpx2.Response:
    """What somebody who connects from an address is taken for."""
    transport = httpx2.ASGITransport(app=here.app, client=(peer, 50_000))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get("/api/v1/me", headers=headers)


@patiently
async def test_the_proxy_names_a_person() -> None:
    """From its addresses, of either family, and with the roles of the groups; the audit has the name."""
    async with api(access=TRUSTING, peer=PROXY) as here:
        for peer in (PROXY, "fd00::7", f"::ffff:{PROXY}"):
            me = (await _me(here, peer, ADA)).json()
            assert (me["name"], me["role"], me["scopes"]) == ("ada (proxy)", "operator", []), peer
        assert (await _me(here, PROXY, {"X-Forwarded-User": "zoë".encode(), **_groups("all")})).json()[
            "name"
        ] == "zoë (proxy)"
        boss = {**ADA, **_groups("platform")}
        assert (await here.ask("POST", "/schedules", json=NIGHTLY, headers=boss)).status_code == 201
        (entry,) = (await here.get("/audit", headers=boss))["items"]
        assert (entry["who"], entry["action"]) == ("ada (proxy)", "schedule.create")
        known = await here.client.get("/session", headers=ADA)
        assert known.json() == {"provider": None, "is_known": True}


def _groups(text: str) -> dict[str, str]:
    return {"X-Forwarded-Groups": text}


@patiently
async def test_nobody_else_can_say_who_they_are() -> None:
    """The headers of any other connection are as good as none, loopback included, and other spellings too."""
    async with api(access=TRUSTING, peer=OTHER) as here:
        for peer in (OTHER, "127.0.0.1", "::1", "", "nonsense", "10.0.0.70"):
            assert (await _me(here, peer, ADA)).status_code == 401, peer
            assert (
                await _me(here, peer, {**ADA, "X-Forwarded-For": PROXY, "Forwarded": f"for={PROXY}"})
            ).status_code == 401
        for name in ("X_Forwarded_User", "X-Forwarded-Users", "Remote-User"):
            assert (await _me(here, PROXY, {name: "ada", **_groups("platform")})).status_code == 401, name
        token = await _token(here)
        assert (await _me(here, OTHER, {**ADA, "Authorization": f"Bearer {token}"})).json()["role"] == "viewer"
        assert (await _me(here, PROXY, {**ADA, "Authorization": "Bearer wrong"})).status_code == 401
        assert (await here.client.get("/session", headers=ADA)).json()["is_known"] is False


async def _token(here: Api) -> str:
    from tickwise.api.token_file import digest  # noqa: PLC0415  (beside its one use)
    from tickwise.stores.access_records import Token  # noqa: PLC0415

    await (await here.store()).access.issue(Token("1", "ci", AccessRole.VIEWER), digest("secret"))
    return "secret"


@pytest.mark.parametrize(
    "twice",
    [
        [("X-Forwarded-User", "root"), ("X-Forwarded-User", "ada"), ("X-Forwarded-Groups", "all")],
        [("X-Forwarded-User", "ada"), ("X-Forwarded-Groups", "platform"), ("X-Forwarded-Groups", "all")],
        [("X-Forwarded-User", "ad\u00a0\u200ba"), ("X-Forwarded-Groups", "all")],
        [("X-Forwarded-User", "a" * 200), ("X-Forwarded-Groups", "all")],
    ],
)
@patiently
async def test_a_proxy_that_lets_headers_through_lets_nobody_in(twice: list[tuple[str, str]]) -> None:
    """A header that is there twice, or whose name cannot be shown, is refused."""
    async with api(access=TRUSTING) as here:
        given = [(name, value.encode()) for name, value in twice]
        problem_of(await _me(here, PROXY, given), 401)


@patiently
async def test_no_group_is_no_role() -> None:
    """Deny by default, with a text that says so; no user header is nobody."""
    async with api(access=TRUSTING, peer=PROXY) as here:
        for groups in ({}, _groups(""), _groups("ETL"), _groups("et l"), _groups("*")):
            answer = await _me(here, PROXY, {"X-Forwarded-User": "ada", **groups})
            assert "ada has signed in, and no group" in problem_of(answer, 403)["detail"], groups
        for user in ({}, {"X-Forwarded-User": " "}):
            assert (await _me(here, PROXY, {**user, **_groups("platform")})).status_code == 401


@patiently
async def test_a_page_of_another_origin_borrows_nobody() -> None:
    """The browser's cookie for the proxy comes with requests of any page: only our own may ask (CSRF)."""
    async with api(access=TRUSTING, peer=PROXY) as here:
        for headers in (
            {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://localhost:9999"},
        ):  # fmt: skip
            problem_of(await here.ask("PUT", "/pause", headers={**ADA, **headers}), 403)
        assert (await here.get("/pause", headers=ADA))["paused"] is None
        own = {**ADA, "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
        assert (await here.ask("PUT", "/pause", headers=own)).status_code == 200


@pytest.mark.parametrize(
    ("changes", "warning"),
    [({}, None), ({"from": []}, "name the addresses"), ({"from": ["127.0.0.0/8"]}, "every user can send it")],
)
def test_what_is_warned_of(changes: dict[str, Any], warning: str | None) -> None:
    """`serve` and the doctor say that a header counts on no connection, or on those of every local user."""
    found = list(
        warnings("127.0.0.1", AuthSettings(trusted_header=read_trusted_header({**TABLE, **changes})), tls=True)
    )
    assert [warning in one for one in found] == [True] if warning else found == []


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"user": "Authorization"}, "cannot be this header"),
        ({"user": "X Forwarded User"}, "cannot be this header"),
        ({"groups": "X-Forwarded-User"}, "another header"),
        ({"from": ["0.0.0.0/0"]}, "trusts everybody"),
        ({"from": ["::/0"]}, "trusts everybody"),
        ({"from": ["proxy.internal"]}, "write addresses"),
        ({"from": "unix"}, "a unix socket is none"),
        ({"from": ["10.0.0.7/8"]}, "has host bits set"),
        ({"form": ["10.0.0.7"]}, "did you mean from?"),
        ({"roles": {"admin": []}, "user": ""}, "write a text"),
    ],
)
def test_settings_that_are_refused(wrong: dict[str, Any], problem: str) -> None:
    """What would trust too many, or nobody by a slip, is not a setting."""
    with pytest.raises(InputError) as refused:
        read_trusted_header({**TABLE, **wrong})
    assert problem in str(refused.value)
