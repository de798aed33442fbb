"""Runs that match a filter, and what they have in common: a read costs as much as it shows.

A statement has only the conditions of its filter. If an index has what one of them asks for (a job, what waits or
runs, what did not simply succeed, a rare trigger), all runs are searched. Else a read looks at the newest
`_WINDOW` runs, and its page ends there, be it full or not: the next one goes on.

New runs have the highest ids. So an interval of instants is one of ids, which a few samples find; with a margin
for clocks that were set back.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from ...core.model import Trigger
from ...core.states import FINAL, RunState
from ..filter_texts import like_pattern, run_number_in, star_pattern
from ..records import MICRO, Page, RunFilter, RunRow
from ..statistics import ERROR_LENGTH, ERRORS_GROUPED, MOST_FREQUENT, ErrorGroup, RunGroups, RunKind
from ..validation import is_number
from .definitions import DefinitionCache
from .insights_runs import RUN_COLUMNS, run_rows
from .runs import RUNNING
from .statement import Procedure, Statement

_WINDOW = 100_000
_CLOCK_MARGIN = 600 * MICRO
_SAMPLES, _NEAR = 100, 500  # instants that are looked up at once; so many ids are near enough
_QUEUED = "id IN (SELECT id FROM tickwise_runs WHERE queued = TRUE)"
_ORDINARY = ("schedule", "enqueue")  # triggers of which no index is kept
_JOBS_LIKE = "SELECT id FROM tickwise_jobs WHERE lower(name) LIKE :{name} ESCAPE '!'"
_SCHEDULES_LIKE = "SELECT id FROM tickwise_schedules WHERE lower(name) LIKE :{name} ESCAPE '!'"
_HAS_ERROR = "(r.unusual IS NOT NULL AND lower(r.error) LIKE :{name} ESCAPE '!')"
_INDEXED = {  # conditions that an index answers
    "only": "r.job_id = :only",
    "job": "r.job_id = (SELECT id FROM tickwise_jobs WHERE name = :job)",
    "schedule": "(r.job_id, r.schedule_id) = (SELECT job_id, id FROM tickwise_schedules WHERE name = :schedule)",
    "queued": "r.queued = TRUE",
    "waits": "r.queued = TRUE AND r.started_at IS NOT NULL AND r.waits_for IS NOT NULL",
    "running": f"r.{RUNNING}",
    "active": f"(r.{_QUEUED} OR r.{RUNNING})",
    "unusual": "r.unusual IS NOT NULL AND r.unusual IN :unusual[text]",
    "failed": "r.unusual IS NOT NULL AND r.unusual IN ('failed', 'lost')",
    "error": _HAS_ERROR.format(name="error"),
    "rare_triggers": f"r.trigger_name NOT IN {_ORDINARY} AND r.trigger_name IN :rare_triggers[text]",
}
_OTHERS = {
    "states": "r.state IN :states[text]",
    "triggers": "r.trigger_name IN :triggers[text]",
    "slot": "r.slot = :slot",
    "queue": "r.queue = :queue",
    "key": "r.run_key = :key",
    "since": "r.created_at >= :since",
    "until": "r.created_at < :until",
    "jobs": "+r.job_id IN (SELECT id FROM tickwise_jobs WHERE name IN :jobs[text])",  # `+`: not one job at a time
    "schedules": "+r.schedule_id IN (SELECT id FROM tickwise_schedules WHERE name IN :schedules[text])",
    "text": "(r.id = :id OR r.job_id IN ({}) OR r.schedule_id IN ({}))".format(
        _JOBS_LIKE.format(name="text"), _SCHEDULES_LIKE.format(name="text")
    ),
}
_WORD = (
    f"({_HAS_ERROR} OR r.id = :{{name}}_id OR r.job_id IN ({_JOBS_LIKE}) OR r.schedule_id IN ({_SCHEDULES_LIKE}))"
)
_BESIDE = frozenset({"id", "above", "before"})  # values that are no condition of their own
_FEW = frozenset({"queued", "waits", "running", "active"})
_IN_ORDER = frozenset(
    {"unusual", "failed", "error", "rare_triggers"}
)  # an index has these in the order of `id + 0`
_STATES: dict[frozenset[RunState], str] = {
    frozenset({RunState.QUEUED}): "queued", frozenset({RunState.RUNNING}): "running",
    frozenset({RunState.QUEUED, RunState.RUNNING}): "active",
}  # fmt: skip
_UNUSUAL = FINAL - {RunState.SUCCEEDED}
_NAMED = Statement("""
    SELECT id FROM tickwise_jobs WHERE lower(name) LIKE :text ESCAPE '!'
    UNION SELECT job_id FROM tickwise_schedules WHERE lower(name) LIKE :text ESCAPE '!'
    UNION SELECT job_id FROM tickwise_runs WHERE id = :id LIMIT 2
""")
_ENDS = Statement("SELECT (SELECT min(id) FROM tickwise_runs), (SELECT max(id) FROM tickwise_runs)")
_MADE_AT = Statement("""
    SELECT at.id, (SELECT r.created_at FROM tickwise_runs r WHERE r.id >= at.id ORDER BY r.id LIMIT 1)
    FROM :rows[id bigint] AS at
""")
_ERROR = f"substr(coalesce(r.error, ''), 1, {ERROR_LENGTH}) AS said"


class _Search(NamedTuple):
    """The conditions of a filter with their values, and where the search ends if that is not the oldest run."""

    values: dict[str, Any]
    ends_at: int | None  # older runs have lower ids

    @property
    def conditions(self) -> list[str]:
        return [name for name in self.values if name not in _BESIDE and not name.endswith("_id")]


def runs(cache: DefinitionCache, wanted: RunFilter, after: int | None, limit: int) -> Procedure[Page[RunRow]]:
    """Newest first. The text of a filter may be the id of a run."""
    search = yield from _search(wanted, after)
    if search is None:
        return Page(())
    rows = yield _select_runs(*search.conditions)(**search.values, most=limit + 1)
    found = yield from run_rows(cache, rows[:limit])
    if len(rows) > limit:
        return Page(tuple(found), found[-1].id)
    return Page(tuple(found), None if search.ends_at is None else str(search.ends_at))


def run_groups(cache: DefinitionCache, wanted: RunFilter, limit: int) -> Procedure[RunGroups]:
    """Counted by the database, over the newest runs that match."""
    search = yield from _search(wanted, None)
    if search is None:
        return RunGroups()
    jobs, schedules, kinds = Counter[int](), Counter[int](), Counter[tuple[str, str, str]]()
    for job, schedule, *kind, number in (yield _count_runs(*search.conditions)(**search.values, most=limit + 1)):
        jobs[job] += number
        kinds[*kind] += number
        if schedule is not None:
            schedules[schedule] += number
    errors = yield _group_errors(*search.conditions)(**search.values, most=min(limit, ERRORS_GROUPED))
    frequent, likewise = (dict(sorted(each.items(), key=_by_number)[:MOST_FREQUENT]) for each in (jobs, schedules))
    yield from cache.read_names({*frequent, *(row[0] for row in errors)}, likewise)
    return RunGroups(
        tuple(
            RunKind(RunState(state), Trigger.of(trigger), queue, number)
            for (state, trigger, queue), number in kinds.items()
        ),
        {cache.job_names[id_]: number for id_, number in frequent.items()},
        {cache.schedule_names[id_]: number for id_, number in likewise.items()},
        tuple(
            ErrorGroup(cache.job_names[job], error, number, first, last, str(run))
            for job, error, number, first, last, run in errors
        ),
        search.ends_at is not None or kinds.total() > limit,
    )  # fmt: skip


def _by_number(item: tuple[int, int]) -> tuple[int, int]:
    return -item[1], item[0]


def _search(wanted: RunFilter, after: int | None) -> Procedure[_Search | None]:
    """None if no run can match."""
    id_ = run_number_in(wanted)
    values = dict(_conditions(wanted))
    if "text" in values:
        jobs = yield _NAMED(text=values["text"], id=id_)
        if not jobs:
            return None
        if len(jobs) == 1:
            values["only"] = jobs[0][0]
    first, last = (yield _ENDS())[0]
    if first is None:
        return None
    above = first - 1
    before = last + 1 if after is None else min(after, last + 1)
    if wanted.since is not None:
        above, _ = yield from _ids_around(wanted.since - _CLOCK_MARGIN, first, last)
    if wanted.until is not None:
        before = min(before, (yield from _ids_around(wanted.until + _CLOCK_MARGIN, first, last))[1])
    is_found_by_index = bool(_INDEXED.keys() & values.keys())
    selects = values.keys() - {"since", "until"}
    ends_at = None
    if selects and not is_found_by_index and before - 1 - _WINDOW > above:
        above = before - 1 - _WINDOW
        ends_at = above + 1
    values |= {f"{name}_id": int(word) if is_number(word) else -1 for name, word in _named_words(wanted)}
    return _Search({**values, "id": id_, "above": above, "before": before}, ends_at)


def _ids_around(instant: int, first: int, last: int) -> Procedure[tuple[int, int]]:
    """Two ids near each other: runs that were made before are below the second, and later ones above the first."""
    below, beyond = first - 1, last + 1
    while beyond - below > _NEAR:
        step = max(1, (beyond - below) // _SAMPLES)
        for id_, made_at in sorted((yield _MADE_AT(rows=[(id_,) for id_ in range(below + step, beyond, step)]))):
            if made_at is not None and made_at < instant:
                below = id_
            else:
                beyond = id_
                break
    return below, beyond


def _named_words(wanted: RunFilter) -> Iterator[tuple[str, str]]:
    """Each word with a name for its value, which is made of letters."""
    return ((f"word_{'x' * (number + 1)}", word) for number, word in enumerate(wanted.words))


def _conditions(wanted: RunFilter) -> Iterator[tuple[str, Any]]:
    """The names of conditions with their values."""
    states = "unusual" if wanted.states <= _UNUSUAL else _STATES.get(wanted.states, "states")
    if wanted.job is None and wanted.jobs is not None and len(wanted.jobs) == 1:
        wanted = replace(wanted, job=next(iter(wanted.jobs)), jobs=None)
    triggers = "triggers" if {*map(str, wanted.triggers)} & {*_ORDINARY} else "rare_triggers"
    given = {
        "job": wanted.job, "schedule": wanted.schedule, states: sorted(map(str, wanted.states)),
        triggers: sorted(map(str, wanted.triggers)), "slot": wanted.slot, "queue": wanted.queue,
        "key": wanted.key, "since": wanted.since, "until": wanted.until, "text": like_pattern(wanted.text),
        "jobs": None if wanted.jobs is None else [*sorted(wanted.jobs), ""],
        "schedules": None if wanted.schedules is None else [*sorted(wanted.schedules), ""],
        "error": star_pattern(wanted.error), "waits": wanted.waits or None,
        **{name: star_pattern(word) for name, word in _named_words(wanted)},
    }  # fmt: skip
    return ((name, value) for name, value in given.items() if value not in (None, []))


@lru_cache
def _select_runs(*conditions: str) -> Statement:
    return Statement(f"SELECT {RUN_COLUMNS} {_newest(conditions)}")


@lru_cache
def _count_runs(*conditions: str) -> Statement:
    """The newest runs that match, counted by what all runs have."""
    return Statement(f"""
        SELECT job_id, schedule_id, state, trigger_name, queue, count(*) FROM (
            SELECT r.job_id, r.schedule_id, r.state, r.trigger_name, r.queue {_newest(conditions)}
        ) AS k GROUP BY job_id, schedule_id, state, trigger_name, queue
    """)


@lru_cache
def _group_errors(*conditions: str) -> Statement:
    """The newest runs that match and failed, by their errors."""
    return Statement(f"""
        SELECT job_id, said, count(*), min(ended), max(ended), max(id) FROM (
            SELECT r.id, r.job_id, {_ERROR}, coalesce(r.finished_at, r.created_at) AS ended
            {_newest(["failed", *conditions])}
        ) AS k GROUP BY job_id, said
    """)


def _newest(conditions: Sequence[str]) -> str:
    """The newest runs that match. Where an index finds few rows, no index is walked in the order of the ids."""
    known = {**_INDEXED, **_OTHERS}
    place = "r.id"
    if _FEW & {*conditions}:
        place = "+r.id"
    elif _IN_ORDER & {*conditions}:
        place = "r.id + 0"
    which = [known.get(name) or _WORD.format(name=name) for name in conditions]
    within = [f"{place} > :above", f"{place} < :before"]
    return f"FROM tickwise_runs r WHERE {' AND '.join([*which, *within])} ORDER BY {place} DESC LIMIT :most"
