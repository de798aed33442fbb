"""Who may pass which route: every route with every role, and with none."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tickwise.api import routes
from tickwise.api.auth_settings import AuthSettings
from tickwise.api.context import RequestContext
from tickwise.api.routes import PREFIX, all_routes
from tickwise.api.routing import GuardedRoute, Route
from tickwise.app.attempts import AttemptSecret
from tickwise.stores.access_records import AccessRole

from ..support.api import NIGHTLY, api, problem_of
from ..support.app import patiently

RANK = list(AccessRole)
NOBODY = AuthSettings()
WHO_MAY = {
    "GET /schedules": "viewer",
    "POST /schedules": "admin",
    "GET /schedules/{name}": "viewer",
    "PATCH /schedules/{name}": "admin",
    "DELETE /schedules/{name}": "admin",
    "GET /schedules/{name}/why": "viewer",
    "GET /schedules/{name}/what-if": "viewer",
    "POST /schedules/{name}/replay": "viewer",
    "GET /schedules/{name}/decisions": "viewer",
    "GET /schedules/{name}/events": "viewer",
    "POST /schedules/{name}/events": "operator",
    "POST /schedules/{name}:pause": "operator",
    "POST /schedules/{name}:resume": "operator",
    "POST /schedules/{name}:trigger": "operator",
    "POST /schedules/{name}:reschedule": "operator",
    "POST /schedules/{name}:skip": "operator",
    "POST /schedules/{name}:reset": "operator",
    "POST /schedules/{name}:adopt": "operator",
    "POST /schedules/{name}:seen": "operator",
    "GET /shadow": "viewer",
    "GET /schedules/{name}/shadow": "viewer",
    "POST /schedules/{name}/shadow:adopt": "operator",
    "POST /schedules/{name}/shadow:resume": "operator",
    "POST /schedules/{name}:backfill": "operator",
    "GET /schedules/{name}/backfill": "viewer",
    "DELETE /schedules/{name}/backfill": "operator",
    "POST /schedules:pause": "operator",
    "POST /schedules:resume": "operator",
    "POST /schedules:adopt": "operator",
    "POST /schedules:trigger": "operator",
    "GET /runs": "viewer",
    "POST /runs": "operator",
    "GET /runs/{run}": "viewer",
    "POST /runs/{run}:cancel": "operator",
    "POST /runs/{run}:retry": "operator",
    "POST /runs/{run}:approve": "operator",
    "POST /runs/{run}:reject": "operator",
    "GET /runs/{run}/why": "viewer",
    "GET /runs/{run}/attempts": "viewer",
    "GET /runs/{run}/steps": "viewer",
    "GET /runs/{run}/logs": "viewer",
    "GET /proposals": "viewer",
    "POST /proposals": "viewer",
    "GET /proposals/{proposal}": "viewer",
    "POST /proposals/{proposal}:approve": "operator",
    "POST /proposals/{proposal}:reject": "operator",
    "GET /sources": "viewer",
    "POST /sources:move": "admin",
    "POST /sources:remove": "admin",
    "POST /jobs:remove-orphaned": "admin",
    "GET /jobs": "viewer",
    "GET /jobs/{name}": "viewer",
    "GET /upcoming": "viewer",
    "GET /forecast": "viewer",
    "GET /timeline": "viewer",
    "GET /hours": "viewer",
    "GET /decisions": "viewer",
    "GET /deadlines": "viewer",
    "GET /reasons": "viewer",
    "GET /templates": "viewer",
    "POST /preview": "viewer",
    "GET /definitions/schema": "viewer",
    "POST /definitions:check": "viewer",
    "POST /definitions:try": "admin",
    "POST /simulate": "viewer",
    "GET /workers": "viewer",
    "GET /blackouts": "viewer",
    "GET /blackouts/{name}": "viewer",
    "POST /blackouts": "operator",
    "PUT /blackouts/{name}": "operator",
    "DELETE /blackouts/{name}": "operator",
    "GET /calendars": "viewer",
    "GET /calendars/{name}": "viewer",
    "GET /calendars/{name}/days": "viewer",
    "POST /calendars:preview": "viewer",
    "PUT /calendars/{name}": "admin",
    "POST /calendars/{name}:expand": "admin",
    "DELETE /calendars/{name}": "admin",
    "GET /queues": "viewer",
    "PUT /queues/{name}": "admin",
    "POST /queues/{name}:pause": "operator",
    "POST /queues/{name}:resume": "operator",
    "POST /jobs/{name}:cancel": "operator",
    "DELETE /jobs/{name}": "admin",
    "GET /pause": "viewer",
    "PUT /pause": "operator",
    "DELETE /pause": "operator",
    "GET /overview": "viewer",
    "GET /me": "viewer",
    "GET /attention": "viewer",
    "GET /runs:facets": "viewer",
    "POST /runs:retry": "operator",
    "POST /runs:cancel": "operator",
    "GET /slots": "viewer",
    "GET /schedules/{name}/slots": "viewer",
    "GET /doctor": "operator",
    "POST /notifications:test": "admin",
    "GET /events": "viewer",
    "POST /links": "admin",
    "GET /tokens": "admin",
    "POST /tokens": "admin",
    "DELETE /tokens/{token}": "admin",
    "GET /audit": "admin",
    "POST /attempts/{reference}/begin": "ticket",
    "POST /attempts/{reference}/alive": "claim",
    "POST /attempts/{reference}/report": "claim",
    "POST /attempts/{reference}/finish": "claim",
}
ENDLESS = "/events"
_THINGS = {"name": "nightly", "run": "1", "token": "nobodys", "reference": "1.1", "proposal": "nobodys"}


def _api_routes() -> Iterator[tuple[str, Route]]:
    for prefix, route in all_routes():
        if prefix == PREFIX:
            yield f"{route.method} {route.path.replace(':name', '')}", route


def _routes_of_people() -> Iterator[tuple[str, Route]]:
    return ((name, route) for name, route in _api_routes() if isinstance(route.role, AccessRole))


def test_the_table_names_every_route() -> None:
    """A route that nobody has put into this table of roles does not exist, and neither does one too many."""
    assert {name: str(route.role) for name, route in _api_routes()} == WHO_MAY


@patiently
async def test_every_route_has_a_door() -> None:
    """Nothing is served that is not behind a route; nothing of the API is for everybody."""
    async with api() as here:
        assert here.app.routes
        assert all(isinstance(route, GuardedRoute) for route in here.app.routes)
        routes = [guarded.route for guarded in here.app.routes if isinstance(guarded, GuardedRoute)]
        open_to_all = [route for route in routes if route.role is None]
        assert {route.path for route in open_to_all if route.method != "GET"} == {
            "/session",
            "/sign-on:begin",
            "/sign-on:finish",
        }
        assert {"/healthz", "/readyz"} <= {route.path for route in open_to_all}
        assert not [route for prefix, route in all_routes() if prefix == PREFIX and route.role is None]


def _address(route: Route) -> str:
    return re.sub(r"{(\w+):name}", lambda found: _THINGS[found[1]], route.path)


@patiently
async def test_each_role_passes_its_doors_and_no_others() -> None:
    """A route answers 403 to every role below its own and lets the others through to what is behind it."""
    async with api() as here:
        tokens = {role: await here.token(role) for role in RANK}
        for name, route in _routes_of_people():
            for role in RANK:
                await here.ask("POST", "/schedules", json=NIGHTLY)
                may = isinstance(route.role, AccessRole) and RANK.index(role) >= RANK.index(route.role)
                if may and route.path == ENDLESS:
                    continue
                answer = await here.ask(route.method, _address(route), token=tokens[role])
                assert (answer.status_code == 403) is not may, f"{name} as {role}: {answer.text}"
                assert answer.status_code not in (401, 500), f"{name} as {role}: {answer.text}"


@patiently
async def test_no_role_of_a_person_opens_an_attempt() -> None:
    """S53: the routes of work are for a secret of its attempt: a person's token is as good as none."""
    async with api() as here:
        tokens = [await here.token(role) for role in RANK]
        routes = [route for _, route in _api_routes() if isinstance(route.role, AttemptSecret)]
        assert len(routes) == 4
        for route in routes:
            problem_of(await here.ask(route.method, _address(route)), 401)
            for token in tokens:
                problem_of(await here.ask(route.method, _address(route), token=token), 404)


@patiently
async def test_nobody_passes_without_a_token_where_none_is_trusted() -> None:
    """Without a token every route is closed, before anything of the request is looked at."""
    async with api(access=NOBODY) as here:
        for name, route in _api_routes():
            answer = await here.ask(route.method, _address(route), content=b"{not json")
            needed = "a token is" if isinstance(route.role, AccessRole) else f"the {route.role} of the attempt is"
            assert problem_of(answer, 401)["detail"].startswith(f"{needed} needed"), name
        assert (await here.client.get("/openapi.json")).status_code == 401
        assert (await here.client.get("/healthz")).status_code == 200


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("operator", 403), ("admin", 422)])
@patiently
async def test_only_an_admin_decides_what_is_executed(role: AccessRole, status: int) -> None:
    """Definitions are the admin's alone: for others the body is not even read."""
    async with api() as here:
        token = await here.token(role)
        answer = await here.ask("POST", "/schedules", token=token, json={"name": "x", "command": 7})
        problem_of(answer, status)


@patiently
async def test_what_concerns_all_jobs_is_not_for_who_sees_some() -> None:
    """A scoped operator cannot pause everything, nor see all queues, workers and metrics (B14)."""
    async with api() as here:
        scoped = await here.token(AccessRole.OPERATOR, "etl-*")
        closed = [route for _, route in _api_routes() if route.whole]
        assert {route.path for route in closed} >= {"/tokens", "/audit", "/pause", "/queues", "/workers", "/links"}
        for route in closed:
            answer = await here.ask(route.method, _address(route), token=scoped)
            detail = problem_of(answer, 403)["detail"]
            assert ("needs the role admin" if route.role is AccessRole.ADMIN else "etl-* only") in detail


def test_routes_see_the_app_and_no_store() -> None:
    """The context of a request has no store, and no route reaches for one; signing in has no context yet."""
    assert {*RequestContext._fields} == {
        "tickwise", "view", "operations", "access", "identity", "events", "forecasts",
    }  # fmt: skip
    reached = [
        f"{file.name}:{node.lineno}"
        for file in Path(routes.__path__[0]).glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in {"store", "insights"}
        and file.name not in {"session.py", "sign_on.py"}
    ]
    assert reached == []
