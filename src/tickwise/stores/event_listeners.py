"""Which schedules wait for what nodes have to look for: ends of runs, and files (S70).

Their names are one text of the store, so that a node finds the few among many schedules without reading them. A
schedule is in it before it is defined, and stays until another is added after it is gone: who reads the text reads
the schedules, too. A store without such schedules has no text, and jobs that are none of them do not read it.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.cron import Recurrence
from ..core.definition import JobDefinition, jobs_called
from ..core.errors import InputError
from ..core.events import JobEnds, OnEvent, SettledFiles, causes_of
from .records import ScheduleFilter, ScheduleRow

if TYPE_CHECKING:
    from .contract import Store

MAX_LISTENERS = 1_000
_LIST = "event listeners"


def _listens(times: Recurrence) -> bool:
    return isinstance(times, OnEvent) and isinstance(times.source, JobEnds | SettledFiles)


async def read_listeners(store: "Store") -> list[ScheduleRow]:
    """The schedules that listen, as they are now."""
    kept = await store.access.text(_LIST)
    return await _rows(store, json.loads(kept.text)) if kept else []


async def note_listeners(store: "Store", job: JobDefinition) -> None:
    """Keep that schedules of a job listen. Refused if the job would start itself again and again."""
    wanted = {each.name: _entry(job) for each in job.schedules if _listens(each.times)}
    while wanted:
        kept = await store.access.text(_LIST)
        known: dict[str, Mapping[str, list[str]]] = json.loads(kept.text) if kept else {}
        if wanted.items() <= known.items():
            return
        rows = await _rows(store, known)
        live = {row.schedule.name: known[row.schedule.name] for row in rows} | wanted
        _check_circle(job.name, live)
        if len(live) > MAX_LISTENERS:
            raise InputError(f"at most {MAX_LISTENERS:,} jobs of a store run on files or on ends of other jobs")
        if await store.access.replace_text(_LIST, json.dumps(live), kept.version if kept else 0):
            return


def _entry(job: JobDefinition) -> Mapping[str, list[str]]:
    causes = sorted({cause for schedule in job.schedules for cause in causes_of(schedule.times)})
    return {"job": [job.name], "causes": causes, "calls": sorted({*jobs_called(job)})}


async def _rows(store: "Store", known: Mapping[str, object]) -> list[ScheduleRow]:
    page = await store.insights.schedules(ScheduleFilter(names=frozenset(known)), limit=MAX_LISTENERS)
    return [row for row in page.items if not row.unreadable and _listens(row.schedule.definition.times)]


def _check_circle(job: str, known: Mapping[str, Mapping[str, list[str]]]) -> None:
    """Refuse a job whose end starts others that start it (S70)."""
    started_by: dict[str, set[str]] = defaultdict(set)
    for entry in known.values():
        for cause in entry["causes"]:
            started_by[cause].update(entry["job"])
        started_by[entry["job"][0]].update(entry["calls"])
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
