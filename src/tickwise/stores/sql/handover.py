"""Hand-overs of attempts to engines: a row for each, changed under the lock of its run.

A row belongs to an attempt, so a new attempt of the run begins without one. The lease of a handed-over run is its
watcher's. When that has run out, another watcher adopts the run; its attempt and its token stay as they are (S54).
"""

from collections.abc import Sequence
from typing import Any

from ...core.handover import HandOver, HandOverChange, changed
from ..records import MICRO, Lease, LeaseRequest
from .definitions import DefinitionCache
from .fleet import clock, forget
from .runs import RUNNING
from .statement import Procedure, Statement

_OF_ATTEMPT = "FROM tickwise_hand_overs h WHERE h.run_id = {run}.id AND h.attempt = {run}.attempt"
PATIENCE = f"coalesce((SELECT h.patience {_OF_ATTEMPT.format(run='tickwise_runs')}), 0)"
RECORD_OF_RUN, RECORD = (f"(SELECT h.record {_OF_ATTEMPT.format(run=run)})" for run in ("tickwise_runs", "r"))
_FENCED = Statement("""
    SELECT attempt, cancelling FROM tickwise_runs WHERE id = :run AND token = :token AND state = 'running' {lock}
""")
_RECORD = Statement("SELECT record FROM tickwise_hand_overs WHERE run_id = :run AND attempt = :attempt")
_RECORDS = Statement("""
    SELECT h.run_id, h.record FROM tickwise_hand_overs h
    JOIN tickwise_runs r ON r.id = h.run_id AND r.attempt = h.attempt WHERE h.run_id IN :ids[bigint]
""")
_WRITE = Statement("""
    INSERT INTO tickwise_hand_overs (run_id, attempt, patience, record)
    SELECT run_id, attempt, patience, record
    FROM :rows[run_id bigint, attempt bigint, patience bigint, record text] AS v WHERE TRUE
    {upsert run_id, attempt: patience, record}
""")
_UNWATCHED = Statement(f"""
    SELECT id, requires FROM tickwise_runs
    WHERE {RUNNING} AND lease_until < :now AND queue IN :queues[text] AND NOT requires IN :unmet[text]
        AND EXISTS (SELECT 1 {_OF_ATTEMPT.format(run="tickwise_runs")})
    ORDER BY lease_until, id LIMIT :most {{lock_free}}
""")
_WATCHED = Statement(f"""
    SELECT id FROM tickwise_runs
    WHERE {RUNNING} AND node = :node AND lease_until > :now
        AND EXISTS (SELECT 1 {_OF_ATTEMPT.format(run="tickwise_runs")})
    ORDER BY id {{lock}}
""")
_UNWATCH = Statement("UPDATE tickwise_runs SET lease_until = :now WHERE id IN :ids[bigint]")
_ADOPT = Statement("UPDATE tickwise_runs SET node = :node, lease_until = :lease_until WHERE id IN :ids[bigint]")


def hand_over(run: int, token: str, change: HandOverChange) -> Procedure[HandOver | None]:
    fenced = yield _FENCED(run=run, token=token)
    if not fenced:
        return None
    attempt, cancelling = fenced[0]
    stored = yield _RECORD(run=run, attempt=attempt)
    before = HandOver.from_text(stored[0][0]) if stored else None
    record = changed(before, change, (yield from clock()), cancelling=bool(cancelling))
    if record is not None and record != before:
        yield _WRITE(rows=[(run, attempt, record.patience * MICRO, record.text)])
    return record


def unwatched(cache: DefinitionCache, wanted: LeaseRequest) -> Procedure[list[int]]:
    """Take handed-over runs whose watcher's lease has run out; their ids."""
    now = yield from clock()
    while True:
        rows = yield _UNWATCHED(
            now=now, queues=sorted(wanted.queues), unmet=cache.unmet.beyond(wanted.offers), most=wanted.capacity
        )
        if not cache.unmet.learn((row[1] for row in rows), wanted.offers):
            break
    ids = [row[0] for row in rows]
    if ids:
        yield _ADOPT(node=wanted.node, lease_until=now + wanted.seconds * MICRO, ids=ids)
    return ids


def leave(node: str) -> Procedure[None]:
    """Forget a node, and end its leases of handed-over runs."""
    now = yield from clock()
    if ids := [row[0] for row in (yield _WATCHED(node=node, now=now))]:
        yield _UNWATCH(ids=ids, now=now)
    yield from forget(node)


def with_records(leases: Sequence[Lease]) -> Procedure[tuple[Lease, ...]]:
    """Leases with the hand-overs of those that have one."""
    handed = [int(lease.id) for lease in leases if lease.job.engine]
    rows: Sequence[Any] = (yield _RECORDS(ids=handed)) if handed else ()
    records = {str(run): HandOver.from_text(record) for run, record in rows}
    return tuple(lease._replace(hand_over=records.get(lease.id)) for lease in leases)
