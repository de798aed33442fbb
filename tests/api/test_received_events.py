"""Hooks and events: signed calls that are stored before they are answered, and what became of each (S70, S71)."""

import asyncio
import hmac
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tickwise.api.auth_settings import AuthSettings
from tickwise.app import AsyncTickwise

from ..support.api import NIGHTLY, Api, api, problem_of
from ..support.app import Clock, patiently

DEPLOY = {"name": "deploy", "on_event": {"hook": {"signed_with": "hook"}}, "command": "true"}
SECRET = b"a long secret"


def signature(body: bytes, secret: bytes = SECRET) -> str:
    return hmac.new(secret, body, sha256).hexdigest()


async def call(
    here: Api, body: bytes, name: str = "deploy", signed: str | bytes | None = None, **headers: str
) -> httpx2.Response:
    given: dict[str, Any] = {"content-type": "application/json", **headers}
    given["x-tickwise-signature"] = signature(body) if signed is None else signed
    return await here.client.post(f"/hooks/{name}", content=body, headers=given)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A secret of the settings, and one that is not to be had."""
    monkeypatch.setenv("HOOK_SECRET", SECRET.decode())
    monkeypatch.setenv("TICKWISE_SECRETS", 'hook = "env:HOOK_SECRET"\nlost = "env:NO_SUCH_VARIABLE"')
    monkeypatch.chdir(tmp_path)


@patiently
async def test_a_signed_call_is_stored_and_runs(url: str) -> None:
    """S70: accepted means stored; a repeat, and sixteen at once, get the same answer and are one event."""
    async with api(url) as here:
        await here.post("/schedules", DEPLOY)
        world = await here.world()
        body = b'{"commit": "abc", "password": "hush"}'
        answers = await asyncio.gather(*(call(here, body) for _ in range(16)))
        assert {answer.status_code for answer in answers} == {202}
        told = {answer.text for answer in answers}
        assert len(told) == 1
        accepted = answers[0].json()
        assert accepted["schedule"] == "deploy"
        [event] = (await here.get("/schedules/deploy/events"))["items"]
        assert (event["state"], event["source"], event["key"]) == ("waiting", "webhook", accepted["key"])
        assert event["data"]["commit"] == "abc"
        assert "hush" not in json.dumps(event)
        await world.tick()
        [run] = (await here.get("/runs"))["items"]
        assert (run["schedule"], run["params"], run["trigger_label"]) == (
            "deploy",
            {},
            "schedule:on event (webhook)",
        )
        assert run["events"][0]["key"] == accepted["key"]
        assert "hush" not in json.dumps(run)
        await world.work()
        [event] = (await here.get("/schedules/deploy/events"))["items"]
        assert (event["state"], event["run"]) == ("ran", run["id"])
        assert (await call(here, body)).text == told.pop()
        shown = await here.get("/schedules/deploy")
        assert (shown["waits_for_events"], shown["finished"], shown["next_run_at"]) == (True, False, None)
        assert shown["definition"]["on_event"] == DEPLOY["on_event"]
        why = await here.get(f"/schedules/deploy/why?slot={event['slot']}")
        assert (why["verdict"], why["run"]) == ("fired", run["id"])


@patiently
async def test_a_wrong_call_changes_nothing_and_learns_nothing() -> None:
    """A wrong signature and a hook that is not there get one answer; what is large, deep or odd is refused."""
    async with api() as here:
        await here.post("/schedules", DEPLOY)
        await here.post("/schedules", {**NIGHTLY})
        await here.post("/schedules", {**DEPLOY, "name": "lost", "on_event": {"hook": {"signed_with": "lost"}}})
        wrong = [
            await call(here, b"{}", signed=given)
            for given in ("", "é".encode(), signature(b"{}", b""), signature(b"{} "), "0" * 64)
        ]
        wrong += [await call(here, b"{}", name) for name in ("nightly", "nobody")]
        details = {problem_of(answer, 401)["detail"] for answer in wrong}
        assert len(details) == 1
        assert problem_of(await call(here, b"{}", "lost"), 503)["detail"].startswith("the secret of lost")
        for body, status in [
            (b"x" * 65_537, 413), (b"[" * 30_000, 422), (b"[" * 60 + b"]" * 60, 422), (b"{", 422), (b"\xff", 422),
            (b'{"n": NaN}', 422), (b"9" * 5_000, 422), (b'"\\ud800"', 422),
        ]:  # fmt: skip
            problem_of(await call(here, body), status)
        assert (await here.get("/schedules/deploy/events"))["items"] == []
        many = json.dumps({f"k{n}": 0 for n in range(5_000)}).encode()
        assert len(many) < 65_536
        assert (await call(here, many)).status_code == 202


@patiently
async def test_wrong_signatures_are_counted() -> None:
    """An address that guesses is told to wait, whichever hook it guesses at."""
    async with api(access=AuthSettings(), peer="192.0.2.1") as here:
        statuses = [(await call(here, b"{}", name="nobody")).status_code for _ in range(40)]
        assert statuses[0] == 401
        assert statuses[-1] == 429


@patiently
async def test_the_key_of_a_call() -> None:
    """S70: a header of the sender, a header or a path that the hook names, else the body's digest."""
    async with api() as here:
        hooks = {"sent": {"sender": "github"}, "head": {"key": "header:X-Id"}, "path": {"key": "json:a.id"}}
        for name, hook in hooks.items():
            await here.post(
                "/schedules", {**DEPLOY, "name": name, "on_event": {"hook": {"signed_with": "hook", **hook}}}
            )
        body = b'{"a": {"id": 7}}'
        signed = {"x-hub-signature-256": f"sha256={signature(body)}", "x-github-delivery": "d1"}
        assert (await call(here, body, "sent", **signed)).json()["key"] == "d1"
        problem_of(await call(here, body, "sent"), 401)
        assert (await call(here, body, "head", **{"x-id": "h" * 100})).json()["key"].startswith("sha256:")
        assert "X-Id is missing" in problem_of(await call(here, body, "head"), 422)["detail"]
        assert (await call(here, body, "path")).json()["key"] == "7"
        assert "no text or number at a.id" in problem_of(await call(here, b'{"a": 1}', "path"), 422)["detail"]
        text = await call(here, b"plain", "head", **{"x-id": "t", "content-type": "text/plain"})
        assert text.json()["key"] == "t"
        assert (await here.get("/schedules/head/events"))["items"][0]["data"] == "plain"


@patiently
async def test_a_person_sends_an_event(url: str) -> None:
    """With and without a key; who sent it is in the audit, and a schedule of times takes none."""
    async with api(url) as here:
        await here.post("/schedules", {**DEPLOY, "on_event": {"coalesce": {"quiet": "30s", "at_most": "5m"}}})
        await here.post("/schedules", NIGHTLY)
        sent = await here.ask("POST", "/schedules/deploy/events", json={"key": "k1", "data": [1]})
        assert (sent.status_code, sent.json()["key"]) == (202, "k1")
        await here.ask("POST", "/schedules/deploy/events")
        events = (await here.get("/schedules/deploy/events"))["items"]
        assert [event["state"] for event in events] == ["collecting", "collecting"]
        assert "closes at" in events[0]["text"]
        problem_of(await here.ask("POST", "/schedules/nightly/events", json={}), 409)
        problem_of(await here.ask("GET", "/schedules/nightly/events"), 409)
        problem_of(await here.ask("POST", "/schedules/deploy/events", json={"key": ""}), 422)
        actions = [row["action"] for row in (await here.get("/audit?subject=deploy"))["items"]]
        assert actions[:2] == ["event.send", "event.send"]
        world = await here.world()
        world.go("01:00")
        await world.tick()
        [run] = (await here.get("/runs"))["items"]
        assert [event["data"] for event in run["events"]] == [[1], None]


@patiently
async def test_a_full_inbox_says_when_to_come_back() -> None:
    """S70: what is not stored is not accepted."""
    async with api() as here:
        await here.post("/schedules", DEPLOY)
        big = json.dumps("x" * 60_000).encode()
        answers = [await call(here, big, **{"x-tickwise-key": str(n)}) for n in range(5)]
        assert [answer.status_code for answer in answers] == [202, 202, 202, 202, 429]
        assert answers[-1].headers["retry-after"] == "60"
        assert len((await here.get("/schedules/deploy/events"))["items"]) == 4


@patiently
async def test_an_app_sends_events_and_functions_see_them(url: str) -> None:
    """S71: `run.events` has key, time, source and data of each."""
    seen: list[Any] = []
    async with AsyncTickwise(url, clock=Clock()) as tickwise:

        @tickwise.job(on_event={})
        def deploy(run: Any) -> None:
            seen.append((run.events[0]["key"], run.events[0]["data"], dict(run.params)))

        sent = await tickwise.events.send("deploy", {"n": 1}, key="k1")
        assert (await tickwise.events.send("deploy", {"n": 1}, key="k1")) == sent
        assert await tickwise.drain() == 1
        assert seen == [("k1", {"n": 1}, {})]
        [info] = await tickwise.events.list("deploy")
        assert (info.key, info.state, info.data) == ("k1", "ran", {"n": 1})
