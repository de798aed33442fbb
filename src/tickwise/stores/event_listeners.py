"""Which schedules wait for what nodes have to look for: ends of runs, and files (S70).

Their names are one text of the store, so that a node finds the few among many schedules without reading them. A
schedule is in it before it is defined. One that is gone stays for a day at least, so that nobody takes out what
another is about to define; a reader of the text reads the schedules, too. A store without such schedules has no
text, and other jobs do not read it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ..core.cron import Recurrence
from ..core.definition import JobDefinition, jobs_called, jobs_listened_to
from ..core.errors import InputError
from ..core.events import JobEnds, OnEvent, SettledFiles
from .parts import StoreParts
from .records import MICRO, ScheduleFilter, ScheduleRow

MAX_LISTENERS = 1_000
_NOTE_AGAIN, _FORGET_AFTER = 3_600, 86_400  # seconds
_LIST = "event listeners"


def _listens(times: Recurrence) -> bool:
    return isinstance(times, OnEvent) and isinstance(times.source, JobEnds | SettledFiles)


async def read_listeners(store: StoreParts) -> list[ScheduleRow]:
    """The schedules that listen, as they are now."""
    kept = await store.access.text(_LIST)
    return await _rows(store, json.loads(kept.text)) if kept else []


async def note_listeners(store: StoreParts, job: JobDefinition) -> None:
    """Note which schedules of a job listen. Refused if the job would start itself again and again."""
    names = [each.name for each in job.schedules if _listens(each.times)]
    while names:
        kept = await store.access.text(_LIST)
        known: dict[str, Any] = json.loads(kept.text) if kept else {}
        now = await store.now() // MICRO
        mark = _mark(job, now)
        if all(_is_noted(known.get(name), mark) for name in names):
            return
        live = {row.schedule.name for row in await _rows(store, known)}
        known |= dict.fromkeys(names, mark)
        _check_circle(job.name, [known[name] for name in {*live, *names}])
        left = {name: one for name, one in known.items() if name in live or now - one["noted"] < _FORGET_AFTER}
        if len(left) > MAX_LISTENERS:
            raise InputError(f"at most {MAX_LISTENERS:,} schedules of a store run on files or ends of other jobs")
        if await store.access.replace_text(_LIST, json.dumps(left), kept.version if kept else 0):
            return


def _mark(job: JobDefinition, now: int) -> Mapping[str, Any]:
    return {
        "job": job.name, "causes": sorted(jobs_listened_to(job)), "calls": sorted({*jobs_called(job)}),
        "noted": now,
    }  # fmt: skip


def _is_noted(known: Mapping[str, Any] | None, mark: Mapping[str, Any]) -> bool:
    """Whether it stands there as it is, and will for a while."""
    if known is None or mark["noted"] - known["noted"] >= _NOTE_AGAIN:
        return False
    return {**known, "noted": mark["noted"]} == mark


async def _rows(store: StoreParts, known: Mapping[str, object]) -> list[ScheduleRow]:
    page = await store.insights.schedules(ScheduleFilter(names=frozenset(known)), limit=MAX_LISTENERS)
    return [row for row in page.items if not row.unreadable and _listens(row.schedule.definition.times)]


def _check_circle(job: str, marks: Iterable[Mapping[str, Any]]) -> None:
    """Refuse a job whose end starts others that start it (S70)."""
    started_by: dict[str, set[str]] = defaultdict(set)
    for mark in marks:
        for cause in mark["causes"]:
            started_by[cause].add(mark["job"])
        started_by[mark["job"]].update(mark["calls"])
    path = _path_back(job, started_by)
    if path:
        raise InputError(f"{job} would start itself again and again: {' starts '.join(path)}")


def _path_back(job: str, started_by: Mapping[str, set[str]]) -> list[str]:
    """How the runs of a job lead to it; empty if they do not."""
    paths = [[job]]
    seen = set[str]()
    while paths:
        path = paths.pop()
        for following in sorted(started_by.get(path[-1], ())):
            if following == job:
                return [*path, job]
            if following not in seen:
                seen.add(following)
                paths.append([*path, following])
    return []
