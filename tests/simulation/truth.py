"""What really happened: told by the jobs that ran and by the store as it committed, not by what rows say.

An execution is an attempt as the job's own code saw it. A hold is a lease as the store handed it out. From both
follow the laws that no row can show to be broken: whose result was taken, and who ran beside whom.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tickwise.core.audit import AuditFinding, Fault
from tickwise.core.handover import HandOver
from tickwise.stores.records import MICRO, Finish, Lease

from .jobs import NARROW

_JUST_NOW = 15.0  # seconds that an answer may have been on its way when its node stood still


@dataclass(slots=True)
class Execution:
    """An attempt, from when its code began to when it ended; none: it was killed with its node."""

    run: str
    job: str
    node: str
    laned: bool  # it counts as active
    attempt: int
    began: float
    ended: float | None = None


@dataclass(slots=True)
class Hold:
    """Who has a run, and until when, by the store's clock."""

    token: str
    until: int
    queue: str = ""
    patience: int = 0  # for so long after that it is left to other watchers (S54)

    def lasts(self, now: int) -> bool:
        return self.until + self.patience >= now


@dataclass(slots=True)
class Truth:
    """Kept by the world while it lives."""

    time: Callable[[], float]
    timeline: list[str] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    still: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))  # by node
    moves: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # where fires were moved to
    findings: list[AuditFinding] = field(default_factory=list)
    holds: dict[str, Hold] = field(default_factory=dict)
    retry: Counter[str] = field(default_factory=Counter)  # runs, by a person
    references: set[str] = field(default_factory=set)  # that were stored
    accepted: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # events, by schedule
    lost: set[str] = field(default_factory=set)  # runs: nobody knew what became of their work
    most_narrow: int = 0  # runs of the narrow queue that were held at once

    def tell(self, who: str, what: str) -> None:
        self.timeline.append(f"{self.time():10.3f}  {who:<6} {what}")

    def began(self, run: str, job: str, node: str, *, laned: bool, attempt: int) -> Execution:
        execution = Execution(run, job, node, laned, attempt, self.time())
        self.executions.append(execution)
        return execution

    def stands_still(self, node: str, seconds: float) -> None:
        """For so long, or at once: the clock leaps."""
        self.still[node].append((self.time(), self.time() + seconds))

    def killed(self, node: str) -> None:
        for execution in self.executions:
            if execution.node == node and execution.ended is None:
                execution.ended = self.time()

    # What the store commits.

    def leased(self, lease: Lease, now: int, seconds: int) -> None:
        """A run is handed to somebody: nobody else may hold it."""
        held = self.holds.get(lease.id)
        if held and held.lasts(now) and held.token != lease.token:
            self._wrong(Fault.FENCING, lease.id, f"was handed to {lease.token} while {held.token} held it")
        patience = lease.hand_over.patience * MICRO if lease.hand_over else 0
        self.holds[lease.id] = Hold(lease.token, now + seconds * MICRO, lease.job.queue, patience)
        narrow = sum(hold.queue == NARROW and hold.until >= now for hold in self.holds.values())
        self.most_narrow = max(self.most_narrow, narrow)

    def handed_over(self, run: str, record: HandOver) -> None:
        self.references.add(record.reference)
        if (held := self.holds.get(run)) and held.token == record.token:
            held.patience = record.patience * MICRO

    def renewed(self, run: str, token: str, now: int, seconds: int) -> None:
        held = self.holds.get(run)
        if held is None or held.token != token:
            self._wrong(Fault.FENCING, run, f"was renewed for {token}, who did not hold it")
        else:
            held.until = now + seconds * MICRO

    def expired(self, now: int) -> None:
        """Leases that have run out are nobody's, even if the clock is set back later."""
        self.holds = {run: hold for run, hold in self.holds.items() if hold.lasts(now)}

    def finished(self, finish: Finish) -> None:
        held = self.holds.pop(finish.run, None)
        if held is None or held.token != finish.token:
            self._wrong(Fault.FENCING, finish.run, f"was finished by {finish.token}, who did not hold it")

    def _wrong(self, kind: Fault, run: str, text: str) -> None:
        self.tell("law", f"{kind}: run {run} {text}")
        self.findings.append(AuditFinding(kind, "", None, f"run {run} {text}", ""))

    # What must have been so all the time.

    def broken_laws(self, once: frozenset[str], most: Mapping[str, int]) -> Iterator[AuditFinding]:
        """Jobs of `once` begin once (S43), a run goes on at one node (S42), `most` of a job are active (S16).

        An attempt begins once, wherever (S53).
        """
        for number, after in enumerate(self.executions):
            known = [one for one in self.executions[:number] if one.job == after.job]
            beside = [one for one in known if self._at_once(one, after)]
            begun = sum(one.run == after.run for one in known)
            if any((one.run, one.attempt) == (after.run, after.attempt) for one in known):
                text = f"attempt {after.attempt} of run {after.run} of {after.job} began twice (S53)"
                yield AuditFinding(Fault.DOUBLED, "", None, text, "")
            if after.job in once and begun > self.retry[after.run]:
                yield AuditFinding(
                    Fault.DOUBLED, "", None, f"run {after.run} of {after.job} began again (S43)", ""
                )
            for one in beside:
                if one.run == after.run:
                    text = f"run {after.run} went on at {one.node} after it had begun at {after.node} (S42)"
                    yield AuditFinding(Fault.OVERLAP, "", None, text, "")
            if after.laned and len({one.run for one in beside if one.laned} - {after.run}) >= most[after.job]:
                text = f"run {after.run} of {after.job} began beside {', '.join(one.run for one in beside)} (S16)"
                yield AuditFinding(Fault.OVERLAP, "", None, text, "")

    def _at_once(self, before: Execution, after: Execution) -> bool:
        """Unless somebody stood still: he does not know what has become of his leases."""
        both = before.ended is None or before.ended > after.began
        if before.run in self.lost:  # a person was told, and the lane is free
            return False
        return both and not any(self._stood_still(one, after.began) for one in (before, after))

    def _stood_still(self, execution: Execution, until: float) -> bool:
        since = execution.began - _JUST_NOW
        return any(start <= until and end >= since for start, end in self.still[execution.node])
