"""Many who ask the same at once: one answer for them, and never one that is older than their question."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastapi import Response
from fastapi.responses import StreamingResponse

from tickwise.api.coalesce import Coalescer
from tickwise.stores.access_records import AccessRole
from tickwise.stores.records import Page, RunRow

from ..support.api import NIGHTLY, Api, api
from ..support.app import patiently


class Halting:
    """Lists of runs that have been read, and are not told until somebody says so."""

    def __init__(self, insights: Any) -> None:
        self._insights = insights
        self.read: list[asyncio.Event] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._insights, name)

    async def runs(self, *given: Any) -> Page[RunRow]:
        page: Page[RunRow] = await self._insights.runs(*given)
        self.read.append(asyncio.Event())
        await self.read[-1].wait()
        return page

    async def tell(self, number: int) -> None:
        """The one of this number, when it has been read."""
        await until(lambda: len(self.read) > number)
        self.read[number].set()


async def until(true: Callable[[], bool]) -> None:
    for _ in iter(true, True):
        await asyncio.sleep(0)


async def let_all_come_as_far_as_they_can() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def halted(here: Api, monkeypatch: pytest.MonkeyPatch) -> Halting:
    store = await here.store()
    slow = Halting(store.insights)
    monkeypatch.setattr(store, "insights", slow)
    return slow


def ask(here: Api, many: int, **given: Any) -> list["asyncio.Task[Any]"]:
    return [asyncio.create_task(here.get("/runs", **given)) for _ in range(many)]


@patiently
async def test_one_answer_for_all_who_asked_before_it_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person has just done is in their answer, although an older one is still being made."""
    async with api() as here:
        await here.post("/schedules", NIGHTLY)
        slow = await halted(here, monkeypatch)
        first = ask(here, 1)
        await until(lambda: len(slow.read) == 1)
        made = await here.post("/runs", {"job": "nightly"})
        later = ask(here, 5)
        await let_all_come_as_far_as_they_can()
        assert len(slow.read) == 1
        for number in range(2):
            await slow.tell(number)
        assert [page["items"] for page in await asyncio.gather(*first)] == [[]]
        pages = await asyncio.gather(*later)
        assert [[run["id"] for run in page["items"]] for page in pages] == [[made["id"]]] * 5
        assert len(slow.read) == 2


@patiently
async def test_who_asks_otherwise_or_is_another_gets_an_answer_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Scopes are kept: what two people may see can differ, whatever they ask."""
    async with api() as here:
        await here.post("/schedules", NIGHTLY)
        await here.post("/runs", {"job": "nightly"})
        blind = await here.token(AccessRole.VIEWER, "other*")
        slow = await halted(here, monkeypatch)
        asked = [*ask(here, 1), *ask(here, 1, params={"limit": 5}), *ask(here, 1, token=blind)]
        await until(lambda: len(slow.read) == 3)
        for number in range(3):
            await slow.tell(number)
        assert [len(page["items"]) for page in await asyncio.gather(*asked)] == [1, 1, 0]


@patiently
async def test_a_token_that_is_revoked_while_it_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests share the lookup of their token, and none that came after the revocation gets in."""
    async with api() as here:
        made = await here.post("/tokens", {"name": "ci", "role": "viewer"})
        access = (await here.store()).access
        find, found = access.token, list[asyncio.Event]()

        async def held(digest: str) -> Any:
            token = await find(digest)
            found.append(asyncio.Event())
            await found[-1].wait()
            return token

        monkeypatch.setattr(access, "token", held)
        first = [asyncio.create_task(here.ask("GET", "/me", token=made["secret"]))]
        await until(lambda: len(found) == 1)
        await access.revoke(made["id"])
        later = [
            asyncio.create_task(here.ask("GET", f"/runs?limit={n + 1}", token=made["secret"])) for n in range(3)
        ]
        await let_all_come_as_far_as_they_can()
        assert len(found) == 1
        monkeypatch.undo()
        found[0].set()
        assert [answer.status_code for answer in await asyncio.gather(*first, *later)] == [200, 401, 401, 401]


@pytest.mark.parametrize("ends", ["fails", "is cancelled", "streams"])
@patiently
async def test_what_cannot_be_shared_is_made_by_each(ends: str) -> None:
    """An answer that fails, or is sent piece by piece, is nobody else's."""
    sharing, begin = Coalescer[Response](lambda made: hasattr(made, "body")), asyncio.Event()
    made: list[Response] = []

    async def first() -> Response:
        await begin.wait()
        return Response("first")

    async def leading() -> Response:
        if ends == "fails":
            raise ValueError(ends)
        if ends == "is cancelled":
            await asyncio.Event().wait()
        return StreamingResponse(iter(()))

    async def own() -> Response:
        made.append(Response("own"))
        return made[-1]

    async def answer(make: Callable[[], Awaitable[Response]]) -> Response:
        return await sharing.answer("question", make)

    before = asyncio.create_task(answer(first))
    await let_all_come_as_far_as_they_can()
    leader, *others = (asyncio.create_task(answer(make)) for make in (leading, own, own))
    await let_all_come_as_far_as_they_can()
    begin.set()
    await before
    await let_all_come_as_far_as_they_can()
    leader.cancel()
    assert [one in made for one in await asyncio.gather(*others)] == [True, True]
    assert len(made) == 2
    await asyncio.wait([leader])
    assert (await answer(own)) is made[-1], "nothing is left of it"
