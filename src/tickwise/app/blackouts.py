"""`tw.blackouts`: windows in which schedules rest (S62)."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice, pairwise
from typing import TypeAlias, TypedDict, Unpack

from ..core.blackout import Blackout, BlackoutWindow, begun, blackouts_of, rest_end, window_at
from ..core.cron import Recurrence, parse
from ..core.cron.recurrences import At
from ..core.cron.zone import zone
from ..core.errors import ConflictError, InputError, NotFoundError, did_you_mean, nearest_word
from ..core.timeparse import format_duration, iso, parse_duration, to_datetime
from ..stores.blackouts import read_blackouts, write_blackouts
from ..stores.contract import Store
from ..stores.records import MICRO
from .options import When
from .values import as_second, instant

OpenStore: TypeAlias = Callable[[], Awaitable[Store]]
_CHECKED_WINDOWS = 50  # of a new recurrence, that must not overlap
_KEPT_SECONDS = 7 * 86_400  # a blackout that is over is listed so long


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackoutInfo:
    """A blackout, with times as datetimes."""

    name: str
    jobs: tuple[str, ...]  # patterns
    labels: tuple[str, ...]  # `key`, or `key=value`
    reason: str
    by: str
    cron: str | None  # when its windows begin; none: there is one
    timezone: str
    length: str  # of a window
    active: bool  # a window is on
    start: datetime | None  # of the window that is on, or comes next; none: it is over
    end: datetime | None
    since: datetime  # it was written then

    @classmethod
    def of(cls, blackout: Blackout, now: int) -> "BlackoutInfo":
        window = blackout.next_window(now)
        return cls(
            name=blackout.name, jobs=blackout.jobs, labels=blackout.labels, reason=blackout.reason,
            by=blackout.by, cron=blackout.label or None, timezone=blackout.opens.zone.name,
            length=format_duration(blackout.length), active=window is not None and window.start <= now,
            start=window and instant(window.start), end=window and instant(window.end),
            since=to_datetime(blackout.since),
        )  # fmt: skip


class BlackoutFields(TypedDict, total=False):
    """What is said of a blackout."""

    start: When | None
    end: When | None
    cron: str | None
    length: str | None
    timezone: str
    jobs: Sequence[str]
    labels: Sequence[str]
    reason: str


class Blackouts:
    """Blackouts by name."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    async def list(self) -> list[BlackoutInfo]:
        """In order of their names; those that ended within a week too."""
        store = await self._store()
        now = await store.now() // MICRO
        return [BlackoutInfo.of(each, now) for each in (await read_blackouts(store)).blackouts]

    async def get(self, name: str) -> BlackoutInfo:
        known = await self.list()
        found = next((each for each in known if each.name == name), None)
        if found is None:
            near = nearest_word(name, [each.name for each in known])
            raise NotFoundError(f"there is no blackout {name[:100]!r}{did_you_mean(near)}", nearest=near)
        return found

    async def add(
        self, name: str, *, by: str = "", replace: bool = False, **fields: Unpack[BlackoutFields]
    ) -> BlackoutInfo:
        """Let jobs by name or label rest from `start` to `end`, or for a `length` whenever `cron` says.

        Jobs are patterns such as `etl-*`; labels are `key` or `key=value`. Without a start it begins now.
        """
        if unknown := fields.keys() - BlackoutFields.__annotations__.keys():
            field = min(unknown)
            near = nearest_word(field, BlackoutFields.__annotations__)
            raise InputError(
                f"blackout {name}: {field!r} is no field of a blackout{did_you_mean(near)}", field=field
            )
        store = await self._store()
        opens, length = _times(name, fields, await store.now() // MICRO)
        jobs, labels = tuple(fields.get("jobs", ())), tuple(fields.get("labels", ()))
        new = Blackout(
            name, opens, length, jobs, labels, reason=fields.get("reason", ""), by=by,
            label=fields.get("cron") or "",
        )  # fmt: skip
        await write_blackouts(store, partial(_with, new, replace=replace))
        return await self.get(name)

    async def remove(self, name: str) -> BlackoutInfo:
        """End it now: what rests by it goes on (S29). What it was."""
        was = await self.get(name)
        await write_blackouts(await self._store(), partial(_without, name))
        return was


def _times(name: str, fields: BlackoutFields, now: int) -> tuple[Recurrence, int]:
    """When windows begin, and how long each is."""
    start, end, length = fields.get("start"), fields.get("end"), fields.get("length")
    cron, timezone = fields.get("cron"), fields.get("timezone", "UTC")
    if cron is None:
        return _single(start, end, length, timezone, now)
    if length is None or start is not None or end is not None:
        raise InputError("with a cron text, give the length of each window, and neither start nor end")
    opens, seconds = parse(cron, timezone, name), parse_duration(length)
    _check_gaps(name, opens, seconds, now)
    return opens, seconds


def _single(start: When | None, end: When | None, length: str | None, timezone: str, now: int) -> tuple[At, int]:
    if (end is None) is (length is None):
        raise InputError("give the end of the window or its length; or a cron text and a length", field="end")
    first = now if start is None else as_second(start, now)
    last = first + parse_duration(length) if length is not None else as_second(end, now)
    if last <= max(first, now):
        raise InputError(f"the window ends at {iso(last)}: give an end after {iso(max(first, now))}", field="end")
    return At((first,), zone(timezone)), last - first


def _openings(opens: Recurrence, now: int) -> Iterator[int]:
    second = opens.after(now)
    while second is not None:
        yield second
        second = opens.after(second)


def _check_gaps(name: str, opens: Recurrence, length: int, now: int) -> None:
    """Refuse windows of which each begins in the one before: another length was meant."""
    for one, other in pairwise(islice(_openings(opens, now), _CHECKED_WINDOWS)):
        if other - one < length:
            raise InputError(
                f"blackout {name}: a window of {format_duration(length)} from {iso(one)} on is still on when the "
                f"next begins at {iso(other)}: shorten it",
                field="length",
            )


def _with(new: Blackout, known: Sequence[Blackout], now: int, *, replace: bool) -> list[Blackout]:
    others = [each for each in known if each.name != new.name and _is_kept(each, now)]
    old = next((each for each in known if each.name == new.name), None)
    if old and not replace and not old.over(now):
        raise ConflictError(f"there is a blackout {new.name}: remove it first, or replace it")
    return [*others, begun(new, now)]


def _without(name: str, known: Sequence[Blackout], now: int) -> list[Blackout]:
    return [each for each in known if each.name != name and _is_kept(each, now)]


def _is_kept(blackout: Blackout, now: int) -> bool:
    end = blackout.last_end(now)
    return not blackout.over(now) or (end is not None and end > now - _KEPT_SECONDS)


async def active_blackouts(store: Store, now: int) -> tuple[BlackoutInfo, ...]:
    """Those of which a window is on."""
    known = (BlackoutInfo.of(each, now) for each in (await read_blackouts(store)).blackouts)
    return tuple(each for each in known if each.active)


async def window_of_job(store: Store, job: str) -> BlackoutWindow | None:
    """The window in which a job rests now."""
    listed = (await read_blackouts(store)).blackouts
    row = await store.insights.job(job) if listed else None
    if row is None:
        return None
    now = await store.now() // MICRO
    found = window_at(own := blackouts_of(listed, job, row.definition.labels, now), now)
    return found and found._replace(end=rest_end(own, now) or found.end)


async def refuse_in_blackout(store: Store, job: str) -> None:
    """Refuse what a person starts while the job rests (S62)."""
    if window := await window_of_job(store, job):
        raise ConflictError(
            f"{job} rests until {iso(window.end)}, by the blackout {window.detail}: trigger it after that, or say "
            "that it may run in the blackout (in_blackout, --in-blackout)"
        )
