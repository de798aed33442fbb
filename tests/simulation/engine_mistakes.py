"""Mistakes that somebody could make in handing work over to engines (S52-S56)."""

from contextlib import suppress
from itertools import count
from typing import Any

from tickwise.core import handover
from tickwise.core.audit import Fault
from tickwise.core.handover import Began, HandOver, Intended, Judgement, Sighting
from tickwise.core.settle import LeaseExpired, Lost
from tickwise.runtime.engines import watcher
from tickwise.runtime.engines.watcher import _Watch
from tickwise.stores.memory import lease, store
from tickwise.stores.memory.entries import RunEntry
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import Expired, Lease, LeaseRequest

from .mutation import Mutation, Patches


def sent_first() -> Patches:
    change = _Watch._change

    async def hasty(self: _Watch, what: Any) -> None:
        if isinstance(what, Intended):
            self._record = what.record
            with suppress(Exception):
                await self._engine.submit(self._order())
        await change(self, what)

    return [(_Watch, "_change", hasty)]


def new_reference() -> Patches:
    order, numbers = _Watch._order, count(1)

    def renamed(self: _Watch) -> Any:
        made = order(self)
        is_again = self.record.silent_since is not None
        return type(made)(
            reference=f"{made.reference}-{next(numbers)}" if is_again else made.reference,
            fingerprint=made.fingerprint,
            job=made.job,
            environment=made.environment,
        )

    return [(_Watch, "_order", renamed)]


def open_gate() -> Patches:
    begun = handover._begun

    def open_to_all(record: HandOver, change: Began, now: int, *, cancelling: bool) -> HandOver | None:
        return begun(record, change, now, cancelling=cancelling) or (record if record.begun_at else None)

    return [(handover, "_begun", open_to_all)]


def retried() -> Patches:
    expire = MemoryStore.expire

    async def hasty(self: MemoryStore) -> Expired:
        now = self._memory.clock()
        for run in list(self._memory.active.values()):
            if run.hand_over and run.lease_until is not None and run.lease_until < now:
                self._memory.end(run, LeaseExpired(), now, error="its worker did not renew the lease")
        return await expire(self)

    return [(MemoryStore, "expire", hasty)]


def adopted_anew() -> Patches:
    adopt = lease.adopt

    def anew(memory: Any, wanted: LeaseRequest, now: int) -> tuple[Lease, ...]:
        runs: list[RunEntry] = [memory.active[each.id] for each in adopt(memory, wanted, now)]
        return tuple(memory.take(run, wanted.node, wanted.seconds, now) for run in runs)

    return [(store, "adopt", anew)]


def unknown_is_lost() -> Patches:
    def lost(record: HandOver) -> Judgement:
        return Judgement(outcome=Lost(), error=f"{record.engine} has forgotten {record.reference}")

    return [(handover, "_judged_unknown", lost)]


def silence_is_loss() -> Patches:
    silence = handover._judged_silence

    def impatient(record: HandOver, silent: handover.Silent, now: int) -> Judgement:
        return silence(record._replace(patience=2), silent, now)

    return [(handover, "_judged_silence", impatient)]


def dead_work_lives() -> Patches:
    return [(handover, "_is_dead", lambda _record, _now: False)]


def any_end_counts() -> Patches:
    return [(handover, "_is_quiet", lambda _record, _now: True)]


def cancel_is_certain() -> Patches:
    def certain(_record: HandOver, _seen: Sighting, _now: int) -> bool:
        return True

    return [(watcher, "is_over", certain)]


def forgotten_early() -> Patches:
    run = _Watch.run

    async def forgetful(self: _Watch) -> Any:
        result = await run(self)
        with suppress(Exception):
            await self._engine.forget(self.record.reference)
        return result

    return [(_Watch, "run", forgetful)]


def pause_is_silence() -> Patches:
    def unbroken(record: HandOver, asked_since: int, now: int) -> int:  # noqa: ARG001
        return now if record.silent_since is None else record.silent_since

    return [(handover, "_silent_since", unbroken)]


MUTATIONS: dict[str, Mutation] = {
    "an order is sent before its reference is stored": Mutation(
        sent_first, 3, Fault.FENCING, "is not stored (S52)"
    ),
    "an order in doubt is sent under a new reference": Mutation(
        new_reference, 23, Fault.DOUBLED, "began twice (S53)"
    ),
    "the gate lets everybody in": Mutation(open_gate, 12, Fault.DOUBLED, "began twice (S53)"),
    "a run whose watcher is gone is tried again": Mutation(retried, 3, Fault.FENCING, "was handed to"),
    "an adopted run begins another attempt": Mutation(adopted_anew, 3, Fault.FENCING, "its end is not recorded"),
    "work that an engine does not know is lost": Mutation(unknown_is_lost, 6, Fault.UNEXPLAINED, "has forgotten"),
    "an engine that does not answer has lost the work": Mutation(
        silence_is_loss, 21, Fault.UNEXPLAINED, "has not answered for 2s"
    ),
    "a pause of the watcher counts as silence": Mutation(
        pause_is_silence, 40, Fault.UNEXPLAINED, "has not answered for 1m"
    ),
    "dead work is waited for": Mutation(dead_work_lives, 36, Fault.UNEXPLAINED, "is still running"),
    "the end of a copy is the end of the work": Mutation(any_end_counts, 288, Fault.OVERLAP, "began beside"),
    "a cancellation that was asked for is taken as done": Mutation(
        cancel_is_certain, 116, Fault.OVERLAP, "began beside"
    ),
    "a reference is forgotten before its end is stored": Mutation(
        forgotten_early, 3, Fault.FENCING, "before its end was stored (S56)"
    ),
}
