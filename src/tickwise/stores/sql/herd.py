"""Jobs that differ only in what they do: decided once, and written together.

When a thousand schedules share a second, most of them are alike. Each is the only one of its job; their times,
their policy and how far they are decided are the same; nothing about them is out of the ordinary. So is their
plan the same, for planning reads nothing else of them. One of each herd is planned, and if it simply starts on
time, the plan is written for all by statements whose values are lists of ids.

Whatever is not alike goes the long way, through objects of its own, to the same rows. So does a small herd, which
would cost more statements than it spares; and all of a pass in which somebody was first with a run of a herd.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...core.codec import encode_rest
from ...core.model import Facts, Planned, Schedule, Start, Trigger
from ...core.payload import UnreadableText
from ..records import MICRO, Lease, Planner
from .book import Book
from .claim import UNPAUSED, Circumstances, Claim
from .starts import inserting
from .state import JobRow
from .statement import Protocol, Statement, Together

LEAST = 25  # members
_INSERT = inserting(
    "n bigint, job_id bigint, schedule_id bigint, definition_id bigint, function text",
    leased="n < CAST(:leased AS bigint)", condition=UNPAUSED, conflict="",
    slot="bigint", lane="bigint", trigger_name="text", times_id="bigint", queue="text", priority="bigint",
    due_at="bigint", expires_at="bigint",
)  # fmt: skip
_ADVANCE = Statement(f"""
    UPDATE tickwise_schedules SET cursor = :cursor, met = :met, runs_made = runs_made + 1, last_slot = :slot,
        wake_at = :wake_at
    WHERE id IN :schedules[bigint] AND {UNPAUSED}
""")
_ADVANCE_JOBS = Statement(f"""
    UPDATE tickwise_jobs SET wake_at = :wake_at, waiting = FALSE WHERE id IN :jobs[bigint] AND {UNPAUSED}
""")
_FIRE = Together(_INSERT, _ADVANCE, _ADVANCE_JOBS)
_Likeness: TypeAlias = tuple[object, ...]


class Member(NamedTuple):
    """A job, and its only schedule as the table has it."""

    job: JobRow
    row: Sequence[Any]


class Herd(NamedTuple):
    """Members, and what one of them is planned to do: all do the same."""

    members: list[Member]
    start: Start
    planned: Planned

    @property
    def key(self) -> tuple[int, int]:
        """Of the first: a schedule's id, and the slot."""
        return self.members[0].row[0], self.start.slot

    @property
    def due_at(self) -> int:
        return self.start.slot * MICRO


def herds(
    book: Book, planner: Planner, jobs: Sequence[JobRow], rows: Sequence[Sequence[Any]], busy: Collection[int],
    around: Circumstances, claim: Claim,
) -> Protocol[tuple[list[Herd], list[JobRow]]]:  # fmt: skip
    """Those that are large enough, and the jobs that go alone."""
    schedules_of = Counter(row[1] for row in rows)
    only = {row[1]: row for row in rows if schedules_of[row[1]] == 1 and row[1] not in busy}
    yield from book.read({job.definition_id for job in jobs})
    alike: dict[_Likeness | None, list[Member]] = defaultdict(list)
    for job in jobs:
        row = only.get(job.id, ())
        alike[_likeness(job, row, around, claim, book) if row else None].append(Member(job, row))
    alone, found = alike.pop(None, []), []
    for members in alike.values():
        herd = (yield from _planned(book, planner, members, around.now)) if len(members) >= LEAST else None
        if herd:
            found.append(herd)
        else:
            alone += members
    return found, [member.job for member in alone]


def _likeness(
    job: JobRow, row: Sequence[Any], around: Circumstances, claim: Claim, book: Book
) -> _Likeness | None:
    """What members of a herd have in common: all that their plan and their runs depend on. None: it goes alone.

    What was met and missed up to the cursor is not among that: it has been decided.
    """
    _, _, _, definition, cursor, met, missed, _, _, _, rest, last_slot, _, _ = row
    if rest or job.guarded or job.queue not in around.served or job.pause_seen < around.latest_pause:
        return None
    if max(met, missed, last_slot or cursor, job.last_manual or cursor) > cursor:
        return None
    return definition, cursor, job.queue, job.priority, claim.may_have(job, book)


def _planned(book: Book, planner: Planner, members: list[Member], now: int) -> Protocol[Herd | None]:
    """The herd with its plan, if that is to start on time and nothing else."""
    job, row = members[0]
    _, _, name, definition_id, cursor, met, missed, edited, first_seen, made, *_ = row
    yield from book.read([definition_id])
    try:
        definition = book.schedule(definition_id, name, job.name)
    except UnreadableText:
        return None
    if (policy := definition.policy).jitter or policy.after or policy.max_runs is not None:
        return None
    state = Schedule(definition, cursor, met, missed, edited, first_seen, runs_made=made)
    starts, cancels, decisions, schedules = planner(now // MICRO, [state], Facts())
    if len(starts) != 1 or len(schedules) != 1 or cancels or decisions:
        return None
    planned, start = schedules[0], starts[0]
    after = planned.schedule
    on_time = start.trigger is Trigger.SCHEDULE and after.missed == missed
    return Herd(members, start, planned) if on_time and not planned.remove and encode_rest(after) is None else None


def fire(book: Book, herd: Herd, leased: int, claim: Claim, now: int) -> Protocol[list[Lease] | None]:
    """Make the runs, the first so many of them for who claims, and move the jobs: all of them, or it fails.

    None of them, and nothing is handed over, if everything was paused meanwhile.
    """
    members, start, planned = herd
    job, expires = members[0].job, planned.schedule.definition.policy.expires
    state = planned.schedule
    made = yield _FIRE(
        rows=[(n, job.id, row[0], job.definition_id, job.function) for n, (job, row) in enumerate(members)],
        leased=leased, slot=start.slot, lane=start.lane, trigger_name=str(start.trigger),
        times_id=members[0].row[3], queue=job.queue, priority=job.priority, due_at=herd.due_at,
        expires_at=None if expires is None else now + expires * MICRO, **claim.handed_over(now),
        cursor=state.cursor, met=state.met, wake_at=planned.wake_at,
        schedules=[row[0] for _, row in members], jobs=[job.id for job, _ in members],
    )  # fmt: skip
    if not made:
        return None
    runs = {job_id: run for run, job_id, _, _ in made}
    given = ((runs[job.id], book.job(job.definition_id, job.name), row[2]) for job, row in members[:leased])
    return claim.leases(given, start, state.definition, herd.due_at, now)
