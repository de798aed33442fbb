"""Jobs that differ only in what they do: decided once, and written together.

When a thousand schedules share a second, most of them are alike. Each is the only one of its job; their times,
their policy and how far they are decided are the same; nothing about them is out of the ordinary. So is their
plan the same, for planning reads nothing else of them. One of each herd is planned, and if it simply starts on
time, the plan is written for all by statements whose values are lists of ids.

Whatever is not alike goes the long way, through objects of its own, to the same rows. So does a small herd, which
would cost more statements than it spares; and all of a pass in which somebody was first with a run of a herd.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from ...core.codec import encode_rest
from ...core.definition import JobDefinition
from ...core.jobstate import is_simple
from ...core.model import Facts, Planned, Schedule, Start, Trigger
from ...core.payload import UnreadableText
from ..records import MICRO, Lease, Planner
from .claim import UNPAUSED, ClaimRequest, Due, PassContext
from .definitions import BatchKey, CachedJob, DefinitionCache
from .jobs import JobColumns
from .runs import ON_LANE, insert_runs
from .statement import Compound, Procedure, Statement

MIN_BATCH = 25  # members
_INSERT = insert_runs(
    "n bigint, job_id bigint, schedule_id bigint, definition_id bigint, function text",
    leased="n < CAST(:leased AS bigint)", condition=UNPAUSED, conflict="",
    returned="id, job_id, token IS NOT NULL AS running",
    slot="bigint", lane="bigint", trigger_name="text", schedule_definition_id="bigint", queue="text",
    priority="bigint", due_at="bigint", expires_at="bigint",
)  # fmt: skip
_ADVANCE = Statement(f"""
    UPDATE tickwise_job_state SET wake_at = :wake_at, waiting = FALSE, cursor = :cursor,
        last_seen_slot = :last_seen_slot, last_slot = :slot, runs_made = coalesce(runs_made, 0) + 1
    WHERE ctid IN :places[tid] AND {UNPAUSED}
""")
_FIRE = Compound(_INSERT, ON_LANE, _ADVANCE)


class JobBatch(NamedTuple):
    """Members, and what one of them is planned to do: all do the same."""

    kind: BatchKey
    leasable: bool  # the node that claims knows what they do
    members: list[CachedJob]
    places: list[str]  # of their rows of state, which are locked: so they need not be looked up again
    start: Start
    planned: Planned

    @property
    def key(self) -> tuple[int, int]:
        """Of the first: a schedule's id, and the slot."""
        return self.members[0].schedule_id, self.start.slot

    @property
    def due_at(self) -> int:
        return self.start.slot * MICRO


def cached_job(book: DefinitionCache, job: JobColumns, schedules: Sequence[Sequence[Any]]) -> CachedJob | None:
    """None: it goes alone. What its definitions say has been read."""
    if len(schedules) != 1 or job.guarded:
        return None
    id_, _, name, times_id, cursor, seen, missed, edited, first_seen, _, rest, last_slot, *_ = schedules[0]
    if rest or max(seen, missed, last_slot or cursor) > cursor:
        return None
    try:
        definition = book.schedule(times_id, name, job.name)
    except UnreadableText:
        return None
    if not is_simple(Schedule(definition, cursor, seen, missed, edited, first_seen)):
        return None
    what = leasable(book, job)
    kind = BatchKey(times_id, job.queue, job.priority, lent=what is not None)
    return CachedJob(
        job.revision, kind, cursor, job.id, what or JobDefinition(job.name), job.definition_id, job.function, id_,
        definition, edited, first_seen,
    )  # fmt: skip


def leasable(book: DefinitionCache, job: JobColumns) -> JobDefinition | None:
    """What a job does, if a run of it may be handed over at once."""
    try:
        what = book.job(job.definition_id, job.name)
    except UnreadableText:  # who leases it will find that out
        return None
    return None if what.at_most_once else what


def unknown_jobs(book: DefinitionCache, due: Sequence[Due]) -> list[int]:
    """Jobs of which all must be read: their cards do not tell enough, or they are too few to go together."""
    if len(due) < MIN_BATCH:
        return [row[0] for row in due]
    cards = book.cards
    return [id_ for id_, revision, *_ in due if id_ not in cards or cards[id_].revision != revision]


def batches(
    book: DefinitionCache,
    planner: Planner,
    due: Sequence[Due],
    busy: Collection[int],
    around: PassContext,
    claim: ClaimRequest,
) -> tuple[list[JobBatch], list[int]]:
    """Those that are large enough, and the jobs that go alone."""
    cards, alone = book.cards, list[int]()
    alike: dict[tuple[BatchKey, int, bool], tuple[list[CachedJob], list[str]]] = defaultdict(lambda: ([], []))
    knows, latest_pause = claim.knows, around.latest_pause
    for id_, revision, pause_seen, last_manual, cursor, place, _ in due:
        one = cards.get(id_)
        if one is None or one.revision != revision or id_ in busy or pause_seen < latest_pause:
            alone.append(id_)
            continue
        decided = one.cursor if cursor is None else cursor
        if last_manual is not None and last_manual > decided:
            alone.append(id_)
        else:
            members, places = alike[one.kind, decided, one.kind.lent and knows(one.function)]
            members.append(one)
            places.append(place)
    found = []
    for (kind, cursor, leasable), (members, places) in alike.items():
        served = len(members) >= MIN_BATCH and kind.queue in around.served
        plan = _plan(planner, members[0], cursor, around.now) if served else None
        if plan:
            found.append(JobBatch(kind, leasable, members, places, *plan))
        else:
            alone += [one.id for one in members]
    return found, alone


def _plan(planner: Planner, one: CachedJob, cursor: int, now: int) -> tuple[Start, Planned] | None:
    """What is to be done with it, if that is to start on time and nothing else."""
    state = Schedule(one.definition, cursor, cursor, cursor, one.edited, one.first_seen)
    starts, cancels, decisions, schedules = planner(now // MICRO, [state], Facts())
    if len(starts) != 1 or len(schedules) != 1 or cancels or decisions:
        return None
    planned, start = schedules[0], starts[0]
    after = planned.schedule
    on_time = (
        start.trigger is Trigger.SCHEDULE
        and after.last_missed_slot == cursor
        and after.last_seen_slot <= after.cursor
    )
    return (start, planned) if on_time and not planned.remove and encode_rest(after) is None else None


def start_batch(herd: JobBatch, leased: int, claim: ClaimRequest, now: int) -> Procedure[list[Lease] | None]:
    """Make the runs, the first so many of them for who claims, and move the jobs: all of them, or it fails.

    None of them, and nothing is handed over, if everything was paused meanwhile.
    """
    kind, _, members, places, start, planned = herd
    state = planned.schedule
    expires = state.definition.policy.expires
    made = yield _FIRE(
        rows=[(n, one.id, one.schedule_id, one.definition_id, one.function) for n, one in enumerate(members)],
        leased=leased, slot=start.slot, lane=start.lane, trigger_name=str(start.trigger),
        schedule_definition_id=kind.times_id, queue=kind.queue, priority=kind.priority, due_at=herd.due_at,
        expires_at=None if expires is None else now + expires * MICRO, **claim.handed_over(now),
        cursor=state.cursor, last_seen_slot=state.last_seen_slot, wake_at=planned.wake_at, places=places,
    )  # fmt: skip
    if not made:
        return None
    runs = {job: run for run, job, _ in made}
    given = ((runs[one.id], one.job, one.definition.name) for one in members[:leased])
    return claim.leases(given, start, state.definition, herd.due_at, now)
