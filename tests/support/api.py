"""What the tests of the API share: an API in this process, people with tokens, and definitions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from fastapi import FastAPI

from tickwise.api.app import make_api
from tickwise.api.auth_settings import AuthSettings
from tickwise.api.identity import Identity, identified
from tickwise.app import AsyncTickwise
from tickwise.stores.access_records import AccessRole
from tickwise.stores.contract import Store
from tickwise.testing.conformance.world import World

from .app import Clock

INSIDE = Identity("inside", AccessRole.ADMIN)
NIGHTLY = {"name": "nightly", "schedule": "0 3 * * *", "command": "echo hi", "params": {"table": "orders"}}
PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Api:
    """An API, and a client in this process."""

    tickwise: AsyncTickwise
    app: FastAPI
    client: httpx2.AsyncClient
    clock: Clock

    async def ask(self, method: str, path: str, *, token: str | None = None, **given: Any) -> httpx2.Response:
        """A request under /api/v1."""
        headers = {**given.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        return await self.client.request(method, f"/api/v1{path}", headers=headers, **given)

    async def get(self, path: str, **given: Any) -> Any:
        """The answer to a GET that must go well."""
        answer = await self.ask("GET", path, **given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, **given: Any) -> Any:
        """The answer to a POST that must go well."""
        answer = await self.ask("POST", path, **({} if body is None else {"json": body}), **given)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    async def token(self, role: AccessRole, *scopes: str, name: str = "", **given: Any) -> str:
        """The secret of a new token."""
        body = {"name": name or f"{role} {len(scopes)}", "role": role, "scopes": list(scopes), **given}
        made: str = (await self.post("/tokens", body))["secret"]
        return made

    async def store(self) -> Store:
        return await self.tickwise.store()

    async def world(self) -> World:
        """The same store, with a worker that lives for good."""
        world = World(await self.store(), self.clock)
        await world.begin()
        return world


@asynccontextmanager
async def api(
    url: str = "memory://", access: AuthSettings | None = None, peer: str = "127.0.0.1", root_path: str = ""
) -> AsyncIterator[Api]:
    """An API over a store on a moved clock.

    Its client is an admin inside this process; with `access` it is anybody who connects from the address `peer`.
    """
    clock = Clock()
    async with AsyncTickwise(url, clock=clock) as tickwise:
        app = make_api(tickwise, access=access or AuthSettings(), root_path=root_path)
        asked = identified(app, INSIDE) if access is None else app
        transport = httpx2.ASGITransport(app=asked, client=(peer, 50_000))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield Api(tickwise, app, client, clock)


def problem_of(answer: httpx2.Response, status: int) -> dict[str, Any]:
    """The problem document of an answer that must be one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert found["detail"]
    return found
