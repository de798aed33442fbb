"""Callers that enqueue at the same moment share a move, and none of them suffers from another."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tickwise import AsyncTickwise, InputError, RunInfo
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.records import Enqueue, Enqueued

from ..support.app import patiently


class HeldMoves:
    """Enqueues of a store: the first waits until it is let go, and all are counted by their runs."""

    def __init__(self, enqueue: Callable[..., Any]) -> None:
        self._enqueue = enqueue
        self.begun, self.let_go = asyncio.Event(), asyncio.Event()
        self.sizes: list[int] = []

    async def __call__(self, asked: Sequence[Enqueue], connection: Any = None) -> tuple[Enqueued, ...]:
        self.sizes.append(len(asked))
        self.begun.set()
        await self.let_go.wait()
        made: tuple[Enqueued, ...] = await self._enqueue(asked, connection)
        return made


async def defined(app: AsyncTickwise) -> Store:
    @app.job()
    def send(order: int) -> None: ...

    return await app.store()


async def enqueue_beside_one(
    app: AsyncTickwise, moves: HeldMoves, *others: dict[str, Any]
) -> list["asyncio.Task[RunInfo]"]:
    """One that is being enqueued, and others that come meanwhile: each a params with options."""
    first = asyncio.create_task(app.enqueue("send", {"order": 0}))
    await moves.begun.wait()
    tasks = [asyncio.create_task(app.enqueue("send", **each)) for each in others]
    await let_all_come_as_far_as_they_can()
    return [first, *tasks]


async def let_all_come_as_far_as_they_can() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


def order(number: Any, **options: Any) -> dict[str, Any]:
    return {"params": {"order": number}, **options}


async def held(app: AsyncTickwise, monkeypatch: pytest.MonkeyPatch) -> HeldMoves:
    store = await defined(app)
    moves = HeldMoves(store.enqueue)
    monkeypatch.setattr(store, "enqueue", moves)
    return moves


@patiently
async def test_those_that_come_meanwhile_are_one_move(app: AsyncTickwise, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first goes at once; the others go together, in their order, and each gets its own run."""
    async with app:
        moves = await held(app, monkeypatch)
        tasks = await enqueue_beside_one(app, moves, *(order(n) for n in range(1, 6)))
        assert moves.sizes == [1]
        moves.let_go.set()
        runs = await asyncio.gather(*tasks)
        assert moves.sizes == [1, 5]
        assert [run.params for run in runs] == [{"order": n} for n in range(6)]
        assert [run.id for run in runs] == [run.id for run in reversed(await app.runs.list())]


@patiently
async def test_a_run_is_as_it_is_read_later(app: AsyncTickwise) -> None:
    """What `enqueue` returns is what anybody reads of the new run, without another read."""
    async with app:
        await defined(app)
        made = await app.enqueue("send", {"order": (1, 2)}, queue="fast", priority=3, key="k", at="10m")
        assert made == (await app.runs.list())[0]
        assert (made.params, made.state, made.attempt) == ({"order": [1, 2]}, "queued", 0)


@patiently
async def test_one_that_is_refused_alone(app: AsyncTickwise, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong one gets its error, and those of the same moment get their runs, once each."""
    async with app:
        moves = await held(app, monkeypatch)
        wrong = {"params": {"oder": 1}}
        tasks = await enqueue_beside_one(app, moves, order(1), wrong, order(2, key="k"), order(3, key="k"))
        moves.let_go.set()
        first, one, refused, two, same = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(refused, InputError)
        assert "oder (did you mean order?)" in str(refused)
        assert isinstance(first, RunInfo) and isinstance(one, RunInfo)  # noqa: PT018  (for the type checker)
        assert isinstance(two, RunInfo) and isinstance(same, RunInfo)  # noqa: PT018
        assert two.id == same.id, "S48: one run has a key, also of those that come together"
        assert {run.id for run in await app.runs.list()} == {first.id, one.id, two.id}


@patiently
async def test_one_that_was_given_up(app: AsyncTickwise, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that goes away before its run was asked for leaves none; one that goes later holds up nobody."""
    async with app:
        moves = await held(app, monkeypatch)
        tasks = await enqueue_beside_one(app, moves, order(1), order(2))
        tasks[0].cancel()
        tasks[1].cancel()
        await let_all_come_as_far_as_they_can()
        moves.let_go.set()
        run = await tasks[2]
        assert moves.sizes == [1, 1]
        assert [each.params for each in await app.runs.list()] == [run.params, {"order": 0}]
        assert (await app.enqueue("send", {"order": 4})).params == {"order": 4}


@patiently
async def test_a_store_that_does_not_answer(app: AsyncTickwise, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the group are told so and nothing is tried again, because it may have been made; the next go on."""
    async with app:
        store = await defined(app)
        enqueue, asked = store.enqueue, list[int]()

        async def unavailable(requests: Sequence[Enqueue], connection: Any = None) -> tuple[Enqueued, ...]:
            asked.append(len(requests))
            if len(requests) > 1:
                raise StoreUnavailableError("the store did not answer")
            return await enqueue(requests, connection)

        monkeypatch.setattr(store, "enqueue", unavailable)
        calls = (app.enqueue("send", {"order": n}) for n in range(4))
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(one, StoreUnavailableError) for one in ended)
        assert asked == [4]
        assert (await app.enqueue("send", {"order": 9})).params == {"order": 9}
