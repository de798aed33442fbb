"""The hand-over of an attempt to an engine: its record, how that changes, and what a watcher makes of a look.

An engine is what a user already has to run work: Celery, Ray, Dask, Kubernetes, another machine. The attempt stays
`running`, held by the lease of a watcher, and this record is stored with it. The protocol (S52-S56):

1. Id first. The record with the reference `<run>.<attempt>` is stored before anything leaves the process. The
   reference is the engine's own id, so whoever is in doubt sends the same reference again.
2. Gate at the start. The work shows a ticket, which came with the order, and a claim, which it has made up. The
   first claim begins the attempt; the same claim may ask again, any other is told to leave. From then on the claim
   is the work's secret: a ticket that somebody reads in the engine's queue is of no use any more.
3. Adopt instead of repeat. The token of the lease stays the same when another watcher takes over. So two watchers
   do no harm: both only look, and the end is taken once, by the fence.
4. Three silences are three reasons. The engine does not answer: wait, up to the patience. It never heard of the
   reference: send it again. It forgot work that had begun: lost.

Instants are in microseconds, as in the stores' records of what really happened.
"""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from hmac import compare_digest
from typing import NamedTuple, TypeAlias

from .codec import encode_job
from .definition import JobDefinition
from .payload import clip, decode, to_json
from .settle import Failed, LeaseExpired, Lost, Outcome
from .states import HAND_OVER_MOVES, HandOverEvent, HandOverState
from .timeparse import format_duration

_MICRO = 1_000_000
_MAX_SAID = 500  # characters of what an engine says
DEFAULT_PATIENCE = 3_600  # seconds without an answer of the engine, unless the job has a timeout
WORK_LEASE = 30  # seconds after its last sign of life when work counts as dead; it stops itself before that
WORK_ENDS_ITSELF = 25  # seconds after its last answered sign of life when work has ended itself, at the latest
REPORT_GRACE = 10  # seconds between the end that an engine reports and the one that the work should have reported


class HandOver(NamedTuple):
    """What is stored about the hand-over of an attempt."""

    engine: str  # its name in the settings
    reference: str  # `<run>.<attempt>`, the engine's own id
    fingerprint: str  # of what was ordered: a second order of the reference must be the same
    token: str  # of the lease
    gated: bool = True  # whether the work asks the gate
    ticket: str = ""  # shown by the work at the gate; kept so that it can be ordered again, then as a digest
    patience: int = DEFAULT_PATIENCE  # seconds
    state: HandOverState = HandOverState.INTENDED
    claim: str = ""  # digest of the secret of the work that began
    accepted_at: int | None = None  # when the engine last said that it has it
    unheard_at: int | None = None  # when it last said that it never heard of it
    begun_at: int | None = None
    alive_at: int | None = None  # the last sign of life of the work
    ended_at: int | None = None  # when the engine first said that it is over, though no end was reported
    silent_since: int | None = None  # since when the engine does not answer
    silence: str = ""  # what its last answer was instead
    address: str = ""  # where the engine shows it to people
    log_cursor: str = ""  # how far the log that the engine keeps has been read

    @property
    def ticket_digest(self) -> str:
        """What a ticket is compared with, before the work has begun and afterwards; empty if it asks no gate."""
        return digest(self.ticket) if self.gated and self.begun_at is None else self.ticket

    @property
    def text(self) -> str:
        """The record as a store keeps it; `from_text` reads it back."""
        given = {name: value for name, value in self._asdict().items() if value != self._field_defaults.get(name)}
        return to_json(given, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> "HandOver":
        """Fields that only a newer version knows are left out: nodes are upgraded one at a time."""
        fields = {name: value for name, value in decode(text).items() if name in cls._fields}
        state = HandOverState(fields.pop("state", HandOverState.INTENDED))
        return cls(**fields, state=state)

    @property
    def unwatched(self) -> str:
        """Why a run is lost whose patience is over and that no node watches."""
        return f"no node has watched {self.reference} on {self.engine} for {format_duration(self.patience)}"


def reference_of(run: str, attempt: int) -> str:
    return f"{run}.{attempt}"


def digest(secret: str) -> str:
    """What is stored of a claim, and of a ticket that was used."""
    return blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def fingerprint_of(job: JobDefinition, params: object, token: str) -> str:
    """Equal for orders of the same work. The token tells apart the runs of two stores that share an engine."""
    text = f"{token}\n{job.name}\n{encode_job(job)}\n{to_json(params, sort_keys=True)}"
    return blake2b(text.encode(), digest_size=16).hexdigest()


# What changes a record. A store applies one change to the record of a running attempt, as one atomic move.


@dataclass(frozen=True, slots=True)
class Intended:
    """A watcher is about to order the work."""

    record: HandOver


@dataclass(frozen=True, slots=True)
class Accepted:
    """The engine has the reference."""

    address: str = ""


@dataclass(frozen=True, slots=True)
class Began:
    """The work asks the gate, with its ticket; or the engine says that work without a gate runs."""

    ticket: str = ""
    claim: str = ""


@dataclass(frozen=True, slots=True)
class Alive:
    """The work that began is alive."""

    claim: str


@dataclass(frozen=True, slots=True)
class Unheard:
    """The engine never heard of the reference."""


@dataclass(frozen=True, slots=True)
class Silent:
    """The engine does not answer, and is asked without a pause since `asked_since`."""

    problem: str
    asked_since: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """The engine answers again, and says nothing new."""


@dataclass(frozen=True, slots=True)
class Over:
    """The engine says that the work is over, but the work has not reported its end."""


@dataclass(frozen=True, slots=True)
class LogRead:
    """The log that the engine keeps was read up to here, and stored."""

    cursor: str


@dataclass(frozen=True, slots=True)
class ToldToEnd:
    """The engine was asked to end the work."""


HandOverChange: TypeAlias = (
    Intended | Accepted | Began | Alive | Unheard | Silent | Answered | Over | LogRead | ToldToEnd
)


def changed(record: HandOver | None, change: HandOverChange, now: int, *, cancelling: bool) -> HandOver | None:
    """The record after a change; none if the change is refused.

    `cancelling`: the run was asked to end, so work that has not begun does not begin.
    """
    if isinstance(change, Intended):
        return change.record if record is None or record == change.record else None
    if record is None:
        return None
    match change:
        case Began():
            return _begun(record, change, now, cancelling=cancelling)
        case Alive(claim):
            return record._replace(alive_at=now) if _is_same(record.claim, claim) else None
        case Accepted() | Unheard() | ToldToEnd():
            return _moved(_said(record, change, now), _EVENTS[type(change)])
        case _:
            return _said(record, change, now)


_EVENTS = {Accepted: HandOverEvent.ACCEPT, Unheard: HandOverEvent.UNHEARD, ToldToEnd: HandOverEvent.END}


def _said(record: HandOver, change: HandOverChange, now: int) -> HandOver:
    """The record with what an engine or a watcher said; its state is as before."""
    match change:
        case Silent(problem, asked_since):
            since = _silent_since(record, asked_since, now)
            return record._replace(silent_since=since, silence=clip(problem, _MAX_SAID))
        case LogRead(cursor):
            return record._replace(log_cursor=cursor)
        case Unheard():
            return _answered(record)._replace(unheard_at=now)
        case Over():
            return _answered(record)._replace(ended_at=now if record.ended_at is None else record.ended_at)
        case Accepted(address):
            first = now if record.state is HandOverState.INTENDED else record.accepted_at or now
            return _answered(record)._replace(
                address=clip(address, _MAX_SAID) or record.address, accepted_at=first
            )
        case _:
            return _answered(record)


def _silent_since(record: HandOver, asked_since: int, now: int) -> int:
    """When a silence began. It begins anew after a pause, in which the engine might have answered."""
    return now if record.silent_since is None else max(record.silent_since, asked_since)


def _begun(record: HandOver, change: Began, now: int, *, cancelling: bool) -> HandOver | None:
    """The gate (S53). Work without a gate begins when the engine says so."""
    claim = digest(change.claim) if record.gated else ""
    if record.state is HandOverState.BEGUN:
        return record._replace(alive_at=now) if record.claim == claim else None
    if cancelling or not compare_digest(digest(record.ticket), digest(change.ticket)):
        return None
    begun = record._replace(claim=claim, ticket=record.ticket_digest, begun_at=now, alive_at=now)
    return _moved(begun, HandOverEvent.BEGIN)


def _answered(record: HandOver) -> HandOver:
    return record._replace(silent_since=None, silence="")


def _moved(record: HandOver, event: HandOverEvent) -> HandOver | None:
    state = HAND_OVER_MOVES.get((record.state, event))
    return None if state is None else record._replace(state=state)


def _is_same(stored: str, secret: str) -> bool:
    return bool(stored) and compare_digest(stored, digest(secret))


# What a watcher makes of a look.


class Sight(StrEnum):
    """What an engine says about a reference."""

    WAITING = "waiting"  # it has the work, which does not run yet
    RUNNING = "running"
    ENDED = "ended"  # it is over there; `outcome` says how, if the engine knows
    UNKNOWN = "unknown"  # it has no such reference: it never heard of it, or has forgotten it
    UNSURE = "unsure"  # it answers, but cannot say whether it has the reference
    SILENT = "silent"  # it did not answer


class Sighting(NamedTuple):
    """One look at a reference."""

    sight: Sight
    outcome: Outcome | None = None  # of work that has ended; none: the engine does not know
    error: str = ""  # why it failed, or what the silence was
    address: str = ""  # where people find it


class Judgement(NamedTuple):
    """What a look means: a change of the record, an end, or neither. What is `intended` is ordered again."""

    change: HandOverChange | None = None
    outcome: Outcome | None = None
    error: str = ""


NOTHING_NEW = Judgement()


def judged(record: HandOver, seen: Sighting, now: int, asked_since: int = 0) -> Judgement:
    """What a watcher does about a look at a hand-over, by one that asks without a pause since then (S54, S55)."""
    if _is_dead(record, now):
        problem = f"the work on {record.engine} has given no sign of life for {format_duration(WORK_LEASE)}"
        return Judgement(outcome=LeaseExpired(), error=problem)
    is_in_doubt = record.state is HandOverState.INTENDED and record.silent_since is not None
    if seen.sight is Sight.SILENT or (seen.sight is Sight.UNSURE and is_in_doubt):
        return _judged_silence(record, Silent(seen.error or record.silence, asked_since), now)
    judgement = _judged_answer(record, seen, now)
    if judgement == NOTHING_NEW and record.silent_since is not None:
        return Judgement(Answered())
    return judgement


def _judged_answer(record: HandOver, seen: Sighting, now: int) -> Judgement:
    match seen.sight:
        case Sight.UNKNOWN:
            return _judged_unknown(record)
        case Sight.UNSURE:
            is_old = record.accepted_at is not None and now - record.accepted_at >= record.patience * _MICRO
            return Judgement(Unheard()) if is_old and record.state in _NOT_BEGUN else NOTHING_NEW
        case Sight.ENDED:
            return _judged_end(record, seen, now)
        case Sight.RUNNING if not record.gated and record.state in _NOT_BEGUN:
            return Judgement(Began())
        case _:
            is_news = record.state is HandOverState.INTENDED or record.silent_since is not None
            return Judgement(Accepted(seen.address)) if is_news else NOTHING_NEW


_NOT_BEGUN = (HandOverState.INTENDED, HandOverState.ACCEPTED)


def is_over(record: HandOver, seen: Sighting, now: int) -> bool:
    """Whether work that was told to end has ended for sure, or will never begin (S56)."""
    if record.gated and (record.begun_at is None or _is_dead(record, now)):
        return True  # the gate lets nobody in any more; or the work has ended itself
    return seen.sight in (Sight.ENDED, Sight.UNKNOWN) and _is_quiet(record, now)


def _judged_silence(record: HandOver, silent: Silent, now: int) -> Judgement:
    """What a silent engine means: nothing for work that gives signs of life by itself."""
    since = _silent_since(record, silent.asked_since, now)
    reports = record.gated and record.begun_at is not None
    if now - since >= record.patience * _MICRO and not reports:
        waited = format_duration(record.patience)
        return Judgement(outcome=Lost(), error=f"{record.engine} has not answered for {waited}: {silent.problem}")
    is_known = (record.silence, record.silent_since) == (silent.problem, since)
    return NOTHING_NEW if is_known else Judgement(silent)


def _is_dead(record: HandOver, now: int) -> bool:
    """Whether work that reports by itself has stopped to do so: it has ended itself before that (S42)."""
    return record.gated and record.alive_at is not None and now - record.alive_at > WORK_LEASE * _MICRO


def _is_quiet(record: HandOver, now: int) -> bool:
    """Whether the word of the engine counts that work is over.

    An engine that delivers an order twice says so when a copy has left that the gate did not let in. So it counts
    only of work that has given no sign of life for so long that it has ended itself; or that never gives any.
    """
    is_silent = record.alive_at is None or now - record.alive_at > WORK_ENDS_ITSELF * _MICRO
    return is_silent or not record.gated


def _judged_unknown(record: HandOver) -> Judgement:
    if record.state in _NOT_BEGUN:
        return Judgement(Unheard())
    if record.gated:
        return NOTHING_NEW  # the work reports by itself, and its silence says when it is dead
    return Judgement(outcome=Lost(), error=f"{record.engine} has forgotten {record.reference}, which had begun")


def _judged_end(record: HandOver, seen: Sighting, now: int) -> Judgement:
    """The end that the engine reports; work with a gate reports its own, which may be under way."""
    if not record.gated:
        outcome = Failed() if seen.outcome is None else seen.outcome
        return Judgement(outcome=outcome, error=seen.error)
    if record.ended_at is None:
        return Judgement(Over())
    if now - record.ended_at < REPORT_GRACE * _MICRO or not _is_quiet(record, now):
        return NOTHING_NEW
    begun = "has ended and did not report how" if record.begun_at else "has ended before the work began"
    said = f": {seen.error}" if seen.error else ""
    return Judgement(outcome=Failed(), error=f"{record.reference} {begun} on {record.engine}{said}")
