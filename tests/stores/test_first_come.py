"""Names of tokens and keys of claims, wanted by several processes' connections at the same moment."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tickwise.core.errors import ConflictError
from tickwise.stores.access_contract import Access
from tickwise.stores.access_records import AccessRole, IdempotencyClaim, Token
from tickwise.stores.contract import Store
from tickwise.stores.url import open_store
from tickwise.testing import FakeClock
from tickwise.testing.conformance.world import START, microseconds

from .test_conformance import URLS

RIVALS, ROUNDS = 4, 10


@pytest.fixture(params=[name for name in URLS if name != "memory"])
def url(request: pytest.FixtureRequest) -> str:
    return URLS[request.param](request)


def _together(
    url: str, act: Callable[[int, int, Access], Awaitable[Any]], clock: FakeClock | None = None
) -> list[list[Any]]:
    """What each rival gets in each round; they have a store of their own, and begin a round together."""

    async def compete(stores: list[Store]) -> list[list[Any]]:
        await stores[0].schema.upgrade()
        return [
            await asyncio.gather(*(act(number, turn, store.access) for number, store in enumerate(stores)))
            for turn in range(ROUNDS)
        ]

    async def with_stores() -> list[list[Any]]:
        time = None if clock is None else lambda: microseconds(clock)
        stores = [open_store(url, time) for _ in range(RIVALS)]
        try:
            return await compete(stores)
        finally:
            for store in stores:
                await store.close()

    return asyncio.run(with_stores())


def test_a_key_is_claimed_by_one(url: str) -> None:
    """Exactly one gets it, and all others learn the mark of that one."""
    rounds = _together(url, lambda number, turn, access: access.claim(f"k{turn}", str(number), 60))
    for claims in rounds:
        assert claims.count(None) == 1
        assert {claim for claim in claims if claim} == {IdempotencyClaim(str(claims.index(None)))}


def test_a_claim_that_ran_out_goes_to_one(url: str) -> None:
    """Who comes after that is again one, however many ask."""
    clock = FakeClock(START)
    _together(url, lambda _, turn, access: access.claim(f"k{turn}", "vanished", 60), clock)
    clock.advance(60)
    for claims in _together(url, lambda number, turn, access: access.claim(f"k{turn}", str(number), 60), clock):
        assert claims.count(None) == 1
        assert {claim for claim in claims if claim} == {IdempotencyClaim(str(claims.index(None)))}


def test_a_name_is_of_one_token(url: str) -> None:
    """Exactly one is issued; the others are told that there is one."""

    async def issue(number: int, turn: int, access: Access) -> bool:
        try:
            await access.issue(Token(f"{turn}-{number}", f"bot {turn}", AccessRole.VIEWER), f"{turn}-{number}")
        except ConflictError:
            return False
        return True

    assert [sum(issued) for issued in _together(url, issue)] == [1] * ROUNDS
