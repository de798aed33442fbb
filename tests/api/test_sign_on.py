"""Sign-on at an OpenID provider: who comes in, with which role, and every answer that is not accepted."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from tickwise.api.auth_settings import AuthSettings
from tickwise.api.sign_on_check import sign_on_findings
from tickwise.config import load
from tickwise.core.errors import InputError
from tickwise.sign_on_settings import read_oidc, read_trusted_header

from ..support.api import NIGHTLY, Api, api, problem_of
from ..support.app import patiently
from ..support.oidc import CLIENT, SECRET, Provider, SignOnBrowser, forged, provider

ROLES = {"admin": ["platform"], "operator": ["etl", {"group": "team-a", "jobs": ["team-a.*"]}], "viewer": ["all"]}


class Door(NamedTuple):
    """An API whose people sign in at a provider."""

    api: Api
    provider: Provider


@asynccontextmanager
async def door(root_path: str = "", **settings: Any) -> AsyncIterator[Door]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OIDC_CLIENT_SECRET", SECRET)
        async with provider() as at:
            table = {
                "issuer": at.issuer, "client_id": CLIENT, "client_secret": "env:OIDC_CLIENT_SECRET",
                "roles": ROLES,
            }  # fmt: skip
            access = AuthSettings(oidc=read_oidc({**table, **settings}))
            async with api(access=access, root_path=root_path) as here:
                now = here.clock() // 1_000_000
                at.times = {"iat": now, "exp": now + 300}
                yield Door(here, at)


@patiently
async def test_a_group_gives_a_role() -> None:
    """A person signs in with a code and PKCE; groups that the settings name give the highest role."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        assert (await browser.get("/session")).json() == {"provider": "127.0.0.1", "is_known": False}
        begun = await browser.sign_on(at)
        assert begun.status_code == 201, begun.text
        cookies = begun.headers.get_list("set-cookie")
        assert all({"HttpOnly", "SameSite=strict"} <= {*one.split("; ")} for one in cookies)
        me = (await browser.ask("GET", "/me")).json()
        assert (me["role"], me["scopes"]) == ("operator", [])
        assert me["name"].startswith("ada (browser ")


@patiently
async def test_groups_add_up() -> None:
    """The highest role counts; a lower one stays for the jobs that it is for."""
    async with door() as (here, at):
        for groups, role, scopes in (
            (["platform", "etl"], "admin", []), ("etl", "operator", []), (["team-a"], "operator", ["team-a.*"]),
            (["team-a", "all"], "operator", ["team-a.*", "viewer:*"]), (["all", 7, None], "viewer", []),
        ):  # fmt: skip
            at.claims["groups"] = groups
            async with SignOnBrowser(here) as browser:
                await browser.sign_on(at)
                me = (await browser.ask("GET", "/me")).json()
                assert (me["role"], me["scopes"]) == (role, scopes), groups


@patiently
async def test_no_group_is_no_role() -> None:
    """Whoever has no group of the settings gets no session, and is told so by name."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        for groups in ([], None, ["nobody", "ETL", "et"], {"etl": True}, "etl all", 7):
            at.claims["groups"] = groups
            detail = problem_of(await browser.sign_on(at), 403)["detail"]
            assert detail.startswith("ada has signed in, and no group of theirs has a role here"), groups
            assert (await browser.ask("GET", "/me")).status_code == 401, groups


def _other_key(claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "first"}, claims, RSAKey.generate_key(2048))


CLAIMS: dict[str, dict[str, Any]] = {
    "wrong nonce": {"nonce": "other"},
    "no nonce": {"nonce": None},
    "wrong audience": {"aud": "somebody-else"},
    "no audience": {"aud": None},
    "wrong audience, for us to use": {"aud": "somebody-else", "azp": CLIENT},
    "audiences of others": {"aud": [CLIENT, "somebody-else"]},
    "another authorized party": {"aud": [CLIENT, "somebody-else"], "azp": "somebody-else"},
    "wrong issuer": {"iss": "https://evil.example"},
    "issuer with a slash": {"iss": "+/"},
    "no subject": {"sub": None},
    "no expiry": {"exp": None},
    "expired": {"exp": -61},
    "issued in the future": {"iat": +61},
    "not yet": {"nbf": +61},
    "an expiry that is a text": {"exp": "tomorrow"},
}


@patiently
async def test_a_token_with_a_wrong_claim_is_refused() -> None:
    """Each claim is checked; the page is told that it was the token."""
    async with door() as (here, at):
        right, now = dict(at.claims), at.times["iat"]
        for number, (wrong, changes) in enumerate(CLAIMS.items()):
            moved = {name: now + value if isinstance(value, int) else value for name, value in changes.items()}
            at.claims = {
                **right,
                **{name: at.issuer + "/" if value == "+/" else value for name, value in moved.items()},
            }
            async with SignOnBrowser(here, peer=f"10.0.0.{number}") as browser:
                detail = problem_of(await browser.sign_on(at), 401)["detail"]
                assert "ID token is not accepted" in detail, wrong
                assert (await browser.ask("GET", "/me")).status_code == 401, wrong


@patiently
async def test_clocks_may_differ_by_a_minute() -> None:
    """A provider whose clock is a little wrong still lets people in."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        right, now = dict(at.claims), at.times["iat"]
        for moved in ({"exp": now - 59}, {"iat": now + 59}, {"nbf": now + 59}):
            at.claims = {**right, **moved}
            assert (await browser.sign_on(at)).status_code == 201, moved


SIGNERS: dict[str, Callable[[Provider], Callable[[dict[str, Any]], str]]] = {
    "alg none": lambda _: lambda claims: forged({"alg": "none"}, claims, b""),
    "HS256 with the public key": lambda at: (
        lambda claims: forged({"alg": "HS256", "kid": at.key.kid}, claims, at.public_key())
    ),
    "HS256 with the client secret": lambda _: lambda claims: forged({"alg": "HS256"}, claims, SECRET.encode()),
    "another key": lambda _: _other_key,
    "a key of its own in the header": lambda _: (
        lambda claims: jwt.encode(
            {"alg": "RS256", "jwk": (own := RSAKey.generate_key(2048)).as_dict(private=False)}, claims, own
        )
    ),
    "no signature": lambda at: lambda claims: at.signed(claims).rpartition(".")[0] + ".",
    "no token": lambda _: lambda _: "nonsense",
    "an empty one": lambda _: lambda _: "",
}


@patiently
async def test_a_token_that_the_provider_has_not_signed_is_refused() -> None:
    """Only a private key of the provider makes a token, with an algorithm of ours."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        for wrong, make in SIGNERS.items():
            at.sign = make(at)
            assert (await browser.sign_on(at)).status_code == 401, wrong
            assert (await browser.ask("GET", "/me")).status_code == 401, wrong


@patiently
async def test_keys_rotate() -> None:
    """A new key of the provider counts at once; known keys are not asked for again."""
    async with door() as (here, at):
        for rotated in (False, False, True):
            if rotated:
                at.rotate()
            async with SignOnBrowser(here) as browser:
                assert (await browser.sign_on(at)).status_code == 201
        assert at.asked == ["keys", "keys"]


@patiently
async def test_an_answer_to_another_browser_is_refused() -> None:
    """Login CSRF: an attacker's answer opens nothing in the victim's browser, whatever it has begun itself."""
    async with door() as (here, at), SignOnBrowser(here) as attacker, SignOnBrowser(here) as victim:
        answer = at.let_in(await attacker.begin())
        assert "begun no sign-on" in problem_of(await victim.finish(answer), 401)["detail"]
        own = at.let_in(await victim.begin())
        for mixed in (answer, {**answer, "state": own["state"]}, {**own, "state": answer["state"]}):
            problem_of(await victim.finish(mixed), 401)
        assert (await victim.finish(at.let_in(await victim.begin()))).status_code == 201


@patiently
async def test_half_a_secret_finishes_nothing() -> None:
    """The cookie alone, as another port of the host gets it, and the key alone are as good as nothing."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        answer = at.let_in(await browser.begin())
        key, browser.key = browser.key, ""
        problem_of(await browser.finish(answer), 401)
        browser.key, kept = key, dict(browser.cookies)
        browser.cookies.clear()
        problem_of(await browser.finish(answer), 401)
        browser.cookies.update(kept)
        assert (await browser.finish(answer)).status_code == 201


@patiently
async def test_an_answer_is_good_once() -> None:
    """A replayed code is refused, by the provider and by us, also if two come at the same moment."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        answer = at.let_in(await browser.begin())
        key, kept = browser.key, dict(browser.cookies)
        assert (await browser.finish(answer)).status_code == 201
        browser.key = key
        browser.cookies.update(kept)
        again = await browser.post("/sign-on:finish", json=answer, headers={"Tickwise-Session-Key": key})
        assert "invalid_grant" in problem_of(again, 401)["detail"]
        address = await browser.begin()
        twice = (browser.finish(at.let_in(address)), browser.finish(at.let_in(address)))
        both = await asyncio.gather(*twice)
        assert sorted(one.status_code for one in both) == [201, 401]


@patiently
async def test_a_mixed_up_provider_is_refused() -> None:
    """An answer must name our provider, if that says that it does: no code of it goes to another (RFC 9207)."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        for issuer in ("https://evil.example", "", f"{at.issuer}/"):
            answer = {**at.let_in(await browser.begin()), "issuer": issuer}
            assert "another provider" in problem_of(await browser.finish(answer), 401)["detail"], issuer


@patiently
async def test_a_wrong_document_is_not_used() -> None:
    """The provider must be who the settings say, and be reached where nobody can listen."""
    documents: tuple[dict[str, Any], ...] = (
        {"issuer": "https://evil.example"}, {"token_endpoint": "http://evil.example/token"},
        {"authorization_endpoint": "javascript:alert(1)"}, {"jwks_uri": None}, {"userinfo_endpoint": "ftp://x"},
        {"token_endpoint": "https://user:word@evil.example/"},
    )  # fmt: skip
    async with door() as (here, at), SignOnBrowser(here) as browser:
        for at.document in documents:
            assert (await browser.post("/sign-on:begin")).status_code == 502, at.document
        at.document = {}
        assert (await browser.sign_on(at)).status_code == 201


@patiently
async def test_a_page_of_another_site_begins_nothing() -> None:
    """Nor does one finish anything, and no address that it names is gone to: there is none in a request."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        answer = at.let_in(await browser.begin())
        for origin in ("https://evil.example", "null", "http://localhost:9999"):
            for path, body in ((":begin", None), (":finish", answer)):
                given = await browser.post(f"/sign-on{path}", json=body, headers={"Origin": origin})
                problem_of(given, 403)
        del browser.headers["Origin"]
        problem_of(await browser.post("/sign-on:begin"), 403)
        problem_of(await browser.post("/sign-on:finish", json={**answer, "to": "https://evil.example"}), 422)


@patiently
async def test_the_provider_may_refuse() -> None:
    """What it says is shown only if it is an answer to this browser."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        answer = at.let_in(await browser.begin())
        refused = {"state": answer["state"], "issuer": at.issuer, "error": "access_denied"}
        assert "(access_denied)" in problem_of(await browser.finish(refused), 401)["detail"]
        forged = {**refused, "state": "x", "error": "call 555-0100"}
        assert "555" not in problem_of(await browser.finish(forged), 401)["detail"]


@patiently
async def test_wrong_answers_are_counted() -> None:
    """As wrong tokens are; the right one still passes (B9)."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        await browser.begin()
        for _ in range(10):
            problem_of(await browser.finish({"state": "x", "code": "y"}), 401)
        problem_of(await browser.finish({"state": "x", "code": "y"}), 429)
        assert (await browser.sign_on(at)).status_code == 201


@patiently
async def test_a_session_ends() -> None:
    """After its time, by signing out, and by an admin who revokes its token; the provider has no say in that."""
    async with door(session="1h") as (here, at), SignOnBrowser(here) as browser:
        at.claims["groups"] = ["platform"]
        for end in ("time", "sign out", "revoke"):
            now = here.clock() // 1_000_000
            at.times = {"iat": now, "exp": now + 300}
            await browser.sign_on(at)
            here.clock.advance(3_599)
            assert (await browser.ask("GET", "/me")).status_code == 200
            kept = dict(browser.cookies)
            if end == "time":
                here.clock.advance(1)
            elif end == "sign out":
                left = await browser.delete("/session", headers={"Tickwise-Session-Key": browser.key})
                assert left.json() == {"provider": None}
                browser.cookies.update(kept)
            else:
                own = [
                    one for one in (await browser.ask("GET", "/tokens")).json()["items"] if not one["revoked_at"]
                ]
                await browser.ask("DELETE", f"/tokens/{own[-1]['id']}")
            assert (await browser.ask("GET", "/me")).status_code == 401, end
            browser.cookies.clear()


@patiently
async def test_a_person_may_sign_out_at_the_provider_too() -> None:
    """Signing out tells where, if the provider has such a page; whoever was not signed in is told nothing."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        at.claims["groups"] = ["platform"]
        at.document["end_session_endpoint"] = f"{at.issuer}/leave?theme=dark"
        await browser.sign_on(at)
        for told in (f"{at.issuer}/leave?theme=dark&client_id=tickwise", None):
            left = await browser.delete("/session", headers={"Tickwise-Session-Key": browser.key})
            assert left.json() == {"provider": told}


@patiently
async def test_the_audit_has_the_person() -> None:
    """The sign-on with its subject at the provider, and each act with the name; no secret is there."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        at.claims["groups"] = ["platform"]
        await browser.sign_on(at)
        assert (await browser.ask("POST", "/schedules", json=NIGHTLY)).status_code == 201
        entries = (await browser.ask("GET", "/audit")).json()["items"]
        assert [(one["who"].partition(" (")[0], one["action"]) for one in entries] == [
            ("ada", "schedule.create"), ("ada", "session.create"),
        ]  # fmt: skip
        assert (entries[-1]["after"]["sub"], entries[-1]["after"]["issuer"]) == ("u1", at.issuer)
        assert SECRET not in str(entries)


@patiently
async def test_a_name_is_harmless() -> None:
    """It is short and can be seen; without one the subject stands there."""
    async with door() as (here, at):
        for named, shown in (
            ("ada\u202e\x1b[2J", "ada[2J ("), ("", "u1 ("), (7, "u1 ("), (None, "u1 ("), ("a" * 300, "aaa"),
            ("\0\0", "somebody ("),
        ):  # fmt: skip
            at.claims["preferred_username"] = named
            async with SignOnBrowser(here) as browser:
                await browser.sign_on(at)
                name = (await browser.ask("GET", "/me")).json()["name"]
            assert name.startswith(shown)
            assert len(name) <= 105
            assert name.isprintable()


@patiently
async def test_groups_may_be_in_the_user_information() -> None:
    """Some providers tell them only there; it must be about the same person."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        del at.claims["groups"]
        at.user = {"groups": ["all"], "sub": "u2"}
        assert "somebody else" in problem_of(await browser.sign_on(at), 401)["detail"]
        at.user = {"groups": ["all"], "aud": "x", "preferred_username": "eve"}
        assert (await browser.sign_on(at)).status_code == 201
        assert (await browser.ask("GET", "/me")).json()["name"].startswith("ada (")


@patiently
async def test_a_secret_may_be_posted_and_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client shows it as the provider wants it; without it nobody comes in, and no page learns its place."""
    async with door() as (here, at), SignOnBrowser(here) as browser:
        at.document = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        assert (await browser.sign_on(at)).status_code == 201
        monkeypatch.setenv("OIDC_CLIENT_SECRET", "wrong")
        assert "invalid_client" in problem_of(await browser.sign_on(at), 401)["detail"]
        monkeypatch.delenv("OIDC_CLIENT_SECRET")
        assert "OIDC" not in problem_of(await browser.sign_on(at), 502)["detail"]


@patiently
async def test_it_works_under_a_path() -> None:
    """Behind a proxy that serves us under a path, the provider sends people back there."""
    async with door(root_path="/tickwise") as (here, at), SignOnBrowser(here, path="/tickwise") as browser:
        at.redirects = {"http://localhost:8484/tickwise/sign-on"}
        address = await browser.begin()
        assert (await browser.finish(at.let_in(address))).status_code == 201


@patiently
async def test_without_a_provider_there_is_no_sign_on() -> None:
    """The page offers none, and the routes say how to sign in."""
    async with api(access=AuthSettings()) as here, SignOnBrowser(here) as browser:
        assert (await browser.get("/session")).json() == {"provider": None, "is_known": False}
        for path, body in ((":begin", None), (":finish", {"state": "x"})):
            problem_of(await browser.post(f"/sign-on{path}", json=body), 404)
        assert "Tickwise" in (await browser.get("/sign-on")).text


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"issuer": "http://login.example.com"}, "begins with https://"),
        ({"issuer": "https://login.example.com/?a=b"}, "begins with https://"),
        ({"issuer": "https://me:word@login.example.com"}, "begins with https://"),
        ({"client_secret": "hunter2"}, "must begin with env:"),
        ({"scope": "profile"}, "write openid as well"),
        ({"session": "8d"}, "from 1m to 7d"),
        ({"sesion": "8h"}, "did you mean session?"),
        ({"roles": {}}, "write a table"),
        ({"roles": {"owner": ["x"]}}, "no role 'owner'"),
        ({"roles": {"admin": [{"group": "x", "jobs": ["team-a.*"]}]}}, "leave `jobs` out"),
        ({"roles": {"viewer": [{"group": "x", "jobs": []}]}}, "the list is empty"),
        ({"roles": {"viewer": [{"group": "x", "jobs": ["a b"]}]}}, "patterns of job names"),
        ({"roles": {"viewer": [{"groop": "x"}]}}, "write a name of a group"),
        ({"roles": {"viewer": "all"}}, "write a list"),
    ],
)
def test_settings_that_are_refused(wrong: dict[str, Any], problem: str) -> None:
    """Each says what to write instead, and no secret."""
    good = {"issuer": "https://login.example.com", "client_id": "x", "roles": ROLES}
    assert read_oidc(good).button == "login.example.com"
    with pytest.raises(InputError) as refused:
        read_oidc({**good, **wrong})
    assert problem in str(refused.value)
    assert "hunter2" not in str(refused.value)


@patiently
async def test_the_doctor_asks_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds a provider that is another, does not answer or has no key, and a secret that is not there."""
    monkeypatch.setenv("OIDC_CLIENT_SECRET", SECRET)
    async with provider() as at:
        table = {
            "issuer": at.issuer,
            "client_id": CLIENT,
            "client_secret": "env:OIDC_CLIENT_SECRET",
            "roles": ROLES,
        }
        settings = replace(load(environ={}), oidc=read_oidc(table))
        assert await sign_on_findings(settings) == []
        monkeypatch.delenv("OIDC_CLIENT_SECRET")
        (finding,) = await sign_on_findings(settings)
        assert (finding.code, "client secret" in finding.what) == ("sign_on", True)
        at.document = {"issuer": "https://evil.example"}
        assert "calls itself" in (await sign_on_findings(settings))[0].what
    assert "does not answer" in (await sign_on_findings(settings))[0].what
    header = read_trusted_header({"user": "Remote-User", "roles": ROLES})
    async with api() as here:
        patched = replace(here.tickwise.settings, trusted_header=header)
        monkeypatch.setattr(here.tickwise, "settings", patched)
        findings = (await here.get("/doctor"))["findings"]
        assert "trusted_header" in {one["code"] for one in findings}
