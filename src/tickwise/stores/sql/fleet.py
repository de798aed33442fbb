"""Who is there: nodes and what they serve, the fleet's limits on queues, and the pause of everything."""

import json
from dataclasses import fields
from typing import Any, NamedTuple

from ...core.model import Pause
from ...core.payload import shown
from ..records import MICRO, Node, PauseInterval, QueueLimit, Role
from .statement import NOTIFY, Procedure, Statement

_DAY = 86_400 * MICRO
_BEAT = Statement("""
    INSERT INTO tickwise_nodes (id, facts, worker, serves, offers, started_at, seen_at, live_until, passed_at)
    SELECT CAST(:id AS {text}), CAST(:facts AS {text}), CAST(:worker AS {boolean}), CAST(:serves AS {text}), '',
        CAST(:now AS {bigint}), CAST(:now AS {bigint}), CAST(:live_until AS {bigint}),
        coalesce(CAST(:passed_at AS {bigint}), (SELECT passed_at FROM tickwise_nodes WHERE id = :id))
    WHERE TRUE
    {upsert id: facts, worker, serves, seen_at, live_until, passed_at}
""")
_BEFORE = Statement("""
    SELECT {now}, (SELECT serves FROM tickwise_nodes WHERE id = :id AND live_until > {now}),
        coalesce((SELECT seen_at FROM tickwise_nodes WHERE id = :id), 0)
""")
_OFFER = Statement("UPDATE tickwise_nodes SET offers = :offers WHERE id = :id")
_FORGET = Statement("DELETE FROM tickwise_nodes WHERE id = :id")
_NODES = Statement("""
    SELECT facts, serves, started_at, seen_at, passed_at FROM tickwise_nodes WHERE seen_at > :since ORDER BY id
""")
_LIMIT = Statement("""
    INSERT INTO tickwise_queues (name, concurrency, starts_per_second, credit, credited_at)
    VALUES (:name, :concurrency, :rate, :credit, :now)
    {upsert name: concurrency, starts_per_second, credit, credited_at}
""")
_PAUSE_QUEUE = Statement("""
    INSERT INTO tickwise_queues (name, credit, credited_at, paused_at, paused_by, pause_reason, resumes_at)
    VALUES (:name, 1, :now, :second, :by, :reason, :until)
    {upsert name: paused_at, paused_by, pause_reason, resumes_at}
""")
_DROP_UNLIMITED = Statement("""
    DELETE FROM tickwise_queues
    WHERE name = :name AND concurrency IS NULL AND starts_per_second IS NULL AND paused_at IS NULL
""")
_LIMITS = Statement("""
    SELECT name, concurrency, starts_per_second, paused_at, paused_by, pause_reason, resumes_at
    FROM tickwise_queues ORDER BY name
""", alone=True)  # fmt: skip
_PAUSED = Statement("SELECT id FROM tickwise_pauses WHERE until IS NULL")
_PAUSE = Statement("""
    {insert_free} INTO tickwise_pauses (paused_at, paused_by, reason, resumes_at)
    VALUES (:second, :by, :reason, :until) {if_free}
""")
_PAUSE_LONGER = Statement("UPDATE tickwise_pauses SET resumes_at = :until WHERE until IS NULL")
_OVER = Statement("SELECT id FROM tickwise_pauses WHERE until IS NULL AND resumes_at <= :second {lock_free}")
_END = Statement("""
    UPDATE tickwise_pauses SET until = resumes_at, resumes_at = NULL WHERE until IS NULL AND resumes_at <= :second
""")
_RESUME = Statement("UPDATE tickwise_pauses SET until = :second, resumes_at = NULL WHERE until IS NULL")
_PAUSES = Statement(
    "SELECT paused_at, paused_by, reason, until, resumes_at FROM tickwise_pauses ORDER BY id DESC", alone=True
)
_NUMBER_RUNS = Statement("{number_runs} :first {end_number_runs}")
_CLOCK = Statement("SELECT {now}")
_ONLY_CLOCK = Statement("SELECT {now}", alone=True)


def clock() -> Procedure[int]:
    """The store's time, for a procedure that asks more than that."""
    return int((yield _CLOCK())[0][0])


def now() -> Procedure[int]:
    """The store's time."""
    return int((yield _ONLY_CLOCK())[0][0])


def skip_run_numbers() -> Procedure[int]:
    first = (yield from clock()) // 1_000
    yield _NUMBER_RUNS(first=first)
    return first


class RecordedBeat(NamedTuple):
    """What is known of a node that said that it lives."""

    now: int
    seen_before: int  # when it last said so; 0 if never
    is_new: bool  # its worker has come alive, or offers something else than before


def record_alive(node: Node, *, passed: bool) -> Procedure[RecordedBeat]:
    """Record that a node is alive, and what it serves."""
    is_worker = Role.WORKER in node.roles
    serves = " ".join((node.offers.digest, *node.queues)) if is_worker else ""
    now, before, seen_before = (yield _BEFORE(id=node.id))[0]
    yield _BEAT(
        id=node.id, facts=json.dumps({name: getattr(node, name) for name in _FACTS}), worker=is_worker,
        serves=serves, now=now, live_until=now + node.seconds * MICRO, passed_at=now if passed else None,
    )  # fmt: skip
    is_new = is_worker and serves != before
    if is_new:
        yield _OFFER(id=node.id, offers=node.offers.text)
    return RecordedBeat(now, seen_before, is_new)


_OWN_COLUMNS = frozenset({"offers", "started_at", "seen_at", "passed_at"})
_FACTS = tuple(field.name for field in fields(Node) if field.name not in _OWN_COLUMNS)
_TUPLES = frozenset({"queues", "roles", "problems", "sources", "orphans", "undelivered", "set_back"})
_NEEDED = frozenset({"id", "roles", "queues"})


def forget(node: str) -> Procedure[None]:
    yield _FORGET(id=node)


class NodeRecord(NamedTuple):
    """A node as it described itself, and what it serves."""

    node: Node
    serves: str


def node_records() -> Procedure[list[NodeRecord]]:
    now = yield from clock()
    rows = yield _NODES(since=now - _DAY)
    return [NodeRecord(_node(known, *times), serves) for facts, serves, *times in rows if (known := _facts(facts))]


def _facts(text: str) -> dict[str, Any]:
    """What a node said of itself; nothing, if that is damaged: it will say it again."""
    facts = shown(text)
    return facts if isinstance(facts, dict) and facts.keys() >= _NEEDED else {}


def _node(facts: dict[str, Any], started_at: int, seen_at: int, passed_at: int | None) -> Node:
    known: dict[str, Any] = {
        name: tuple(v) if name in _TUPLES else v for name, v in facts.items() if name in _FACTS
    }
    known["roles"] = tuple(role for role in Role if role in known["roles"])  # a newer version may know others
    return Node(**known, started_at=started_at, seen_at=seen_at, passed_at=passed_at)


def limit(wanted: QueueLimit) -> Procedure[None]:
    now = yield from clock()
    burst = max(1.0, wanted.starts_per_second or 1.0)
    yield _LIMIT(
        name=wanted.queue, concurrency=wanted.concurrency, rate=wanted.starts_per_second, credit=burst, now=now
    )
    yield _DROP_UNLIMITED(name=wanted.queue)
    yield NOTIFY


def pause_queue(queue: str, wanted: Pause | None) -> Procedure[None]:
    now = yield from clock()
    by, reason, until = (wanted.by, wanted.reason, wanted.until) if wanted else (None, None, None)
    second = now // MICRO if wanted else None
    yield _PAUSE_QUEUE(name=queue, now=now, second=second, by=by, reason=reason, until=until)
    yield _DROP_UNLIMITED(name=queue)
    yield NOTIFY


def limits() -> Procedure[tuple[QueueLimit, ...]]:
    return tuple(
        QueueLimit(name, concurrency, rate, None if pause[0] is None else Pause(*pause))
        for name, concurrency, rate, *pause in (yield _LIMITS())
    )


def pause(wanted: Pause | None) -> Procedure[None]:
    now = yield from clock()
    paused = yield _PAUSED()
    if wanted and paused:
        yield _PAUSE_LONGER(until=wanted.until)
    elif wanted:
        yield _PAUSE(second=now // MICRO, by=wanted.by, reason=wanted.reason, until=wanted.until)
    elif paused:
        yield _RESUME(second=now // MICRO)
        yield NOTIFY


def end_pause() -> Procedure[bool]:
    second = (yield from clock()) // MICRO
    if not (yield _OVER(second=second)):
        return False
    yield _END(second=second)
    yield NOTIFY
    return True


def pauses() -> Procedure[tuple[PauseInterval, ...]]:
    return tuple(PauseInterval(*row) for row in (yield _PAUSES()))
