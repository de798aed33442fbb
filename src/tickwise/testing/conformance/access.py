"""Tokens of the API, the audit log, and idempotency claims."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ...core.errors import ConflictError, InputError
from ...stores.access_contract import Access
from ...stores.access_records import AccessRole, AuditEntry, CalendarRow, IdempotencyClaim, Token
from ...stores.pages import all_pages
from ...stores.records import MICRO
from .stories import Stories
from .world import World

BOT = Token("t1", "bot", AccessRole.OPERATOR, ("etl-*", "report"))
DONE = AuditEntry("ann", "pause", "schedule a", {"paused": None}, {"paused": {"by": "ann"}})
WRONG_TOKENS: list[tuple[Token, str]] = [
    *((replace(BOT, name=bad), "d") for bad in ("", "a\0b", "a\ud800", "x" * 101)),
    *((replace(BOT, id=bad), "d") for bad in ("", "a\0b", "x" * 201)),
    *((replace(BOT, scopes=("a", bad)), "d") for bad in ("", "a\0b", "x" * 201)),
    (replace(BOT, role=AccessRole.ADMIN), "d"),  # with scopes (B12)
    (replace(BOT, scopes=("a", "admin:a")), "d"),  # of a higher role
    *((BOT, bad) for bad in ("", "a\0b", "x" * 201)),
    *((replace(BOT, expires_at=bad), "d") for bad in (-1, 10**30)),
    (replace(BOT, role="boss"), "d"),  # type: ignore[arg-type]  # (that is what is wrong with it)
]
WRONG: dict[str, Callable[[Access, Any], Awaitable[Any]]] = {
    "who": lambda access, bad: access.record([DONE, DONE._replace(who=bad)]),
    "action": lambda access, bad: access.record([DONE, DONE._replace(action=bad)]),
    "subject": lambda access, bad: access.record([DONE, DONE._replace(subject=bad)]),
    "key": lambda access, bad: access.claim(bad, "m", 30),
    "mark": lambda access, bad: access.claim("k", bad, 30),
    "answer": lambda access, bad: access.answer("k", bad * 2_000),
    "key of an answer": lambda access, bad: access.answer(bad, "x"),
}


class TokenStories(Stories):
    async def test_a_token_is_found_by_its_digest(self, world: World) -> None:
        """As it was issued, at the store's time whatever its maker says (S5); another digest finds nothing."""
        access, expiry = world.store.access, world.micro + 5
        issued = await access.issue(
            replace(BOT, created_at=7, expires_at=expiry, revoked_at=1, used_at=2), "digest"
        )
        assert issued == replace(BOT, created_at=world.micro, expires_at=expiry)
        assert await access.tokens() == (issued,)
        world.go("01:00")
        assert await access.token("digest") == replace(issued, used_at=world.micro)
        assert [await access.token(other) for other in ("Digest", "", "d\0", "\ud800", "x" * 999)] == [None] * 5

    async def test_use_is_noted_once_a_minute(self, world: World) -> None:
        """So that a busy token costs no write for each request."""
        access, began = world.store.access, world.micro
        await access.issue(BOT, "digest")
        seen = []
        for second in (0, 59, 60, 61, 125):
            world.go(f"00:{second // 60:02}:{second % 60:02}")
            await access.token("digest")
            seen.append((await access.tokens())[0].used_at)
        assert [None if at is None else (at - began) // MICRO for at in seen] == [0, 0, 60, 60, 125]

    async def test_a_name_is_of_one_token_at_a_time(self, world: World) -> None:
        """It is refused while a token that is not revoked has it, and free again afterwards."""
        access = world.store.access
        await access.issue(BOT, "one")
        for other, digest in (
            (replace(BOT, id="t2"), "two"),
            (BOT, "two"),
            (replace(BOT, id="t2", name="b"), "one"),
        ):
            with pytest.raises(ConflictError):
                await access.issue(other, digest)
        assert [token.id for token in await access.tokens()] == ["t1"]
        world.go("00:01")
        revoked = await access.revoke("t1")
        await access.issue(replace(BOT, id="t0"), "two")
        assert (revoked.revoked_at, await access.token("one")) == (
            world.micro,
            replace(revoked, used_at=world.micro),
        )
        assert [token.id for token in await access.tokens()] == ["t1", "t0"]

    async def test_a_token_is_revoked_once(self, world: World) -> None:
        """To do it again changes nothing; what never was cannot be revoked."""
        access = world.store.access
        await access.issue(BOT, "one")
        revoked = await access.revoke("t1")
        world.go("01:00")
        assert await access.revoke("t1") == revoked
        for bad in ("t2", "", "a\0b", "x" * 999):
            with pytest.raises(InputError, match="there is no token"):
                await access.revoke(bad)

    async def test_tokens_that_cannot_be(self, world: World) -> None:
        """What cannot be kept is refused, and nothing of it is."""
        access = world.store.access
        assert await world.not_refused(lambda bad: access.issue(*bad), WRONG_TOKENS) == []
        assert await access.tokens() == ()

    async def test_one_name_for_two_tokens_at_once(self, world: World) -> None:
        """Of many processes that issue a token of one name at the same moment, one is first."""
        access = world.store.access
        tried = [access.issue(replace(BOT, id=f"t{n}"), f"digest {n}") for n in range(8)]
        issued = await asyncio.gather(*tried, return_exceptions=True)
        assert sorted(type(one).__name__ for one in issued) == ["ConflictError"] * 7 + ["Token"]
        assert len(await access.tokens()) == 1


class AuditStories(Stories):
    async def test_what_was_done(self, world: World) -> None:
        """Newest first, at the store's time, as it was recorded; of one subject, if that is asked for."""
        access = world.store.access
        other = AuditEntry("bob", "cancel", "run 7")
        await access.record([DONE, other])
        world.go("00:01")
        await access.record([DONE])
        await access.record([])
        rows = (await access.audit()).items
        assert [row[2:] for row in rows] == [DONE, other, DONE]
        assert [world.micro - row.at for row in rows] == [0, 60 * MICRO, 60 * MICRO]
        assert [row.who for row in (await access.audit("run 7")).items] == ["bob"]
        assert [(await access.audit(bad)).items for bad in ("none", "\0", "x" * 999)] == [()] * 3

    async def test_pages_of_it(self, world: World) -> None:
        """Pages do not shift while entries are added; only keys that a page gave are accepted."""
        access = world.store.access
        for number in range(5):
            await access.record([DONE._replace(action=str(number)), DONE._replace(subject="other")])
        page = await access.audit("schedule a", limit=2)
        await access.record([DONE])
        rest = await all_pages(lambda after: access.audit("schedule a", after or page.after, 2))
        assert [row.action for row in (*page.items, *rest)] == ["4", "3", "2", "1", "0"]
        assert (
            await world.not_refused(lambda bad: access.audit(after=bad), ["abc", "\0", "[1]", "-1", "9" * 40])
            == []
        )
        assert await world.not_refused(lambda bad: access.audit(limit=bad), (0, -1, 10**9)) == []

    async def test_values_that_are_too_large_or_no_json(self, world: World) -> None:
        """What was done is kept all the same, with a note in the place of the value."""
        access = world.store.access
        for bad in ("x" * 10**6, "x" * 10**7, {"a": object()}, math.nan, ["\0"]):
            await access.record([DONE._replace(before=bad, after={"b": [1, None, 2.5, "ü"]})])
            ((row, *_), _) = await access.audit(limit=1)
            assert (row.before[:9], row.after) == ("not kept:", {"b": [1, None, 2.5, "ü"]})
            assert len(row.before) < 2_000

    @pytest.mark.parametrize("what", WRONG)
    async def test_words_that_cannot_be_kept(self, world: World, what: str) -> None:
        """NUL, half a character, or far too long: refused, and nothing of the rest is kept."""
        access = world.store.access
        assert await world.not_refused(partial(WRONG[what], access), ("a\0b", "a\ud800", "x" * 1_001)) == []
        assert ((await access.audit()).items, await access.claim("k", "free", 30)) == ((), None)


class ClaimStories(Stories):
    async def test_first_come_first_served(self, world: World) -> None:
        """The first claim of a key returns none; all others return that claim, with its answer if there is one."""
        access = world.store.access
        assert await access.claim("k", "mine", 30) is None
        assert await access.claim("k", "yours", 30) == IdempotencyClaim("mine")
        assert await access.claim("other", "yours", 30) is None
        await access.answer("k", '{"id": 7}')
        await access.answer("k", "too late")
        await access.answer("unknown", "nobody asked")
        assert await access.claim("k", "mine", 30) == IdempotencyClaim("mine", '{"id": 7}')
        assert await access.claim("unknown", "mine", 30) is None

    async def test_a_claim_runs_out(self, world: World) -> None:
        """A claim that is not answered in time is lost to the next caller; an answer stays."""
        access = world.store.access
        await access.claim("k", "first", 30)
        await access.claim("answered", "first", 30)
        await access.answer("answered", "")
        world.clock.advance(29)
        assert await access.claim("k", "second", 30) == IdempotencyClaim("first")
        world.clock.advance(1)
        assert await access.claim("k", "second", 30) is None
        assert await access.claim("k", "third", 30) == IdempotencyClaim("second")
        assert await access.claim("answered", "second", 30) == IdempotencyClaim("first", "")

    async def test_a_claim_is_forgotten(self, world: World) -> None:
        """A day later the key is free, whether the claim was answered or not."""
        access = world.store.access
        await access.claim("k", "first", 86_400)
        await access.answer("k", "answer")
        world.go("2T00:00")
        assert await access.claim("k", "second", 30) == IdempotencyClaim("first", "answer")
        world.go("2T00:01")
        assert await access.claim("k", "second", 30) is None
        assert await access.claim("k", "third", 30) == IdempotencyClaim("second")

    async def test_many_at_once(self, world: World) -> None:
        """Exactly one of them is first, and all others return the same claim."""
        access = world.store.access
        claims = await asyncio.gather(*(access.claim("k", f"m{n}", 30) for n in range(16)))
        assert claims.count(None) == 1
        assert [claim for claim in claims if claim] == [IdempotencyClaim(f"m{claims.index(None)}")] * 15

    async def test_times_that_cannot_be(self, world: World) -> None:
        """A claim is held for a while, but for no longer than it is remembered."""
        access = world.store.access
        assert await world.not_refused(lambda bad: access.claim("k", "m", bad), (0, -1, 86_401, 10**30)) == []
        assert await access.claim("k", "free", 30) is None


class CalendarStories(Stories):
    async def test_a_calendar_is_written_over_the_revision_that_was_read(self, world: World) -> None:
        """S60: of two that change it at once one is first, and the other learns that."""
        access = world.store.access
        assert await access.calendars() == ()
        await access.keep_calendar("office", "one", 0)
        await access.keep_calendar("free", "a 1 \u2603", 0)
        await access.keep_calendar("office", "two", 1)
        assert await access.calendars() == (CalendarRow("free", "a 1 \u2603", 1), CalendarRow("office", "two", 2))
        for text, over in (("three", 0), ("three", 1), (None, 1), ("three", 3)):
            with pytest.raises(ConflictError, match="the calendar office was changed by somebody else"):
                await access.keep_calendar("office", text, over)
        await access.keep_calendar("free", None, 1)
        with pytest.raises(ConflictError, match="the calendar free"):
            await access.keep_calendar("free", "late", 1)
        assert await access.calendars() == (CalendarRow("office", "two", 2),)
        await access.keep_calendar("free", "again", 0)
        assert [row.name for row in await access.calendars()] == ["free", "office"]

    async def test_one_of_many_writes_a_calendar(self, world: World) -> None:
        """S60: a race for a new calendar and one for a known one has one winner each."""
        access = world.store.access
        for over in (0, 1):
            tries = (access.keep_calendar("office", str(n), over) for n in range(8))
            results = await asyncio.gather(*tries, return_exceptions=True)
            assert sum(result is None for result in results) == 1
            assert all(result is None or isinstance(result, ConflictError) for result in results)

    @pytest.mark.parametrize(
        ("name", "text", "over"),
        [("", "x", 0), ("a b", "x", 0), ("x" * 101, "x", 0), ("a", "x\0", 0), ("a", "x", -1), ("a", None, 0)],
    )
    async def test_what_is_no_calendar_is_refused(
        self, world: World, name: str, text: str | None, over: int
    ) -> None:
        """S60: and nothing is kept."""
        with pytest.raises(InputError):
            await world.store.access.keep_calendar(name, text, over)
        assert await world.store.access.calendars() == ()
