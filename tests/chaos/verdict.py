"""What came of it all, by the store's own ledger and by what the jobs say that they have done."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tickwise.app.audit import Audit
from tickwise.core.audit import Fault
from tickwise.core.settle import LOST_AT_MOST
from tickwise.core.states import Event, RunState
from tickwise.stores.records import RunRow

from ..support.accounting import Told, check_ends
from .deeds import NARROW, ONE, ONE_BY_ONE


class Verdict(NamedTuple):
    """The figures of a store; those from `repeated` on are expected, and the ledger says why."""

    slots: int
    runs: int
    reasons: int
    lost: int
    doubled: int
    at_once: int  # attempts of a run, or runs of a job that runs one by one, that executed at once
    repeated: int  # attempts that vanished with their node, and were made again
    given_up: int  # runs that vanished three times, or may not be repeated
    windows: int = 0  # in which a process that had stood still went on beside its successor (S42)


def check_side_by_side(unfinished: Sequence[RunRow]) -> None:
    """What is under way at one moment is no more than may be (S14, S16).

    Records cannot prove that afterwards: a pass reads the time before it looks at what has ended.
    """
    jobs = Counter(run.job for run in unfinished)
    assert all(jobs[job] <= 1 for job in ONE_BY_ONE), jobs
    assert sum(run.queue == NARROW and run.state is RunState.RUNNING for run in unfinished) <= ONE


def figures(found: Audit, runs: Sequence[Told]) -> Verdict:
    wrong = Counter(finding.kind for finding in found.findings)
    repeated = sum(row.event is Event.LEASE_EXPIRED for one in runs for row in one.before)
    given_up = sum(one.run.state is RunState.LOST for one in runs)
    lost, doubled = wrong[Fault.MISSED], wrong[Fault.DOUBLED]
    return Verdict(found.slots, found.runs, found.reasons, lost, doubled, 0, repeated, given_up)


def check_audit(found: Audit) -> None:
    """The store has one run or one reason for each slot, and all that led to it."""
    sure = [str(finding) for finding in found.findings if finding.kind is not Fault.OVERLAP]
    assert not sure, "\n".join(sure)


def check(found: Audit, runs: Sequence[Told], deeds: Path) -> None:
    """All is as promised, by the store's ledger and by the jobs' deeds."""
    check_audit(found)
    check_ends(runs, deeds)
    second_steps = {line.split()[1] for line in deeds.read_text().splitlines() if line.startswith("second")}
    for run in (one.run for one in runs):
        once = run.job == "at_most_once"
        assert run.attempt == 1 or not once, run
        if run.state is RunState.SUCCEEDED:
            assert run.job != "pipeline" or run.id in second_steps, run
        else:
            assert run.state is RunState.LOST, run
            assert once or run.losses == LOST_AT_MOST, run
