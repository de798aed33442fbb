"""Runs that match a query: pages of them, what they have in common, and exactly these for one act on all.

Names by patterns and labels are looked up first, so that the store compares names. The params of a run are
compared here, as they are shown: what is masked is never found.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from heapq import nlargest
from typing import Any

from ..core.errors import ConflictError, InputError
from ..core.mask import masked
from ..core.payload import encode, error_line
from ..core.run_query import RunQuery, error_pattern, matches, matches_whole, read_query
from ..core.states import RunState
from ..stores.contract import Store
from ..stores.filter_texts import has_label
from ..stores.pages import all_pages
from ..stores.records import JobRow, Page, RunFilter, RunRow
from ..stores.run_groups import group_runs
from ..stores.statistics import MOST_FREQUENT, ErrorGroup, RunKind

_PAGE_SIZE = 1_000
_MAX_SEARCHED = 10_000  # runs that are looked at here
_MAX_COUNTED = 5_000
_MAX_SORTED = 2_000
_MAX_ERRORS = 50
MAX_BULK = 1_000


def sees_all(_job: str) -> bool:
    return True


class RunOrder(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"
    LONGEST = "longest"
    LAST_FINISHED = "last_finished"


class BulkAct(StrEnum):
    RETRY = "retry"
    CANCEL = "cancel"


_CAN = {
    BulkAct.RETRY: frozenset({RunState.FAILED, RunState.LOST, RunState.CANCELLED}),
    BulkAct.CANCEL: frozenset({RunState.QUEUED, RunState.RUNNING}),
}


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """Runs of a job that failed alike; instants in microseconds."""

    job: str
    error: str  # of the newest, in a line
    count: int
    first_at: int
    last_at: int
    run: str
    q: str


@dataclass(frozen=True, slots=True)
class RunFacets:
    """What runs have in common; counts by value, the most frequent first."""

    count: int
    exact: bool  # all that match were counted
    state: dict[str, int]
    trigger: dict[str, int]
    queue: dict[str, int]
    job: dict[str, int]
    schedule: dict[str, int]
    errors: tuple[ErrorSummary, ...]


@dataclass(frozen=True, slots=True)
class BulkSelection:
    """The runs that an act on all would hit, and a text that stands for exactly these."""

    rows: tuple[RunRow, ...]
    left_out: int  # that match, and are in a state in which it cannot be done
    confirm: str


class RunSearch:
    """Over one store; `sees` says whether the person may see a job."""

    def __init__(self, store: Store, sees: Callable[[str], bool]) -> None:
        self._store = store
        self._sees = sees

    async def page(
        self, text: str, only: RunFilter, after: str | None, limit: int, order: RunOrder = RunOrder.NEWEST
    ) -> Page[RunRow]:
        """Runs that match the query and a filter; in another order than the newest first, one page of them."""
        query, wanted = await self._filter(text, only, await self._store.now())
        if order is RunOrder.NEWEST:
            return await self._scan(query, wanted, after, limit)
        if after is not None:
            raise InputError("after: only the order `newest` has pages: raise limit", field="after")
        found = await self._scan(query, wanted, None, _MAX_SORTED)
        return Page(tuple(sorted(found.items, key=_ORDERS[order])[:limit]))

    async def facets(self, text: str, only: RunFilter) -> RunFacets:
        """Of the newest runs that match."""
        query, wanted = await self._filter(text, only, await self._store.now())
        if self._sees is not sees_all:
            seen = frozenset(
                row.definition.name for row in await self._all_jobs() if self._sees(row.definition.name)
            )
            wanted = replace(wanted, jobs=seen if wanted.jobs is None else seen & wanted.jobs)
        if query.params:
            groups = group_runs(await self._scan(query, wanted, None, _MAX_COUNTED))
        else:
            groups = await self._store.insights.run_groups(wanted, _MAX_COUNTED)
        return RunFacets(
            count=min(_MAX_COUNTED, sum(kind.runs for kind in groups.kinds)), exact=not groups.more,
            state=_counts(groups.kinds, lambda kind: kind.state),
            trigger=_counts(groups.kinds, lambda kind: kind.trigger),
            queue=_counts(groups.kinds, lambda kind: kind.queue),
            job=dict(groups.jobs), schedule=dict(groups.schedules),
            errors=tuple(_summaries(groups.errors)),
        )  # fmt: skip

    async def select(self, text: str, act: BulkAct, confirmed: str | None = None) -> BulkSelection:
        """What an act would hit now; or, once more, what was confirmed, if that is still the same."""
        at = await self._store.now() if confirmed is None else _instant_of(confirmed)
        query, wanted = await self._filter(text, RunFilter(until=at + 1), at)
        states = _CAN[act] & wanted.states if wanted.states else _CAN[act]
        found = Page[RunRow](())
        if states:
            found = await self._scan(query, replace(wanted, states=states), None, MAX_BULK)
        if found.after is not None:
            raise InputError(f"q: more than {MAX_BULK:,} runs match: narrow it, for example by time", field="q")
        digest = blake2b(" ".join(row.id for row in found.items).encode(), digest_size=16).hexdigest()
        confirm = f"{at}-{act}-{digest}"
        if confirmed not in (None, confirm):
            raise ConflictError(f"other runs match now than you have confirmed ({len(found.items)}): look again")
        matching = (await self.facets(text, RunFilter(until=at + 1))).count if confirmed is None else 0
        return BulkSelection(found.items, max(0, matching - len(found.items)), confirm)

    async def _scan(self, query: RunQuery, wanted: RunFilter, after: str | None, limit: int) -> Page[RunRow]:
        """A page of runs that are seen and have the params; it may be short, but only the last has no `after`."""
        found: list[RunRow] = []
        looked_at = 0
        while True:
            size = max(limit - len(found), _PAGE_SIZE if query.params else 1)
            page = await self._store.insights.runs(wanted, after, size)
            looked_at += len(page.items)
            kept = [row for row in page.items if self._sees(row.job) and _has_params(row, query.params)]
            room = limit - len(found)
            found += kept[:room]
            if len(kept) > room:
                return Page(tuple(found), found[-1].id)
            after = page.after
            is_short = len(page.items) < size  # the store has looked at as many as it does for one page
            if after is None or is_short or len(found) == limit or looked_at >= _MAX_SEARCHED:
                return Page(tuple(found), after)

    async def _filter(self, text: str, only: RunFilter, now: int) -> tuple[RunQuery, RunFilter]:
        """The query, and all of it that the store compares."""
        query = read_query(text, now)
        wanted = replace(
            only,
            states=_both(only.states, query.states), triggers=_both(only.triggers, query.triggers),
            queue=_one(only.queue, query.queue, "queue"), key=_one(only.key, query.key, "key"), error=query.error,
            words=query.words, since=max(_given(only.since, query.since), default=None),
            until=min(_given(only.until, query.until), default=None),
        )  # fmt: skip
        if query.schedules:
            wanted = replace(wanted, schedules=frozenset(await self._schedules(query.schedules)))
        if query.jobs or query.labels:
            wanted = replace(wanted, jobs=frozenset(await self._jobs(query)))
        return query, wanted

    async def _schedules(self, patterns: tuple[str, ...]) -> list[str]:
        if not any("*" in pattern for pattern in patterns):
            return list(patterns)
        return [name for row in await self._all_jobs() for name in row.schedules if matches_whole(patterns, name)]

    async def _jobs(self, query: RunQuery) -> list[str]:
        if not query.labels and not any("*" in pattern for pattern in query.jobs):
            return list(query.jobs)
        return [
            row.definition.name for row in await self._all_jobs()
            if (not query.jobs or matches_whole(query.jobs, row.definition.name))
            and all(has_label(row.definition.labels, label) for label in query.labels)
        ]  # fmt: skip

    async def _all_jobs(self) -> list[JobRow]:
        return await all_pages(lambda after: self._store.insights.jobs(after, _MAX_SEARCHED))


_ORDERS: dict[RunOrder, Callable[[RunRow], Any]] = {
    RunOrder.OLDEST: lambda row: int(row.id),
    RunOrder.LONGEST: lambda row: -((row.finished_at or row.started_at or 0) - (row.started_at or 0)),
    RunOrder.LAST_FINISHED: lambda row: -(row.finished_at or 0),
}


def _has_params(row: RunRow, patterns: tuple[str, ...]) -> bool:
    if not patterns:
        return True
    shown = encode(masked(dict(row.params or {})), "params")
    return all(matches(pattern, shown) for pattern in patterns)


def _both(one: frozenset[Any], other: frozenset[Any]) -> frozenset[Any]:
    """What both allow, of which an empty one allows all."""
    if one and other and not one & other:
        raise InputError("q: it contradicts the other filters: no run has both", field="q", position=0)
    return one & other if one and other else one | other


def _one(one: str | None, other: str | None, what: str) -> str | None:
    if one is not None and other is not None and one != other:
        raise InputError(f"q: {what} contradicts the other filters: no run has both", field="q", position=0)
    return other if one is None else one


def _given(*values: int | None) -> list[int]:
    return [value for value in values if value is not None]


def _counts(kinds: Iterable[RunKind], value: Callable[[RunKind], str]) -> dict[str, int]:
    found = Counter[str]()
    for kind in kinds:
        found[str(value(kind))] += kind.runs
    return dict(found.most_common(MOST_FREQUENT))


def _summaries(groups: Iterable[ErrorGroup]) -> list[ErrorSummary]:
    """Errors that differ in numbers and ids only are one."""
    patterns: dict[str, str] = {}  # many jobs fail with one text
    alike: dict[tuple[str, str], list[ErrorGroup]] = defaultdict(list)
    for group in groups:
        pattern = patterns.get(group.error)
        if pattern is None:
            pattern = patterns[group.error] = error_pattern(group.error)
        alike[group.job, pattern].append(group)
    counted = [(sum(group.runs for group in some), max(group.last_at for group in some), kind)
               for kind, some in alike.items()]  # fmt: skip
    worst = nlargest(_MAX_ERRORS, counted)
    return [_summary(*kind, alike[kind]) for _, _, kind in worst]


def _summary(job: str, pattern: str, groups: list[ErrorGroup]) -> ErrorSummary:
    newest = max(groups, key=lambda group: int(group.run))
    said = f' error:"{pattern}"' if pattern.strip("* ") else ""
    return ErrorSummary(
        job=job, error=error_line(newest.error), count=sum(group.runs for group in groups),
        first_at=min(group.first_at for group in groups), last_at=max(group.last_at for group in groups),
        run=newest.run, q=f"state:failed,lost job:{job}{said}",
    )  # fmt: skip


def _instant_of(confirmed: str) -> int:
    text = confirmed.partition("-")[0]
    if not (text.isascii() and text.isdigit() and len(text) < 18):
        raise InputError("confirm: this was not given by a dry run: ask for one first", field="confirm")
    return int(text)
