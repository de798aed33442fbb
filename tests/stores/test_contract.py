"""The contract checks what it is given: a made-up store, whose moves do nothing, never sees bad input."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from tickwise.core.backfill import BackfillAsked
from tickwise.core.change import Deleted, Paused, Rescheduled, Switched
from tickwise.core.definition import JobDefinition
from tickwise.core.errors import InputError
from tickwise.core.handover import Alive
from tickwise.core.model import Pause, Trigger
from tickwise.core.settle import Succeeded, TooLate
from tickwise.core.slot_history import Bins
from tickwise.stores.access_contract import Access
from tickwise.stores.access_records import AccessRole, AuditEntry, Token
from tickwise.stores.contract import Store
from tickwise.stores.insights_contract import Insights
from tickwise.stores.memory.access import MemoryAccess
from tickwise.stores.memory.insights import MemoryInsights
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.mongo.access import MongoAccess
from tickwise.stores.mongo.store import MongoInsights, MongoStore
from tickwise.stores.records import (
    LOG_TAIL,
    MICRO,
    DecisionFilter,
    DecisionKey,
    Enqueue,
    Finish,
    LeaseRequest,
    LogPart,
    Node,
    QueueLimit,
    RunFilter,
    ScheduleFilter,
    StepReport,
    TickRequest,
)
from tickwise.stores.redis.access import RedisAccess
from tickwise.stores.redis.store import RedisInsights, RedisStore
from tickwise.stores.sql.access import SqlAccess
from tickwise.stores.sql.store import SqlInsights, SqlStore
from tickwise.stores.validation import MAX_SECOND
from tickwise.testing.conformance.bad_input import WRONG_NAMES, WRONG_PARAMS, WRONG_TEXTS
from tickwise.testing.conformance.world import job

CONTRACTS = Store, Insights, Access
STORES = (
    (MemoryStore, SqlStore, MongoStore, RedisStore),
    (MemoryInsights, SqlInsights, MongoInsights, RedisInsights),
    (MemoryAccess, SqlAccess, MongoAccess, RedisAccess),
)
WRONG_IDS = ["", "abc", "-1", "1.5", "9" * 40, "1\0", "\ud800", " 1", "1' OR '1'='1", "²"]
WRONG_SECONDS = [10**13, -(10**13), 10**30]
WRONG_INSTANTS = [second * MICRO for second in WRONG_SECONDS]
WRONG_SIZES = [0, -1, 10_001, 10**9]
WRONG_SPANS = [0, -1, 10**9]
WRONG_KEYS = ["abc", "\0", "", "[1]", "9" * 40]
WRONG_DECISION_KEYS = [
    *WRONG_KEYS,
    '["1", "a", "b"]',
    '[1, 2, "b"]',
    "[Infinity, null, 1]",
    f'[{10**30}, "a", "b"]',
]
TOKEN = Token("id", "name", AccessRole.VIEWER)


class Bad(NamedTuple):
    """Something that is asked of a contract, and what cannot be asked."""

    ask: Callable[[Any, Any], Awaitable[Any]]
    inputs: Iterable[Any]


def _each(
    fields: Sequence[str], ask: Callable[[Any, str, Any], Awaitable[Any]], inputs: Iterable[Any]
) -> list[Bad]:
    def of(field: str) -> Bad:
        return Bad(lambda contract, bad: ask(contract, field, bad), inputs)

    return list(map(of, fields))


def _schedules(insights: Insights, field: str, bad: Any) -> Awaitable[Any]:
    return insights.schedules(ScheduleFilter(**{field: bad}))


def _runs(insights: Insights, field: str, bad: Any) -> Awaitable[Any]:
    return insights.runs(RunFilter(**{field: bad}))


def _decisions(insights: Insights, field: str, bad: Any) -> Awaitable[Any]:
    return insights.decisions(DecisionFilter(**{field: bad}))


def _record(access: Access, field: str, bad: Any) -> Awaitable[Any]:
    return access.record([AuditEntry("w", "a", "s")._replace(**{field: bad})])


MOVES: dict[str, list[Bad]] = {
    "_define": [
        Bad(lambda store, bad: store.define(JobDefinition(bad), "app"), WRONG_NAMES),
        Bad(lambda store, bad: store.define(job("a", queue=bad), "app"), WRONG_NAMES),
        Bad(lambda store, bad: store.define(job("a"), bad), WRONG_TEXTS),
    ],
    "_extend": [
        Bad(lambda store, bad: store.extend(JobDefinition(bad), "app"), WRONG_NAMES),
        Bad(lambda store, bad: store.extend(job("a"), bad), WRONG_TEXTS),
    ],
    "_reassign": [
        Bad(lambda store, bad: store.reassign(bad, "app", "api"), WRONG_TEXTS),
        Bad(lambda store, bad: store.reassign("a", "app", bad), WRONG_TEXTS),
    ],
    "_remove": [Bad(lambda store, bad: store.remove(bad, "app"), WRONG_TEXTS)],
    "_change": [
        Bad(lambda store, bad: store.change(bad, Paused()), WRONG_TEXTS),
        Bad(lambda store, bad: store.change("a", Paused(bad)), WRONG_TEXTS),
        Bad(lambda store, bad: store.change("a", Rescheduled(bad)), WRONG_SECONDS),
        Bad(lambda store, bad: store.change("a", BackfillAsked(0, bad)), WRONG_SECONDS),
        Bad(lambda store, bad: store.change("a", bad), [Deleted("app"), Switched(enabled=False)]),
    ],
    "_pause": [Bad(lambda store, bad: store.pause(Pause(0, "ann", bad)), WRONG_TEXTS)],
    "_tick": [
        Bad(lambda store, bad: store.tick(None, bad), WRONG_TEXTS),
        Bad(lambda store, bad: store.tick(None, "n", reserve=LeaseRequest("n", 1, (bad,))), WRONG_NAMES),
    ],
    "_enqueue": [
        Bad(lambda store, bad: store.enqueue([Enqueue("a"), Enqueue(bad)]), WRONG_TEXTS),
        Bad(lambda store, bad: store.enqueue([Enqueue("a", key=bad)]), WRONG_TEXTS),
        Bad(lambda store, bad: store.enqueue([Enqueue("a", by=bad)]), WRONG_TEXTS),
        Bad(lambda store, bad: store.enqueue([Enqueue("a", params=bad)]), WRONG_PARAMS),
        Bad(lambda store, bad: store.enqueue([Enqueue("a", at=bad)]), WRONG_SECONDS),
        Bad(
            lambda store, bad: store.enqueue([Enqueue("a", bad)]),
            set(Trigger) - {Trigger.ENQUEUE, Trigger.MANUAL, Trigger.STEP},
        ),
        Bad(lambda store, bad: store.enqueue(bad), [[Enqueue("a")] * 10_001]),
    ],
    "_cancel": [Bad(lambda store, bad: store.cancel(bad), WRONG_IDS)],
    "_wake": [Bad(lambda store, bad: store.wake(bad), WRONG_IDS)],
    "_answer_step": [
        Bad(lambda store, bad: store.answer_step(bad, StepReport("answer:1", "approve")), WRONG_IDS),
        Bad(lambda store, bad: store.answer_step("1", StepReport(bad, "approve")), WRONG_TEXTS),
    ],
    "_retry": [Bad(lambda store, bad: store.retry(bad), WRONG_IDS)],
    "_lease": [
        Bad(lambda store, bad: store.lease(LeaseRequest(bad, 1)), WRONG_TEXTS),
        Bad(lambda store, bad: store.lease(LeaseRequest("n", 1, ("default", bad))), WRONG_NAMES),
    ],
    "_attempt": [Bad(lambda store, bad: store.attempt(bad), WRONG_IDS)],
    "_hand_over": [
        Bad(lambda store, bad: store.hand_over(bad, "t", Alive("c")), WRONG_IDS),
        Bad(lambda store, bad: store.hand_over("1", bad, Alive("c")), WRONG_TEXTS),
    ],
    "_adopt": [
        Bad(lambda store, bad: store.adopt(LeaseRequest(bad, 1)), WRONG_TEXTS),
        Bad(lambda store, bad: store.adopt(LeaseRequest("n", 1, ("default", bad))), WRONG_NAMES),
        Bad(lambda store, bad: store.adopt(LeaseRequest("n", bad)), [0]),
    ],
    "_report": [
        Bad(lambda store, bad: store.report(bad, "t"), WRONG_IDS),
        Bad(lambda store, bad: store.report("1", bad), WRONG_TEXTS),
        Bad(lambda store, bad: store.report("1", "t", [StepReport(bad, "x")]), WRONG_TEXTS),
        Bad(lambda store, bad: store.report("1", "t", [StepReport("s", bad)]), WRONG_TEXTS),
        Bad(
            lambda store, bad: store.report("1", "t", [StepReport("s", "x", outputs=bad)]),
            ["{", "{} {}", '"\\u0000"'],
        ),
        Bad(lambda store, bad: store.report("1", "t", log=[LogPart(bad, "out", "", 0)]), WRONG_TEXTS),
        Bad(lambda store, bad: store.report("1", "t", log=[LogPart("s", bad, "", 0)]), WRONG_TEXTS),
    ],
    "_finish": [
        Bad(lambda store, bad: store.finish([Finish(bad, "t", Succeeded())]), WRONG_IDS),
        Bad(lambda store, bad: store.finish([Finish("1", bad, Succeeded())]), WRONG_TEXTS),
        Bad(lambda store, bad: store.finish([Finish("1", "t", bad)]), [TooLate()]),
        Bad(lambda store, bad: store.finish(bad), [[]]),
    ],
    "_beat": [
        Bad(lambda store, bad: store.beat(Node("n", ()), {"1": "t", bad: "t"}), WRONG_IDS),
        Bad(lambda store, bad: store.beat(Node("n", ()), {"1": bad}), WRONG_TEXTS),
        Bad(lambda store, bad: store.beat(Node(bad, ())), WRONG_TEXTS),
        Bad(lambda store, bad: store.beat(Node("n", (), host=bad)), WRONG_TEXTS),
        Bad(lambda store, bad: store.beat(Node("n", (), version=bad)), WRONG_TEXTS),
        Bad(lambda store, bad: store.beat(Node("n", (), queues=(bad,))), WRONG_NAMES),
    ],
    "_leave": [Bad(lambda store, bad: store.leave(bad), WRONG_TEXTS)],
    "_limit": [
        Bad(lambda store, bad: store.limit(QueueLimit(bad, 1)), WRONG_NAMES),
        Bad(lambda store, bad: store.limit(QueueLimit("q", bad)), [0, -1]),
        Bad(lambda store, bad: store.limit(QueueLimit("q", None, bad)), [0.0, -1.0, math.nan, math.inf]),
    ],
    "_pause_queue": [
        Bad(lambda store, bad: store.pause_queue(bad, None), WRONG_NAMES),
        Bad(lambda store, bad: store.pause_queue("q", Pause(0, bad)), WRONG_TEXTS),
        Bad(lambda store, bad: store.pause_queue("q", Pause(0, "", bad)), WRONG_TEXTS),
    ],
    "_prune": [Bad(lambda store, bad: store.prune(bad), [0, -1])],
    "_job": [Bad(lambda insights, bad: insights.job(bad), WRONG_TEXTS)],
    "_jobs": [
        Bad(lambda insights, bad: insights.jobs(bad), WRONG_TEXTS),
        Bad(lambda insights, bad: insights.jobs(limit=bad), WRONG_SIZES),
    ],
    "_ended": [
        Bad(lambda insights, bad: insights.ended(frozenset({bad}), 0), WRONG_TEXTS),
        Bad(lambda insights, bad: insights.ended(frozenset({"a"}), bad), WRONG_INSTANTS),
        Bad(lambda insights, bad: insights.ended(frozenset({"a"}), 0, limit=bad), WRONG_SIZES),
    ],
    "_jobs_named": [Bad(lambda insights, bad: insights.jobs_named([bad]), WRONG_TEXTS)],
    "_as_written": [
        Bad(lambda insights, bad: insights.as_written([JobDefinition(bad)], "app"), WRONG_NAMES),
        Bad(lambda insights, bad: insights.as_written([job("a")], bad), WRONG_TEXTS),
    ],
    "_schedule": [Bad(lambda insights, bad: insights.schedule(bad), WRONG_TEXTS)],
    "_schedules": [
        *_each(("job", "text", "source"), _schedules, WRONG_TEXTS),
        Bad(lambda insights, bad: insights.schedules(ScheduleFilter(due_before=bad)), WRONG_SECONDS),
        Bad(lambda insights, bad: insights.schedules(after=bad), WRONG_TEXTS),
        Bad(lambda insights, bad: insights.schedules(limit=bad), WRONG_SIZES),
    ],
    "_definition_of": [Bad(lambda insights, bad: insights.definition_of(bad), WRONG_IDS)],
    "_run": [Bad(lambda insights, bad: insights.run(bad), WRONG_IDS)],
    "_runs": [
        *_each(("job", "schedule", "queue", "key", "text"), _runs, WRONG_TEXTS),
        Bad(lambda insights, bad: insights.runs(RunFilter(slot=bad)), WRONG_SECONDS),
        Bad(lambda insights, bad: insights.runs(RunFilter(since=bad)), WRONG_INSTANTS),
        Bad(lambda insights, bad: insights.runs(RunFilter(until=bad)), WRONG_INSTANTS),
        Bad(lambda insights, bad: insights.runs(after=bad), WRONG_KEYS),
        Bad(lambda insights, bad: insights.runs(limit=bad), WRONG_SIZES),
    ],
    "_attempts": [Bad(lambda insights, bad: insights.attempts(bad), WRONG_IDS)],
    "_steps": [Bad(lambda insights, bad: insights.steps(bad), WRONG_IDS)],
    "_log": [
        Bad(lambda insights, bad: insights.log(bad), WRONG_IDS),
        Bad(lambda insights, bad: insights.log("1", bad), WRONG_KEYS),
        Bad(lambda insights, bad: insights.log("1", limit=bad), WRONG_SIZES),
    ],
    "_decisions": [
        Bad(lambda insights, bad: insights.decisions(DecisionFilter(schedule=bad)), WRONG_TEXTS),
        *_each(("slot", "since", "until"), _decisions, WRONG_SECONDS),
        Bad(lambda insights, bad: insights.decisions(after=bad), WRONG_DECISION_KEYS),
        Bad(lambda insights, bad: insights.decisions(limit=bad), WRONG_SIZES),
    ],
    "_minute_stats": [Bad(lambda insights, bad: insights.minute_stats(bad), WRONG_SPANS)],
    "_timeline": [
        Bad(lambda insights, bad: insights.timeline(bad, 1), WRONG_INSTANTS),
        Bad(lambda insights, bad: insights.timeline(0, bad), WRONG_INSTANTS),
        Bad(lambda insights, bad: insights.timeline(0, 1, bad), WRONG_SIZES),
    ],
    "_run_groups": [
        Bad(lambda insights, bad: insights.run_groups(limit=bad), WRONG_SIZES),
        Bad(lambda insights, bad: insights.run_groups(RunFilter(error=bad)), WRONG_TEXTS),
        Bad(lambda insights, bad: insights.run_groups(RunFilter(words=(bad,))), WRONG_TEXTS),
    ],
    "_recent": [
        Bad(lambda insights, bad: insights.recent(["a"], bad), WRONG_SIZES),
        Bad(lambda insights, bad: insights.recent(["a"], 12, bad), WRONG_SECONDS),
    ],
    "_slot_counts": [
        Bad(lambda insights, bad: insights.slot_counts(["a"], Bins(bad, 1, 1)), WRONG_SECONDS),
        Bad(lambda insights, bad: insights.slot_counts(["a"], Bins(0, bad, 1)), [0, -1, *WRONG_SECONDS]),
        Bad(lambda insights, bad: insights.slot_counts(["a"], Bins(0, 1, bad)), [0, -1, 10**6]),
    ],
    "_ailing": [Bad(lambda insights, bad: insights.ailing(bad, frozenset()), WRONG_SECONDS)],
    "_hourly_stats": [
        Bad(lambda insights, bad: insights.hourly_stats(bad), WRONG_SPANS),
        Bad(lambda insights, bad: insights.hourly_stats(24, bad), WRONG_TEXTS),
    ],
    "_changes_since": [
        Bad(lambda insights, bad: insights.changes_since(bad), WRONG_INSTANTS),
        Bad(lambda insights, bad: insights.changes_since(0, bad), WRONG_SIZES),
    ],
    "_issue": [
        Bad(lambda access, bad: access.issue(TOKEN, bad), [*WRONG_TEXTS, ""]),
        Bad(lambda access, bad: access.issue(Token(bad, "n", AccessRole.VIEWER), "d"), [*WRONG_TEXTS, ""]),
        Bad(lambda access, bad: access.issue(Token("i", bad, AccessRole.VIEWER), "d"), [*WRONG_TEXTS, ""]),
        Bad(lambda access, bad: access.issue(Token("i", "n", bad), "d"), ["owner", ""]),
        Bad(
            lambda access, bad: access.issue(Token("i", "n", AccessRole.ADMIN, expires_at=bad), "d"), [-1, 10**30]
        ),
    ],
    "_token": [Bad(lambda access, bad: access.token(bad), WRONG_TEXTS)],
    "_revoke": [Bad(lambda access, bad: access.revoke(bad), WRONG_TEXTS)],
    "_record": [
        *_each(("who", "action", "subject"), _record, WRONG_TEXTS),
        Bad(lambda access, bad: access.record(bad), [[]]),
    ],
    "_audit": [
        Bad(lambda access, bad: access.audit(bad), WRONG_TEXTS),
        Bad(lambda access, bad: access.audit(after=bad), WRONG_KEYS),
        Bad(lambda access, bad: access.audit(limit=bad), WRONG_SIZES),
    ],
    "_claim": [
        Bad(lambda access, bad: access.claim(bad, "m", 30), WRONG_TEXTS),
        Bad(lambda access, bad: access.claim("k", bad, 30), WRONG_TEXTS),
        Bad(lambda access, bad: access.claim("k", "m", bad), [0, -1, 86_401]),
    ],
    "_answer": [
        Bad(lambda access, bad: access.answer(bad, "x"), WRONG_TEXTS),
        Bad(lambda access, bad: access.answer("k", bad), ["\0", "\ud800", "x" * 2**21]),
    ],
    "_text": [Bad(lambda access, bad: access.text(bad), WRONG_TEXTS)],
    "_replace_text": [
        Bad(lambda access, bad: access.replace_text(bad, "x", 0), WRONG_TEXTS),
        Bad(lambda access, bad: access.replace_text("k", bad, 0), ["\0", "\ud800", "x" * 2**21]),
    ],
    "_keep_calendar": [
        Bad(lambda access, bad: access.keep_calendar(bad, "x", 0), [*WRONG_TEXTS, ""]),
        Bad(lambda access, bad: access.keep_calendar("k", bad, 0), ["\0", "\ud800", "x" * 2**21]),
        Bad(lambda access, bad: access.keep_calendar("k", None, bad), [0, -1]),
    ],
}


class Recorder:
    """All three contracts in one; each move records what it is given."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []


def _moves(contract: type) -> set[str]:
    return {name for name in vars(contract) if name.startswith("_") and not name.startswith(("__", "_abc"))}


def _recording(name: str) -> Callable[..., Awaitable[None]]:
    async def move(self: Recorder, *given: Any, **_named: Any) -> None:
        self.seen.append((name, *given))

    return move


def _recorder(contract: type) -> Any:
    abstract: frozenset[str] = contract.__abstractmethods__  # type: ignore[attr-defined]
    moves = {name: _recording(name) for name in abstract | _moves(contract)}
    return type(f"Recording{contract.__name__}", (Recorder, contract), moves)()


def _contract_of(move: str) -> type:
    return next(contract for contract in CONTRACTS if move in vars(contract))


def _given(contract: type, ask: Callable[[Any], Awaitable[Any]]) -> list[tuple[Any, ...]]:
    """What the moves of a made-up store see of a call; nothing, if it is refused."""
    recorder = _recorder(contract)

    async def tried() -> None:
        with suppress(InputError):
            await ask(recorder)

    asyncio.run(tried())
    seen: list[tuple[Any, ...]] = recorder.seen
    return seen


@pytest.mark.parametrize("move", MOVES)
def test_bad_input_reaches_no_move(move: str) -> None:
    """It is refused with an `InputError`, or finds nothing, before the store is asked."""
    contract = _contract_of(move)
    for number, (ask, inputs) in enumerate(MOVES[move]):
        for bad in inputs:
            seen = _given(contract, lambda made_up, ask=ask, bad=bad: ask(made_up, bad))  # type: ignore[misc]
            assert (number, repr(bad)[:60], seen) == (number, repr(bad)[:60], [])


def test_every_move_is_tried() -> None:
    """A new move of the contract needs a line in the table above."""
    assert set().union(*map(_moves, CONTRACTS)) == set(MOVES)


@pytest.mark.parametrize(("contract", "stores"), list(zip(CONTRACTS, STORES, strict=True)))
def test_no_store_goes_round_the_checks(contract: type, stores: tuple[type, ...]) -> None:
    """A store implements moves; the public methods that check are the contract's own."""
    checking = {move.removeprefix("_") for move in _moves(contract)}
    assert [(store.__name__, name) for store in stores for name in checking & set(vars(store))] == []


def test_what_moves_are_given_is_normalised() -> None:
    """Ids are numbers, payloads are as they will be read back, and what cannot exist is left out."""
    lease = LeaseRequest("n", 1)
    assert _given(Store, lambda store: store.cancel("007")) == [("_cancel", 7)]
    node = Node("n", ())
    assert _given(Store, lambda store: store.beat(node, {"7": "t"}, 9)) == [("_beat", node, {7: "t"}, 9)]
    assert _given(Store, lambda store: store.tick(None, "n", jobs=["a", "\0"], reserve=lease)) == [
        ("_tick", None, TickRequest("n", 200, ("a",), lease))
    ]
    assert _given(Store, lambda store: store.enqueue([Enqueue("a", params={"t": (1, 2)})])) == [
        ("_enqueue", [Enqueue("a", params={"t": [1, 2]})], None)
    ]
    assert _given(Insights, lambda insights: insights.recent(["a", "\0"])) == [("_recent", ["a"], 12, MAX_SECOND)]
    assert _given(Insights, lambda insights: insights.as_written([job("a"), JobDefinition("-")], "app")) == [
        ("_as_written", [job("a")], "app")
    ]
    assert _given(Insights, lambda insights: insights.decisions(after='[1, "a", "late"]')) == [
        ("_decisions", DecisionFilter(), DecisionKey(1, "a", "late"), 100)
    ]


def test_results_and_texts_that_cannot_be_kept() -> None:
    """An attempt ends and reports without them: a note takes the place of a result, and long texts are cut."""
    ((_, (ended,)),) = _given(
        Store, lambda store: store.finish([Finish("07", "t", Succeeded(), {1}, "x" * 20_000)])
    )
    assert (ended.run, ended.result, len(ended.error) <= 10_000) == ("7", None, True)
    ((_, (noted,)),) = _given(Store, lambda store: store.finish([Finish("7", "t", Succeeded(), object())]))
    assert "the result was not kept" in noted.error
    long = [LogPart("s", "out", "x" * (LOG_TAIL + 1), 0)]
    ((*_, (part,)),) = _given(Store, lambda store: store.report("7", "t", log=long))
    assert len(part.text) <= LOG_TAIL
