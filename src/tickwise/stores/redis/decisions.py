"""Decisions: why slots got no run, or what they wait for.

A decision is a field `REASON FIRST` of the hash of its schedule. Three sorted sets have its name `SCHEDULE
REASON FIRST`: in the order of pages (the newest slots first), by its last slot, and by when it was made or
extended.
"""

from collections.abc import AsyncIterator, Iterable, Sequence

from ...core.reasons import Reason
from ..decision_order import decision_matches, decision_place
from ..pages import decision_page
from ..records import DecisionFilter, DecisionKey, DecisionRow, Page
from .base import RedisServer

_BATCH_SIZE, _MAX_SORTED = 500, 20_000


async def decisions_of(server: RedisServer, schedule: str) -> list[DecisionRow]:
    """All of a schedule."""
    found: dict[str, str] = await server.command("HGETALL", server.key("decisions", schedule))
    return [decision_row(schedule, field, text) for field, text in found.items()]


def decision_row(schedule: str, field: str, text: str) -> DecisionRow:
    reason, first = field.rsplit(" ", 1)
    last, count, made_at, extended_at, detail = text.split(" ", 4)
    return DecisionRow(
        schedule, Reason.of(reason), int(first), int(last), int(count), detail, int(made_at), int(extended_at)
    )


async def decision_rows(server: RedisServer, members: Sequence[str]) -> list[DecisionRow]:
    """Decisions by their names, in order."""
    if not members:
        return []
    texts = await server.call("decisions", members=list(members))
    named = [member.split(" ", 1) for member in members]
    return [
        decision_row(schedule, field, text) for (schedule, field), text in zip(named, texts, strict=True) if text
    ]


async def decisions(
    server: RedisServer, wanted: DecisionFilter, after: DecisionKey | None, limit: int
) -> Page[DecisionRow]:
    found: list[DecisionRow] = []
    async for row in _candidates(server, wanted, after):
        if decision_matches(row, wanted) and (
            after is None or decision_place(row) > (-after.first, after.schedule, after.reason)
        ):
            found.append(row)
            if len(found) > limit:
                break
    if len(found) <= limit:
        return Page(tuple(found))
    last = found[limit - 1]
    return Page(tuple(found[:limit]), decision_page(DecisionKey(last.first, last.schedule, last.reason.code)))


async def _candidates(
    server: RedisServer, wanted: DecisionFilter, after: DecisionKey | None
) -> AsyncIterator[DecisionRow]:
    """At least those that match, in the order of pages: of the schedule, about late slots, or all."""
    if wanted.schedule is not None:
        for row in sorted(await decisions_of(server, wanted.schedule), key=decision_place):
            yield row
        return
    since = max((s for s in (wanted.since, wanted.slot) if s is not None), default=None)
    by_last = server.key("decisions_last")
    if since is not None and await server.command("ZCOUNT", by_last, since, "+inf") <= _MAX_SORTED:
        members = await server.command("ZRANGE", by_last, since, "+inf", "BYSCORE")
        for row in sorted(await decision_rows(server, members), key=decision_place):
            yield row
        return
    place, first = await _first_place(server, wanted, after), 0
    while members := await server.command(
        "ZRANGE", server.key("decisions"), place + first, place + first + _BATCH_SIZE - 1
    ):
        for row in await decision_rows(server, members):
            yield row
        first += len(members)


async def _first_place(server: RedisServer, wanted: DecisionFilter, after: DecisionKey | None) -> int:
    """From where on to read: behind the page before, and not before the first slot that may match."""
    places = [0]
    if after is not None:
        member = f"{after.schedule} {after.reason} {after.first}"
        places.append(await server.command("ZRANK", server.key("decisions"), member) or 0)
        places.append(await server.command("ZCOUNT", server.key("decisions"), "-inf", f"({-after.first}"))
    latest = min(
        (s for s in (wanted.slot, None if wanted.until is None else wanted.until - 1) if s is not None),
        default=None,
    )
    if latest is not None:
        places.append(await server.command("ZCOUNT", server.key("decisions"), "-inf", f"({-latest}"))
    return max(places)


def in_order(rows: Iterable[DecisionRow]) -> list[DecisionRow]:
    """By when they were made or extended."""
    return sorted(rows, key=lambda row: (row.extended_at, decision_place(row)))
