"""Slots for people: the newest of some schedules, counts of them in bins, and which schedules ail.

Each read takes runs from the unique index of slots and decisions from their key, so its cost grows with the slots
of the schedules that were asked for. Counts read no run: all slots that have one are in an index, and those whose
run did not simply succeed are in a second, small one. Only `ailing` looks at all schedules, for one entry of each.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ...core.reasons import Reason
from ...core.slot_history import AGAIN, Bins, RunCount, SlotRun
from ...core.states import RunState
from ..records import DecisionRow
from ..statistics import AILING, ERROR_LENGTH, NOT_FINAL, RecentSlots, SlotCounts
from .insights import DECISION_COLUMNS, decision_row
from .runs import RUNNING
from .statement import Procedure, Statement

_LIVE = "s.name IN :names[text] AND s.deleted IS NULL"
_WITH_OLDEST = f"""
    WITH s AS {{{{materialized}}}} (SELECT id, name, coalesce(({{oldest}} LIMIT 1 OFFSET :newer), 0) AS oldest
        FROM tickwise_schedules AS s WHERE {_LIVE})
"""
_RECENT_RUNS = Statement(
    _WITH_OLDEST.format(
        oldest="SELECT slot FROM tickwise_runs WHERE schedule_id = s.id AND slot < :until ORDER BY slot DESC"
    )
    + f"""
    SELECT s.name, r.slot, r.id, r.state, r.attempt, r.due_at, r.started_at, r.finished_at,
        substr(coalesce(r.error, ''), 1, {ERROR_LENGTH})
    FROM s JOIN tickwise_runs r ON r.schedule_id = s.id AND r.slot >= s.oldest AND r.slot < :until
    ORDER BY s.name, r.slot
"""
)
_RECENT_DECISIONS = Statement(
    _WITH_OLDEST.format(
        oldest="""SELECT first_slot FROM tickwise_decisions
            WHERE schedule_id = s.id AND first_slot < :until AND NOT (reason IN :not_final[text])
            ORDER BY first_slot DESC"""
    )
    + f"""
    SELECT {DECISION_COLUMNS}
    FROM s JOIN tickwise_decisions d ON d.schedule_id = s.id AND d.first_slot >= s.oldest AND d.first_slot < :until
    WHERE NOT (d.reason IN :not_final[text]) ORDER BY s.name, d.first_slot, d.reason
"""
)
_OF_BINS = f"""FROM tickwise_schedules s JOIN tickwise_runs r ON r.schedule_id = s.id
    WHERE {_LIVE} AND r.slot >= :since AND r.slot < :until"""
_QUEUED = "id IN (SELECT id FROM tickwise_runs WHERE queued = TRUE)"  # by its index, and not one by one
_ALL, _RETRIED = "all", "retried"  # the second is what `unusual` says of a success after another attempt
_COUNTS = Statement(
    " UNION ALL ".join(
        f"SELECT s.name, (r.slot - :since) {{div}} :step, {kind}, count(*) {_OF_BINS}{which} GROUP BY 1, 2, 3"
        for kind, which in (
            (f"'{_ALL}'", ""),  # from an index alone, as is the next; so what simply succeeded is what is left
            ("r.unusual", " AND r.unusual IS NOT NULL"),
            ("'queued'", f" AND r.{_QUEUED} AND r.unusual IS NULL"),
            ("'running'", f" AND r.{RUNNING} AND r.unusual IS NULL"),
        )
    )
)
_DECIDED = Statement(f"""
    SELECT {DECISION_COLUMNS} FROM tickwise_schedules s JOIN tickwise_decisions d ON d.schedule_id = s.id
    WHERE {_LIVE} AND d.first_slot < :until AND d.last_slot >= :since AND NOT (d.reason IN :not_final[text])
    ORDER BY s.name, d.first_slot, d.reason
""")
_AGAIN = Statement(f"""
    SELECT DISTINCT s.name, r.slot
    FROM tickwise_schedules s CROSS JOIN tickwise_decisions d CROSS JOIN tickwise_runs r
    WHERE {_LIVE} AND d.schedule_id = s.id AND d.first_slot < :until AND d.last_slot >= :since
        AND r.schedule_id = s.id AND r.slot >= d.first_slot AND r.slot <= d.last_slot
        AND r.slot >= :since AND r.slot < :until AND r.trigger_name IN :triggers[text] ORDER BY 1, 2
""")
_AILING_RUNS = Statement("""
    SELECT s.name FROM tickwise_schedule_state s
    JOIN tickwise_runs r ON r.schedule_id = s.id AND r.slot = s.last_slot
    WHERE s.deleted IS NULL AND r.unusual IS NOT NULL AND r.unusual IN :states[text]
""")
_SKIPPED = Statement("""
    SELECT s.name FROM tickwise_schedules s WHERE s.deleted IS NULL AND s.id IN (
        SELECT schedule_id FROM tickwise_decisions WHERE last_slot >= :since AND reason IN :reasons[text])
""")
_NOT_FINAL = sorted(reason.code for reason in NOT_FINAL)


def recent(names: Sequence[str], limit: int, before: int) -> Procedure[dict[str, RecentSlots]]:
    runs: dict[str, list[SlotRun]] = defaultdict(list)
    for name, slot, run, state, *rest in (yield _RECENT_RUNS(names=list(names), newer=limit - 1, until=before)):
        runs[name].append(SlotRun(slot, str(run), RunState(state), *rest))
    rows = yield _RECENT_DECISIONS(names=list(names), newer=limit - 1, until=before, not_final=_NOT_FINAL)
    decisions = _by_schedule(map(decision_row, rows))
    return {
        name: RecentSlots(tuple(runs.get(name, ())), tuple(decisions.get(name, ())))
        for name in {*runs, *decisions}
    }


def slot_counts(names: Sequence[str], bins: Bins) -> Procedure[dict[str, SlotCounts]]:
    given = {"names": list(names), "since": bins.since, "until": bins.until}
    counts: dict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
    for name, place, kind, number in (yield _COUNTS(step=bins.step, **given)):
        counts[name][place, kind] += number
    decisions = _by_schedule(map(decision_row, (yield _DECIDED(not_final=_NOT_FINAL, **given))))
    again: dict[str, list[int]] = defaultdict(list)
    if decisions:
        for name, slot in (yield _AGAIN(triggers=sorted(map(str, AGAIN)), **{**given, "names": list(decisions)})):
            again[name].append(slot)
    return {
        name: SlotCounts(_run_counts(counts[name]), tuple(again[name]), tuple(decisions.get(name, ())))
        for name in {*counts, *decisions}
    }


def _run_counts(counts: Counter[tuple[int, str]]) -> tuple[RunCount, ...]:
    """By bin and state; those in no other state have simply succeeded."""
    found: Counter[tuple[int, RunState, bool]] = Counter()
    for (place, kind), number in counts.items():
        if kind == _ALL:
            found[place, RunState.SUCCEEDED, False] += number
            continue
        state = RunState.SUCCEEDED if kind == _RETRIED else RunState(kind)
        found[place, state, kind == _RETRIED] += number
        found[place, RunState.SUCCEEDED, False] -= number
    return tuple(RunCount(*key, number) for key, number in sorted(found.items()) if number)


def ailing(since: int, reasons: frozenset[Reason]) -> Procedure[tuple[str, ...]]:
    runs = yield _AILING_RUNS(states=sorted(map(str, AILING)))
    skipped = yield _SKIPPED(since=since, reasons=sorted(reason.code for reason in reasons))
    return tuple(sorted({name for (name,) in (*runs, *skipped)}))


def _by_schedule(rows: Iterable[DecisionRow]) -> dict[str, list[DecisionRow]]:
    found: dict[str, list[DecisionRow]] = defaultdict(list)
    for row in rows:
        found[row.schedule].append(row)
    return found
