"""The API and the page inside another application, and the scheduler as a dependency."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from tickwise import AsyncTickwise, ConflictError, Tickwise
from tickwise.api.token_file import digest
from tickwise.app.records import AccessRole, Token
from tickwise.asgi import api_app
from tickwise.fastapi import Scheduler

from ..support.app import patiently

SECRET = "a-token-of-this-test"  # noqa: S105
WITH_TOKEN = {"Authorization": f"Bearer {SECRET}"}


@asynccontextmanager
async def shop(tw: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an application in which the API is mounted."""
    app = FastAPI(lifespan=tw.lifespan)

    @app.post("/orders/{order}")
    async def place(order: int, scheduler: Scheduler) -> str:
        return (await scheduler.enqueue("ship", {"order": order})).id

    app.mount("/admin/jobs", api_app(tw))
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


async def issue(tw: AsyncTickwise, role: AccessRole) -> None:
    await (await tw.store()).access.issue(Token(id="t", name="ada", role=role), digest(SECRET))


@pytest.mark.parametrize("face", [AsyncTickwise, Tickwise])
@patiently
async def test_the_page_and_the_api_work_under_a_path(face: type[Any]) -> None:
    """Under the prefix of the mount: the page, its files, the API, the health; and a path without a slash."""
    tw = face("memory://")
    tw.job("0 3 * * *", name="ship")(lambda order=0: order)
    async with shop(tw) as client:
        await issue(getattr(tw, "awaited", tw), AccessRole.VIEWER)
        page = await client.get("/admin/jobs/")
        assert page.status_code == 200
        names = re.findall(r'(?:src|href)="(assets/[^"]+)"', page.text)
        assert names
        assert {(await client.get(f"/admin/jobs/{name}")).status_code for name in names} == {200}
        assert (await client.get("/admin/jobs")).headers["location"].endswith("/admin/jobs/")
        assert (await client.get("/admin/jobs/readyz")).json() == {"status": "ready"}
        listed = await client.get("/admin/jobs/api/v1/schedules", headers=WITH_TOKEN)
        assert [one["name"] for one in listed.json()["items"]] == ["ship"]


@patiently
async def test_a_mounted_api_denies_by_default() -> None:
    """Without a token nobody has a role there; a viewer changes nothing; a foreign host name is refused."""
    tw = AsyncTickwise("memory://", hosts=["shop.example.com"])
    tw.job("0 3 * * *", name="ship")(lambda order=0: order)
    async with shop(tw) as client:
        await issue(tw, AccessRole.VIEWER)
        path = "/admin/jobs/api/v1/schedules"
        assert (await client.get(path)).status_code == 401
        assert (await client.post(f"{path}/ship:pause", headers=WITH_TOKEN)).status_code == 403
        for host, status in (("evil.example.com", 403), ("shop.example.com", 200)):
            assert (await client.get(path, headers={**WITH_TOKEN, "Host": host})).status_code == status


@patiently
async def test_the_scheduler_is_a_dependency() -> None:
    """An endpoint gets the scheduler whose lifespan the application has."""
    tw = AsyncTickwise("memory://")
    tw.job(name="ship")(lambda order=0: order)
    async with shop(tw) as client:
        run = (await client.post("/orders/7")).json()
        assert (await tw.runs.get(run)).params == {"order": 7}


@patiently
async def test_an_application_without_a_scheduler_says_what_is_missing() -> None:
    """The dependency names the argument of FastAPI that is missing."""
    app = FastAPI()
    found = []

    @app.get("/")
    async def look(tw: Scheduler) -> None: ...

    async def catching(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except ConflictError as error:
            found.append(str(error))

    transport = httpx2.ASGITransport(app=catching, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        await client.get("/")
    assert found == ["this application has no scheduler: make it with FastAPI(lifespan=tw.lifespan)"]


@patiently
async def test_a_bare_mount_redirects_to_its_slash() -> None:
    """In a framework that passes the path without a slash on, the page would look for its files elsewhere."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/jobs", "root_path": "/jobs", "headers": []}
    await api_app(AsyncTickwise("memory://"))(scope, lambda: None, send)  # type: ignore[arg-type, return-value]
    assert (sent[0]["status"], dict(sent[0]["headers"])[b"location"]) == (307, b"/jobs/")
