"""Runs by a query: found, counted, and acted upon all at once."""

from typing import Any

import pytest

from tickwise.core.settle import Failed
from tickwise.stores.access_records import AccessRole

from ..support.api import Api, api, problem_of
from ..support.app import patiently

PROBE = {
    "name": "probe",
    "command": "true",
    "schedule": "@yearly",
    "params": {"order": "x", "password": "hunter2"},
}
LOAD = {
    "name": "load",
    "command": "true",
    "schedule": "@yearly",
    "labels": {"team": "billing"},
    "params": {"table": "t"},
}


async def _play(here: Api) -> dict[str, str]:
    """Three failures of the probe, two of them alike; one of the load; and one of each that is queued."""
    for job in (PROBE, LOAD):
        await here.post("/schedules", job)
    world, ids = await here.world(), {}
    errors = {
        "first": "HTTPError: 502 for order 7\nmore",
        "second": "HTTPError: 503 for order 12",
        "third": "boom",
    }
    for name, error in errors.items():
        ids[name] = (await here.post("/runs", {"job": "probe", "params": {"order": name}}))["id"]
        await world.end(await world.start(), Failed(), error=error)
        here.clock.advance(600)
    ids["load"] = (await here.post("/runs", {"job": "load"}))["id"]
    await world.end(await world.start(), Failed(), error="LedgerMismatch: none")
    ids["queued"] = (await here.post("/runs", {"job": "probe"}))["id"]
    return ids


async def _found(here: Api, q: str, **more: Any) -> list[str]:
    return [run["id"] for run in (await here.get("/runs", params={"q": q, **more}))["items"]]


@patiently
async def test_runs_by_a_query(url: str) -> None:
    """States, errors, labels, patterns, params, times and words, alone and together."""
    async with api(url) as here:
        ids = await _play(here)
        for q, names in {
            "state:failed": "load third second first", "-state:failed": "queued", "error:Ledger*": "load",
            "label:team=billing": "load",
            "job:pro*": "queued third second first", "job:probe,load state:queued": "queued",
            "params:second": "second", "params:ord*third": "third", "last 15m state:failed": "load third",
            "until:15m": "second first", "boom": "third", "HTTPError 503": "second", "schedule:none*": "",
            "job:nobody": "", 'error:"502 for"': "first", "state:failed error:boom label:team": "",
        }.items():  # fmt: skip
            assert await _found(here, q) == [ids[name] for name in names.split()], q
        assert await _found(here, "job:probe", state="queued") == [ids["queued"]]
        assert await _found(here, "state:failed", sort="oldest", limit=2) == [ids["first"], ids["second"]]
        assert await _found(here, "state:failed", sort="last_finished", limit=1) == [ids["load"]]


@patiently
async def test_pages_of_a_query(url: str) -> None:
    """Each run once, whether the store or the app has compared it."""
    async with api(url) as here:
        ids = await _play(here)
        for q in ("state:failed job:probe", "params:order state:failed"):
            found, after = [], ""
            while after is not None:
                page = await here.get("/runs", params={"q": q, "limit": 1} | ({"after": after} if after else {}))
                found += [run["id"] for run in page["items"]]
                after = page["next"]
            assert found == [ids["third"], ids["second"], ids["first"]]


@patiently
async def test_what_is_hidden_is_not_found(url: str) -> None:
    """The value of a password cannot be guessed letter by letter: it is compared as it is shown."""
    async with api(url) as here:
        await _play(here)
        await here.post("/runs", {"job": "probe", "params": {"password": "hunter2"}})
        for q in ("params:hunter2", "params:hunt*", "hunter2"):
            assert await _found(here, q) == []
            assert (await here.get("/runs:facets", params={"q": q}))["count"] == 0
        assert len(await _found(here, "params:password")) == 1


@patiently
async def test_facets_and_groups_by_error(url: str) -> None:
    """Counts by value; errors that differ in numbers only are one, with a query that finds them."""
    async with api(url) as here:
        ids = await _play(here)
        found = await here.get("/runs:facets", params={"q": "job:*"})
        assert (found["count"], found["exact"]) == (5, True)
        assert (found["state"], found["job"]) == ({"failed": 4, "queued": 1}, {"probe": 4, "load": 1})
        assert (found["trigger"], found["queue"], found["schedule"]) == ({"enqueue": 5}, {"default": 5}, {})
        worst = found["errors"][0]
        assert (worst["job"], worst["count"], worst["run"]) == ("probe", 2, ids["second"])
        assert (worst["error"], worst["last_at"]) == ("HTTPError: 503 for order 12", "2026-01-01T00:10:00Z")
        assert await _found(here, worst["q"]) == [ids["second"], ids["first"]]
        assert (await here.get("/runs:facets", params={"q": "params:second"}))["state"] == {"failed": 1}


@patiently
async def test_scopes_hide_the_runs_of_other_jobs() -> None:
    """In pages, counts, errors and acts."""
    async with api() as here:
        ids = await _play(here)
        token = await here.token(AccessRole.OPERATOR, "load")
        found = await here.get("/runs:facets", token=token)
        assert (found["count"], [error["job"] for error in found["errors"]]) == (1, ["load"])
        assert [run["id"] for run in (await here.get("/runs?q=state:failed", token=token))["items"]] == [
            ids["load"]
        ]
        dry = await here.post("/runs:retry", {"q": "state:failed", "dry_run": True}, token=token)
        assert dry["runs"] == [ids["load"]]


@pytest.mark.parametrize(
    ("q", "position", "nearest"), [("stat:failed", 0, "state"), ("a state:faild", 8, "failed")]
)
@patiently
async def test_a_query_that_cannot_be_used(q: str, position: int, nearest: str) -> None:
    """422 with the place and the word that was meant, wherever a query is taken."""
    async with api() as here:
        for answer in (
            await here.ask("GET", "/runs", params={"q": q}),
            await here.ask("GET", "/runs:facets", params={"q": q}),
            await here.ask("POST", "/runs:retry", json={"q": q, "dry_run": True}),
        ):  # fmt: skip
            wrong = problem_of(answer, 422)
            assert (wrong["field"], wrong["position"], wrong["nearest"]) == ("q", position, nearest)


@patiently
async def test_filters_that_contradict_each_other_or_have_no_pages() -> None:
    """They are refused, since an empty page would look like an answer."""
    async with api() as here:
        problem_of(await here.ask("GET", "/runs?q=state:failed&state=queued"), 422)
        problem_of(await here.ask("GET", "/runs?q=queue:a&queue=b"), 422)
        problem_of(await here.ask("GET", "/runs?q=&sort=longest&after=1"), 422)
        problem_of(await here.ask("GET", "/runs?sort=shortest"), 422)
        assert (await here.get("/runs?q=queue:a&queue=a&sort=longest"))["items"] == []


@patiently
async def test_all_that_match_are_retried_once_confirmed(url: str) -> None:
    """First what would be hit, then exactly that, with one entry in the audit."""
    async with api(url) as here:
        ids = await _play(here)
        q = {"q": "job:probe"}
        dry = await here.post("/runs:retry", {**q, "dry_run": True})
        assert (dry["count"], dry["left_out"], dry["done"]) == (3, 1, None)
        assert dry["runs"] == [ids["third"], ids["second"], ids["first"]]
        assert (await here.get("/runs:facets?q=state:failed"))["count"] == 4
        done = await here.post("/runs:retry", {**q, "confirm": dry["confirm"]})
        assert (done["count"], done["done"], done["items"]) == (3, 3, [])
        assert (await here.get("/runs:facets"))["state"] == {"queued": 4, "failed": 1}
        (entry,) = [each for each in (await here.get("/audit"))["items"] if each["action"] == "runs.retry"]
        assert (entry["before"], entry["after"]["runs"]) == (q, dry["runs"])
        again = await here.ask("POST", "/runs:retry", json={**q, "confirm": dry["confirm"]})
        assert "look again" in problem_of(again, 409)["detail"]


@patiently
async def test_nothing_else_is_hit_than_was_shown(url: str) -> None:
    """A run that is new since the dry run is left alone; if one of those shown has changed, nothing happens."""
    async with api(url) as here:
        ids = await _play(here)
        q = {"q": "job:probe last 1h"}
        dry = await here.post("/runs:cancel", {**q, "dry_run": True})
        assert dry["runs"] == [ids["queued"]]
        here.clock.advance(60)
        new = (await here.post("/runs", {"job": "probe"}))["id"]
        wrong = await here.ask("POST", "/runs:retry", json={**q, "confirm": dry["confirm"]})
        problem_of(wrong, 409)
        done = await here.post("/runs:cancel", {**q, "confirm": dry["confirm"]})
        assert done["done"] == 1
        assert (await here.get(f"/runs/{new}"))["state"] == "queued"
        dry = await here.post("/runs:cancel", {**q, "dry_run": True})
        await here.post(f"/runs/{new}:cancel")
        problem_of(await here.ask("POST", "/runs:cancel", json={**q, "confirm": dry["confirm"]}), 409)


@pytest.mark.parametrize(
    "body",
    [
        {"q": "job:probe"}, {"q": "", "dry_run": True}, {"q": "job:probe", "confirm": "x"}, {"dry_run": True},
        {"q": "job:probe", "confirm": "1-x", "dry_run": True}, {"q": "a\0", "dry_run": True},
        {"q": "job:probe", "confirm": "9" * 30 + "-retry-x"},
    ],
)  # fmt: skip
@patiently
async def test_an_act_on_all_that_is_not_asked_for_well(body: dict[str, Any]) -> None:
    """It is refused, and nothing is done."""
    async with api() as here:
        await _play(here)
        problem_of(await here.ask("POST", "/runs:retry", json=body), 422)
        assert (await here.get("/runs:facets"))["state"] == {"failed": 4, "queued": 1}
