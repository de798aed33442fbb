"""Roles on the jobs of one team: every route, asked by people and tokens that may see or change only some jobs."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2
import pytest

from tickwise.api.auth_settings import AuthSettings
from tickwise.api.routes import PREFIX, all_routes
from tickwise.api.routing import Route
from tickwise.api.token_file import digest
from tickwise.core.settle import Failed
from tickwise.role_grants import granted_role, read_grants
from tickwise.sign_on_settings import read_trusted_header
from tickwise.stores.access_records import AccessRole, Token

from ..support.api import Api, api, problem_of
from ..support.app import patiently

ROLES: dict[str, Any] = {
    "admin": ["platform"],
    "operator": [{"group": "team-a", "jobs": ["team-a.*"]}],
    "viewer": ["all", {"group": "guest-of-a", "jobs": "team-a.*"}],
}
ACCESS = AuthSettings(
    trusted_header=read_trusted_header(
        {"user": "Remote-User", "groups": "Groups", "from": "10.0.0.7", "roles": ROLES}
    )
)
OTHERS = re.compile("team-b|hush")  # what a person of team A does not see
NAME, SIBLING = "team-b.secret", "team-b.secrets"  # the second is what a wrong name is nearest to
SPAN = {"start": "2024-01-01T00:00:00Z", "end": "2024-01-02T00:00:00Z"}
BODIES: dict[str, dict[str, Any]] = {
    "POST /runs": {"job": NAME}, "POST /schedules:pause": {"names": [NAME, SIBLING]},
    "POST /schedules:resume": {"names": [NAME]}, "POST /schedules:trigger": {"names": [NAME]},
    "POST /schedules:adopt": {"ticking": "local"}, "POST /schedules/{name}:adopt": {"ticking": "local"},
    "POST /schedules/{name}:reschedule": {"to": "1h"}, "POST /schedules/{name}:skip": {"slot": "1h"},
    "POST /schedules/{name}/replay": {"start": "2026-01-01T00:00:00Z"},
    "POST /proposals": {"act": "trigger", "target": NAME, "reason": "try"},
    "POST /schedules/{name}:backfill": SPAN, "PUT /queues/{name}": {"limit": 1},
    "POST /runs:cancel": {"q": "state:queued", "dry_run": True},
    "POST /runs:retry": {"q": "state:failed", "dry_run": True},
    "POST /preview": {"definition": {"schedule": "0 3 * * *", "command": "true"}},
}  # fmt: skip


class TwoTeams(NamedTuple):
    """Two teams with a job each, runs of both, and people who may see or change some of them."""

    api: Api
    runs: dict[str, str]  # by job
    people: dict[str, dict[str, str]]  # headers
    proposal: str  # about the other team's job


@asynccontextmanager
async def two_teams() -> AsyncIterator[TwoTeams]:
    async with api(access=ACCESS, peer="10.0.0.7") as here:
        people = {name: {"Remote-User": name, "Groups": name} for name in ("team-a", "guest-of-a", "team-a,all")}
        boss = {"Remote-User": "boss", "Groups": "platform"}
        access = (await here.store()).access
        for name, scopes in (("token", ("team-a.*",)), ("token of both", ("team-a.*", "viewer:*"))):
            await access.issue(Token(name, name, AccessRole.OPERATOR, scopes), digest(name))
            people[name] = {"Authorization": f"Bearer {name}"}
        runs = {}
        for job in ("team-a.nightly", NAME, SIBLING):
            body = {
                "name": job,
                "schedule": "0 3 * * *",
                "command": "true",
                "params": {"note": "hush" if job != "team-a.nightly" else ""},
            }
            assert (await here.ask("POST", "/schedules", json=body, headers=boss)).status_code == 201
            runs[job] = (await here.post(f"/schedules/{job}:trigger", headers=boss))["id"]
        await _trouble(here, runs)
        asked = {"act": "trigger", "target": NAME, "reason": "hush"}
        proposal = (await here.post("/proposals", asked, headers=boss))["id"]
        yield TwoTeams(here, runs, {**people, "boss": boss}, proposal)


async def _trouble(here: Api, runs: dict[str, str]) -> None:
    """A run of each slot fails, and one goes on while the next slot passes, which is skipped; one more waits."""
    world = await here.world()
    for _ in range(3):
        leases = await world.lease()
        here.clock.advance(86_400)
        await world.tick()
        for lease in leases:
            error = "broken" if lease.job.name == "team-a.nightly" else "hush"
            await world.end(lease, Failed(), error=error)
    for job in runs:
        await world.trigger(job, allow_overlap=True)


def _routes() -> Iterator[tuple[str, Route]]:
    for prefix, route in all_routes():
        if prefix == PREFIX and isinstance(route.role, AccessRole) and route.path != "/events":
            yield f"{route.method} {route.path.replace(':name', '')}", route


async def _ask(world: TwoTeams, name: str, route: Route, headers: dict[str, str], job: str) -> httpx2.Response:
    things = {"name": job, "run": world.runs[job], "token": "token", "proposal": world.proposal}
    path = re.sub(r"{(\w+):name}", lambda found: things[found[1]], route.path)
    body: dict[str, Any] = {"json": BODIES.get(name, {})} if route.method in ("POST", "PUT", "PATCH") else {}
    return await world.api.ask(route.method, path, headers=headers, **body)


async def _state(world: TwoTeams) -> str:
    """All that an admin sees of the other team."""
    boss = world.people["boss"]
    paths = [
        *(f"/schedules/{job}" for job in (NAME, SIBLING)),
        f"/runs/{world.runs[NAME]}",
        f"/runs?job={NAME}",
        "/pause",
    ]
    return json.dumps([await world.api.get(path, headers=boss) for path in paths])


@pytest.mark.parametrize("person", ["team-a", "guest-of-a", "token"])
@patiently
async def test_other_jobs_do_not_exist(person: str) -> None:
    """With a role on team-a.* only, each route is closed, or tells and changes nothing of other jobs."""
    async with two_teams() as world:
        before, headers = await _state(world), world.people[person]
        for name, route in _routes():
            answer = await _ask(world, name, route, headers, NAME)
            shown = (
                answer.text.replace(repr(NAME)[1:-1], "")
                if route.method != "GET" or "{" in route.path
                else answer.text
            )
            assert not OTHERS.search(shown), f"{name}: {answer.text}"
            if "{" in route.path:
                assert answer.status_code in (403, 404), f"{name}: {answer.status_code} (has it a body above?)"
            assert answer.status_code < 500, name
        assert await _state(world) == before


@pytest.mark.parametrize("person", ["team-a,all", "token of both"])
@patiently
async def test_who_sees_all_changes_some(person: str) -> None:
    """A viewer of all and operator of team-a.* reads every job and whole lists, and changes only their own."""
    async with two_teams() as world:
        before, headers = await _state(world), world.people[person]
        for name, route in _routes():
            answer = await _ask(world, name, route, headers, NAME)
            if route.role is AccessRole.VIEWER:
                assert answer.status_code not in (401, 403), f"{name}: {answer.text}"
            elif "{" in route.path or route.whole or route.role is AccessRole.ADMIN:
                assert answer.status_code in (403, 404), f"{name}: {answer.text}"
        assert await _state(world) == before
        listed = await world.api.get("/schedules", headers=headers)
        assert len(listed["items"]) == 3
        me = await world.api.get("/me", headers=headers)
        assert (me["role"], me["scopes"]) == ("operator", ["team-a.*", "viewer:*"])


@patiently
async def test_own_jobs_are_their_own() -> None:
    """What is refused for other jobs is done for those of the team, and the lists have them."""
    async with two_teams() as world:
        job = "team-a.nightly"
        for person in ("team-a", "token", "team-a,all", "token of both"):
            headers = world.people[person]
            await world.api.post(f"/schedules/{job}:pause", {}, headers=headers)
            await world.api.post(f"/schedules/{job}:resume", {}, headers=headers)
            await world.api.post("/runs", {"job": job}, headers=headers)
            for path in ("/schedules", "/jobs", "/runs", "/upcoming", "/slots"):
                assert job in json.dumps(await world.api.get(path, headers=headers)), f"{path} for {person}"
        guest = world.people["guest-of-a"]
        assert (await world.api.ask("POST", f"/schedules/{job}:pause", json={}, headers=guest)).status_code == 403
        assert len((await world.api.get("/schedules", headers=guest))["items"]) == 1


@patiently
async def test_an_act_on_all_that_match_is_on_ones_own() -> None:
    """Whoever sees all jobs and operates some cancels, of all queued runs, those that they operate."""
    async with two_teams() as world:
        before, headers = await _state(world), world.people["team-a,all"]
        assert (await world.api.get("/runs?state=queued", headers=headers))["items"][0]["job"] == SIBLING
        asked = await world.api.post("/runs:cancel", {"q": "state:queued", "dry_run": True}, headers=headers)
        assert asked["count"] == 1
        body = {"q": "state:queued", "confirm": asked["confirm"]}
        assert (await world.api.post("/runs:cancel", body, headers=headers))["done"] == 1
        everything = await world.api.post(
            "/runs:cancel", {"q": "state:queued", "dry_run": True}, headers=world.people["boss"]
        )
        stolen = {"q": "state:queued", "confirm": everything["confirm"]}
        problem_of(await world.api.ask("POST", "/runs:cancel", json=stolen, headers=headers), 409)
        assert await _state(world) == before


@patiently
async def test_counts_are_of_what_is_seen() -> None:
    """Overview, facets and what needs a person count the team's jobs, and nobody else's."""
    async with two_teams() as world:
        overviews = {
            person: (await world.api.get("/overview", headers=world.people[person]))["counts"]
            for person in ("boss", "team-a,all", "team-a", "guest-of-a")
        }
        assert overviews["boss"] == overviews["team-a,all"]
        assert overviews["team-a"] == overviews["guest-of-a"] != overviews["boss"]
        facets = await world.api.get("/runs:facets", headers=world.people["team-a"])
        assert facets["job"] == {"team-a.nightly": facets["count"]}
        needs = await world.api.get("/attention", headers=world.people["team-a"])
        assert "team-a.nightly" in json.dumps(needs["items"])
        problem_of(await world.api.client.get("/metrics", headers=world.people["team-a"]), 403)


def test_a_scope_gives_no_higher_role() -> None:
    """What is granted is the highest role, with scopes of it and of lower ones; none of it is a way up."""
    grants = read_grants(ROLES)
    assert granted_role(grants, {"team-a", "platform"}) == (AccessRole.ADMIN, ())
    assert granted_role(grants, {"team-a", "all"}) == (AccessRole.OPERATOR, ("team-a.*", "viewer:*"))
    assert granted_role(grants, {"team-a", "guest-of-a"}) == (AccessRole.OPERATOR, ("team-a.*", "viewer:team-a.*"))
    assert granted_role(grants, {"nobody"}) is None
    assert granted_role(read_grants({"viewer": ["*"]}), ()) == (AccessRole.VIEWER, ())


@patiently
async def test_a_token_cannot_be_scoped_to_a_higher_role() -> None:
    """`operator:*` for a viewer is refused, and one with lower scopes only has no more than those."""
    async with api() as here:
        body = {"name": "x", "role": "viewer", "scopes": ["operator:*"]}
        assert "higher role" in problem_of(await here.ask("POST", "/tokens", json=body), 422)["detail"]
        problem_of(await here.ask("POST", "/tokens", json={**body, "scopes": ["admin:*"]}), 422)
        token = await here.token(AccessRole.OPERATOR, "viewer:*")
        assert (await here.ask("GET", "/queues", token=token)).status_code == 200
        problem_of(await here.ask("PUT", "/pause", token=token), 403)
