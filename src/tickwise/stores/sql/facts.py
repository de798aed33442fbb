"""What the verdicts of a pass depend on, read after its jobs were locked; most often nothing has to be asked."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ...core.definition import jobs_needed, successes_of_job
from ...core.facts_needed import failures_needed, progress_needed, successes_needed
from ...core.jobstate import JobState, facts_of
from ...core.model import Facts, Holder, RunProgress
from ...core.states import RunState
from ..records import MICRO
from ..run_document import run_progress
from .claim import PassContext
from .jobs import LoadedJob
from .statement import Procedure, Statement

_SLOTS = Statement("""
    SELECT r.schedule_id, r.slot FROM tickwise_runs r
    JOIN :since[id bigint, slot bigint] AS v ON r.schedule_id = v.id AND r.slot > v.slot
""")
_SUCCESSES = Statement("""
    SELECT s.name, coalesce(r.slot, r.started_at {div} 1000000) AS reference
    FROM tickwise_schedules s JOIN tickwise_runs r ON r.job_id = s.job_id
    WHERE s.name IN :names[text] AND r.state = 'succeeded' AND (r.schedule_id = s.id OR r.schedule_id IS NULL)
        AND coalesce(r.slot, r.started_at {div} 1000000) > :since
    ORDER BY s.name, reference
""")
_SUCCESSES_OF_JOBS = Statement("""
    SELECT j.name, coalesce(r.slot, r.started_at {div} 1000000) AS reference
    FROM tickwise_jobs j JOIN tickwise_runs r ON r.job_id = j.id
    WHERE j.name IN :names[text] AND r.state = 'succeeded'
        AND coalesce(r.slot, r.started_at {div} 1000000) > :since
    ORDER BY j.name, reference
""")
_FAILURES = Statement("""
    SELECT v.id, (
        SELECT count(*) FROM tickwise_runs r
        WHERE r.schedule_id = v.id AND r.state IN ('failed', 'lost') AND r.finished_at > v.at
            AND r.slot > coalesce((SELECT max(o.slot) FROM tickwise_runs o
                WHERE o.schedule_id = v.id AND o.state = 'succeeded'), r.slot - 1)
    ) FROM :since[id bigint, at bigint] AS v
""")
_PROGRESS = Statement("""
    SELECT v.id, r.slot, r.id, r.state, r.attempt, r.started_at, r.finished_at
    FROM tickwise_runs r JOIN :wanted[id bigint, slot bigint] AS v ON r.schedule_id = v.id AND r.slot = v.slot
""")


def read_facts(
    jobs: dict[str, LoadedJob], holders: Mapping[int, Sequence[Holder]], context: PassContext
) -> Procedure[Facts]:
    """What the verdicts depend on, read after the jobs were locked."""
    states = [job.state for job in jobs.values()]
    slots = yield from _slots_with_run(jobs.values())
    successes = yield from _successes(states)
    by_name = {name: holders[job.row.id] for name, job in jobs.items() if job.row.id in holders}
    failures = yield from _failures(jobs.values())
    progress = yield from _progress(jobs.values(), context.now // MICRO)
    return facts_of(states, by_name, context.workers, slots, successes, failures, progress)


def _failures(jobs: Iterable[LoadedJob]) -> Procedure[dict[str, int]]:
    """Of schedules that pause after failures, how many of their newest runs failed in a row (S66)."""
    names, since = dict[int, str](), list[tuple[int, int]]()
    for job in jobs:
        for name, second in failures_needed(job.state).items():
            names[job.keys[name].id] = name
            since.append((job.keys[name].id, second * MICRO))
    return {names[schedule]: number for schedule, number in (yield _FAILURES(since=since))} if since else {}


def _progress(jobs: Iterable[LoadedJob], second: int) -> Procedure[dict[str, dict[int, RunProgress]]]:
    """How far the runs have come of slots whose deadlines have come (S65)."""
    names, wanted, found = (
        dict[int, str](),
        list[tuple[int, int]](),
        defaultdict[str, dict[int, RunProgress]](dict),
    )
    for job in jobs:
        for name, slots in progress_needed(job.state, second).items():
            names[job.keys[name].id] = name
            wanted += [(job.keys[name].id, slot) for slot in slots]
    if wanted:
        for schedule, slot, run, state, *rest in (yield _PROGRESS(wanted=wanted)):
            found[names[schedule]][slot] = run_progress(str(run), RunState(state), *rest)
    return found


def _successes(jobs: Iterable[JobState]) -> Procedure[dict[str, list[int]]]:
    """Of the schedules that are waited for, as far back as a pending slot asks for them (S35)."""
    needed, found = successes_needed(jobs), defaultdict[str, list[int]](list)
    if needed:
        for name, reference in (yield _SUCCESSES(names=needed.schedules, since=needed.since)):
            found[name].append(reference)
        if jobs_of := jobs_needed(needed.schedules):
            for name, reference in (yield _SUCCESSES_OF_JOBS(names=jobs_of, since=needed.since)):
                found[successes_of_job(name)].append(reference)
    return found


def _slots_with_run(jobs: Iterable[LoadedJob]) -> Procedure[dict[str, set[int]]]:
    """Slots that may be pending although they have a run; in the common case none, and nothing is asked."""
    names, since = dict[int, str](), list[tuple[int, int]]()
    for job in jobs:
        for name, second in job.state.slots_needed().items():
            names[job.keys[name].id] = name
            since.append((job.keys[name].id, second))
    found: dict[str, set[int]] = defaultdict(set)
    if since:
        for schedule, slot in (yield _SLOTS(since=since)):
            found[names[schedule]].add(slot)
    return found
