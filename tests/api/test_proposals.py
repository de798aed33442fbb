"""Proposals: what an agent asks for is done once a person, or a rule of the settings, has approved it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from tickwise.api.app import make_api
from tickwise.api.auth_settings import AuthSettings
from tickwise.core.proposal import ProposedAct
from tickwise.stores.access_records import AccessRole

from ..support.api import NIGHTLY, Api, api, problem_of
from ..support.app import patiently

HOURLY = {**NIGHTLY, "schedule": "0 * * * *"}


async def proposed(here: Api, act: str = "pause", target: str = "nightly", **given: Any) -> Any:
    return await here.post("/proposals", {"act": act, "target": target, **given})


async def is_paused(here: Api) -> bool:
    return (await here.get("/schedules/nightly"))["paused"] is not None


@patiently
async def test_a_proposal_is_carried_out_when_it_is_approved(url: str) -> None:
    """It tells what would run and what would not; nothing happens before, and both steps are in the audit."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        made = await proposed(here, arguments={"until": "2h", "reason": "disk"}, reason="the disk is full")
        assert (made["state"], made["by"], made["reason"], made["job"]) == (
            "open", "inside", "the disk is full", "nightly",
        )  # fmt: skip
        assert made["effect"]["vanish"] == ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"]
        assert made["effect"]["text"] == (
            "pause nightly: up to 2026-01-02T00:00:00Z, 0 starts would be added and 2 starts would not come"
        )
        assert made["arguments"]["until"] == "2026-01-01T02:00:00Z"
        assert not await is_paused(here)
        here.clock.advance(600)
        done = await here.post(f"/proposals/{made['id']}:approve")
        assert (done["state"], done["decided_by"]) == ("approved", "inside")
        assert (await here.get("/schedules/nightly"))["paused"]["until"] == "2026-01-01T02:00:00Z"
        actions = [one["action"] for one in (await here.get("/audit"))["items"]]
        assert actions[:3] == ["proposal.approve", "schedule.pause", "proposal.create"]
        assert (await here.get(f"/proposals/{made['id']}"))["state"] == "approved"


@patiently
async def test_attention_says_how_many_wait() -> None:
    """To those who see the job, until it is decided."""
    async with api() as here:
        await here.post("/schedules", HOURLY)
        for _ in range(2):
            made = await proposed(here)
        elsewhere = await here.token(AccessRole.VIEWER, "other*")
        mine = await here.token(AccessRole.OPERATOR, "night*")
        async with here_over(here) as outside:
            for token, counts in ((mine, [2]), (elsewhere, [])):
                items = (await outside.ask("GET", "/attention", token=token)).json()["items"]
                assert [one["counts"]["open"] for one in items if one["kind"] == "proposed"] == counts
        await here.post(f"/proposals/{made['id']}:reject")
        told = [one for one in (await here.get("/attention"))["items"] if one["kind"] == "proposed"]
        assert [f"{one['subject']['name']} {one['text']}" for one in told] == ["1 proposal waits for you"]
        assert told[0]["actions"][0]["command"] == "tickwise proposals list"


@patiently
async def test_it_is_decided_once(url: str) -> None:
    """Of five who approve at once one acts; after a decision there is no other."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        made = await proposed(here, "trigger")
        answers = await asyncio.gather(*(here.ask("POST", f"/proposals/{made['id']}:approve") for _ in range(5)))
        assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
        assert len((await here.get("/runs"))["items"]) == 1
        problem_of(await here.ask("POST", f"/proposals/{made['id']}:reject"), 409)
        other = await proposed(here)
        told = await here.post(f"/proposals/{other['id']}:reject", {"reason": "not now"})
        assert (told["state"], told["note"]) == ("rejected", "not now")
        refused = problem_of(await here.ask("POST", f"/proposals/{other['id']}:approve"), 409)
        assert f"the proposal {other['id']} is rejected by inside" in refused["detail"]
        assert not await is_paused(here)


@patiently
async def test_it_expires(url: str) -> None:
    """After its time nobody can approve it; it waits a day at most."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        made = await proposed(here, expires="10m")
        here.clock.advance(600)
        assert (
            "is expired" in problem_of(await here.ask("POST", f"/proposals/{made['id']}:approve"), 409)["detail"]
        )
        assert [one["state"] for one in (await here.get("/proposals"))["items"]] == ["expired"]
        body = {"act": "pause", "target": "nightly", "expires": "2d"}
        assert "at most 1d" in problem_of(await here.ask("POST", "/proposals", json=body), 422)["detail"]


@patiently
async def test_the_world_may_have_changed_since() -> None:
    """Then it is not done before somebody says that it is to be done anyway; what has passed is no change."""
    async with api() as here:
        await here.post("/schedules", HOURLY)
        made = await proposed(here, expires="1d")
        here.clock.advance(2 * 3_600)
        await here.ask("PATCH", "/schedules/nightly", json={"schedule": "30 * * * *"})
        refused = problem_of(await here.ask("POST", f"/proposals/{made['id']}:approve"), 409)
        assert refused["detail"].startswith("the world has changed since it was proposed. Then: pause nightly")
        assert not await is_paused(here)
        await here.post(f"/proposals/{made['id']}:approve", {"anyway": True})
        assert await is_paused(here)


@pytest.mark.parametrize(
    ("act", "target", "arguments", "says"),
    [
        ("resume", "nightly", {}, "resume nightly: up to"),
        ("reschedule", "nightly", {"to": "10m"}, "1 start would be added"),
        ("skip", "nightly", {"slot": "2026-01-01T05:00:00Z"}, "1 start would not come"),
        ("skip", "nightly", {"slot": "2026-01-01T05:00:00Z", "undo": True}, "is not to be skipped"),
        ("trigger", "nightly", {"params": {"table": "users"}}, "one run of nightly would start now; none of its"),
        ("backfill", "nightly", {"start": "2025-12-31T20:00:00Z", "end": "2025-12-31T23:00:00Z"}, "3 slots from"),
        ("cancel", "{run}", {}, "cancel 1: run 1 of nightly is queued"),
        ("retry", "{run}", {}, "retry 1: run 1 of nightly is queued"),
    ],
)
@patiently
async def test_every_act_tells_its_effect(act: str, target: str, arguments: dict[str, Any], says: str) -> None:
    """And is done, or is refused as the act itself would be: then the proposal has failed."""
    async with api() as here:
        await here.post("/schedules", HOURLY)
        run = "" if "{run}" not in target else (await here.post("/schedules/nightly:trigger"))["id"]
        body = {"act": act, "target": target.format(run=run), "arguments": arguments}
        answer = await here.ask("POST", "/proposals", json=body)
        if answer.status_code != 201:
            assert says in problem_of(answer, answer.status_code)["detail"]
            return
        made = answer.json()
        assert says in made["effect"]["text"], made["effect"]["text"]
        done = await here.ask("POST", f"/proposals/{made['id']}:approve")
        state = (await here.get(f"/proposals/{made['id']}"))["state"]
        assert (done.status_code, state) == ((409, "failed") if act == "retry" else (200, "approved")), done.text


@patiently
async def test_what_cannot_be_proposed_is_refused() -> None:
    """A schedule that is not there, an argument too many, a secret in the params, and too many at once."""
    async with api() as here:
        await here.post("/schedules", HOURLY)
        for body, status, says in (
            ({"act": "pause", "target": "nigthly"}, 404, "did you mean nightly?"),
            ({"act": "explode", "target": "nightly"}, 422, "act"),
            ({"act": "pause", "target": "nightly", "arguments": {"untill": "2h"}}, 422, "arguments.untill"),
            ({"act": "pause", "target": "nightly", "arguments": {"until": "2020-01-01T00:00:00Z"}}, 422, "passed"),
            (
                {"act": "trigger", "target": "nightly", "arguments": {"params": {"api_key": "k"}}},
                422,
                "cannot hold secrets",
            ),
        ):
            assert says in problem_of(await here.ask("POST", "/proposals", json=body), status)["detail"]
        assert (await here.get("/proposals"))["items"] == []
        for _ in range(100):
            await proposed(here)
        assert (
            "100 proposals are open"
            in problem_of(await here.ask("POST", "/proposals", json={"act": "pause", "target": "nightly"}), 409)[
                "detail"
            ]
        )
        problem_of(await here.ask("GET", "/proposals/nobody"), 404)


@patiently
async def test_the_role_of_the_approver_counts() -> None:
    """A viewer may propose and not approve; an operator of other jobs sees nothing of it."""
    async with api() as inside:
        await inside.post("/schedules", HOURLY)
        tokens = {
            role: await inside.token(role, *scopes)
            for role, scopes in ((AccessRole.VIEWER, ()), (AccessRole.OPERATOR, ("other*",)))
        }
        admin = await inside.token(AccessRole.ADMIN)
        async with here_over(inside) as here:
            body = {"act": "pause", "target": "nightly"}
            made = await here.ask("POST", "/proposals", json=body, token=tokens[AccessRole.VIEWER])
            assert made.status_code == 201
            path = f"/proposals/{made.json()['id']}"
            problem_of(await here.ask("POST", f"{path}:approve", token=tokens[AccessRole.VIEWER]), 403)
            problem_of(await here.ask("POST", f"{path}:approve", token=tokens[AccessRole.OPERATOR]), 404)
            listed = await here.ask("GET", "/proposals", token=tokens[AccessRole.OPERATOR])
            assert listed.json()["items"] == []
            assert (await here.ask("POST", f"{path}:approve", token=admin)).json()["decided_by"] == "admin 0"


@asynccontextmanager
async def here_over(inside: Api) -> AsyncIterator[Api]:
    """The same API for people who connect with tokens."""
    app = make_api(inside.tickwise, access=AuthSettings())
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 50_000))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8484") as client:
        yield replace(inside, app=app, client=client)


@patiently
async def test_a_rule_of_the_settings_approves(monkeypatch: pytest.MonkeyPatch) -> None:
    """`[mcp] approve = ["pause"]`: at once, for an agent whose own role may do it; other acts wait."""
    async with api() as inside:
        await inside.post("/schedules", HOURLY)
        settings = replace(inside.tickwise.settings, mcp=frozenset({ProposedAct.PAUSE}))
        monkeypatch.setattr(inside.tickwise, "settings", settings)
        viewer, operator = await inside.token(AccessRole.VIEWER), await inside.token(AccessRole.OPERATOR)
        async with here_over(inside) as here:
            body = {"act": "pause", "target": "nightly"}
            assert (await here.ask("POST", "/proposals", json=body, token=viewer)).json()["state"] == "open"
            told = (await here.ask("POST", "/proposals", json=body, token=operator)).json()
            assert (told["state"], told["decided_by"], told["note"]) == (
                "approved", "operator 0", "by the rule [mcp] approve",
            )  # fmt: skip
            body = {"act": "resume", "target": "nightly"}
            assert (await here.ask("POST", "/proposals", json=body, token=operator)).json()["state"] == "open"
        assert await is_paused(inside)
