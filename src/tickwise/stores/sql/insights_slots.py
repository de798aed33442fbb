"""Slots for people: the newest of some schedules, counts of them in bins, and which schedules ail.

Each read takes runs from the unique index of slots and decisions from their key, so its cost grows with the slots
of the schedules that were asked for. Only `ailing` looks at all schedules: at one run of each.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ...core.reasons import Reason
from ...core.slot_history import AGAIN, Bins, RunCount, SlotRun
from ...core.states import RunState
from ..records import DecisionRow
from ..statistics import AILING, ERROR_LENGTH, WAITS, RecentSlots, SlotCounts
from .insights import DECISION_COLUMNS, decision_row
from .statement import Procedure, Statement

_LIVE = "s.name IN :names[text] AND s.deleted IS NULL"
_RECENT_RUNS = Statement(f"""
    SELECT s.name, r.slot, r.id, r.state, r.attempt, r.due_at, r.started_at, r.finished_at,
        substr(coalesce(r.error, ''), 1, {ERROR_LENGTH})
    FROM (SELECT id, name, coalesce((
            SELECT slot FROM tickwise_runs WHERE schedule_id = s.id AND slot < :until
            ORDER BY slot DESC LIMIT 1 OFFSET :newer), 0) AS oldest
        FROM tickwise_schedules AS s WHERE {_LIVE}) AS s
    JOIN tickwise_runs r ON r.schedule_id = s.id AND r.slot >= s.oldest AND r.slot < :until
    ORDER BY s.name, r.slot
""")
_RECENT_DECISIONS = Statement(f"""
    SELECT {DECISION_COLUMNS}
    FROM (SELECT id, name, coalesce((
            SELECT first_slot FROM tickwise_decisions
            WHERE schedule_id = s.id AND first_slot < :until AND NOT (reason IN :waits[text])
            ORDER BY first_slot DESC LIMIT 1 OFFSET :newer), 0) AS oldest
        FROM tickwise_schedules AS s WHERE {_LIVE}) AS s
    JOIN tickwise_decisions d ON d.schedule_id = s.id AND d.first_slot >= s.oldest AND d.first_slot < :until
    WHERE NOT (d.reason IN :waits[text]) ORDER BY s.name, d.first_slot, d.reason
""")
_OF_BINS = f"""FROM tickwise_schedules s JOIN tickwise_runs r ON r.schedule_id = s.id
    WHERE {_LIVE} AND r.slot >= :since AND r.slot < :until"""
_COUNTS = Statement(f"""
    SELECT s.name, (r.slot - :since) {{div}} :step, r.state, CASE WHEN r.attempt > 1 THEN 1 ELSE 0 END, count(*)
    {_OF_BINS} GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
""")
_AGAIN = Statement(f"SELECT s.name, r.slot {_OF_BINS} AND r.trigger_name IN :triggers[text] ORDER BY 1, 2")
_DECIDED = Statement(f"""
    SELECT {DECISION_COLUMNS} FROM tickwise_schedules s JOIN tickwise_decisions d ON d.schedule_id = s.id
    WHERE {_LIVE} AND d.first_slot < :until AND d.last_slot >= :since AND NOT (d.reason IN :waits[text])
    ORDER BY s.name, d.first_slot, d.reason
""")
_AILING_RUNS = Statement("""
    SELECT s.name FROM tickwise_schedules s WHERE s.deleted IS NULL AND (
        SELECT r.state FROM tickwise_runs r WHERE r.schedule_id = s.id AND r.slot IS NOT NULL
        ORDER BY r.slot DESC LIMIT 1) IN :states[text]
""")
_SKIPPED = Statement("""
    SELECT s.name FROM tickwise_schedules s WHERE s.deleted IS NULL AND s.id IN (
        SELECT schedule_id FROM tickwise_decisions WHERE last_slot >= :since AND reason IN :reasons[text])
""")
_WAITS = sorted(reason.code for reason in WAITS)


def recent(names: Sequence[str], limit: int, before: int) -> Procedure[dict[str, RecentSlots]]:
    runs: dict[str, list[SlotRun]] = defaultdict(list)
    for name, slot, run, state, *rest in (yield _RECENT_RUNS(names=list(names), newer=limit - 1, until=before)):
        runs[name].append(SlotRun(slot, str(run), RunState(state), *rest))
    rows = yield _RECENT_DECISIONS(names=list(names), newer=limit - 1, until=before, waits=_WAITS)
    decisions = _by_schedule(map(decision_row, rows))
    return {
        name: RecentSlots(tuple(runs.get(name, ())), tuple(decisions.get(name, ())))
        for name in {*runs, *decisions}
    }


def slot_counts(names: Sequence[str], bins: Bins) -> Procedure[dict[str, SlotCounts]]:
    given = {"names": list(names), "since": bins.since, "until": bins.until}
    runs: dict[str, list[RunCount]] = defaultdict(list)
    for name, place, state, retried, number in (yield _COUNTS(step=bins.step, **given)):
        runs[name].append(RunCount(place, RunState(state), bool(retried), number))
    decisions = _by_schedule(map(decision_row, (yield _DECIDED(waits=_WAITS, **given))))
    again: dict[str, list[int]] = defaultdict(list)
    if decisions:
        for name, slot in (yield _AGAIN(triggers=sorted(map(str, AGAIN)), **{**given, "names": list(decisions)})):
            again[name].append(slot)
    return {
        name: SlotCounts(tuple(runs.get(name, ())), tuple(again[name]), tuple(decisions.get(name, ())))
        for name in {*runs, *decisions}
    }


def ailing(since: int, reasons: frozenset[Reason]) -> Procedure[tuple[str, ...]]:
    runs = yield _AILING_RUNS(states=sorted(map(str, AILING)))
    skipped = yield _SKIPPED(since=since, reasons=sorted(reason.code for reason in reasons))
    return tuple(sorted({name for (name,) in (*runs, *skipped)}))


def _by_schedule(rows: Iterable[DecisionRow]) -> dict[str, list[DecisionRow]]:
    found: dict[str, list[DecisionRow]] = defaultdict(list)
    for row in rows:
        found[row.schedule].append(row)
    return found
