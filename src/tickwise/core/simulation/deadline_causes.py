"""Why a slot was late in a play: the runs that it waited for, one by the other (`deadline_forecast`)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..deadline_forecast import CauseKind
from ..model import Schedule
from ..reasons import Reason
from ..states import RunState
from .state import SimulatedStore, SimulatedStoredRun

_MAX_LINKS = 10  # runs that waited for one another
_LANE_REASONS = frozenset({Reason.WAITS_FOR_RUN, Reason.WAITS_FOR_LANE, Reason.WAITS_BEHIND})


class _Kinds(NamedTuple):
    late: CauseKind
    failed: CauseKind


class _Link(NamedTuple):
    cause: tuple[CauseKind, str]
    excess: int  # seconds


_OWN = _Kinds(CauseKind.OWN_RUN, CauseKind.OWN_FAILURE)
_NEEDED = _Kinds(CauseKind.DEPENDENCY, CauseKind.DEPENDENCY_FAILURE)
_IN_THE_WAY = _Kinds(CauseKind.RUN_IN_THE_WAY, CauseKind.RUN_IN_THE_WAY)


class WaitChain:
    """The runs of a play that was played up to a second. `usual`: how long runs of each job take."""

    def __init__(
        self, store: SimulatedStore, schedules: Mapping[str, Schedule], usual: Mapping[str, int], until: int
    ) -> None:
        self._store = store
        self._schedules = schedules  # as they stood when the play began
        self._usual = usual
        self._until = until

    def cause(self, name: str, slot: int) -> tuple[CauseKind, str]:
        """Of the runs in the chain, the one that took longest beyond what it usually takes."""
        return max(self._links(name, slot), key=lambda link: link.excess).cause

    def _links(self, name: str, slot: int) -> Iterator["_Link"]:
        """The runs for which the slot waited, one by the other, each with how much longer it took than usual."""
        kinds = _OWN
        for _ in range(_MAX_LINKS):
            run = self._store.run_of(name, slot)
            if run is not None:
                yield self._link(run, name, kinds)
            elif kinds is _OWN:
                yield _Link((CauseKind.NO_RUN, self._reason_without_run(name, slot)), -self._until)
            reason, detail = self._waited_for(name, slot)
            before: tuple[str, int] | None = None
            if reason is Reason.WAITS_FOR_SUCCESS:
                before, kinds = self._needed(name, slot, detail), _NEEDED
            elif reason in _LANE_REASONS:
                holder, kinds = self._in_the_way(name, slot, run.created_at if run else self._until), _IN_THE_WAY
                if holder and holder.schedule is not None and holder.slot is not None:
                    before = holder.schedule, holder.slot
                elif holder:
                    yield self._link(holder, holder.job, kinds)
            if before is None:
                return
            name, slot = before

    def _link(self, run: SimulatedStoredRun, name: str, kinds: "_Kinds") -> "_Link":
        lasted = (run.finished_at or self._until) - run.created_at
        if run.state in (RunState.FAILED, RunState.LOST):
            return _Link((kinds.failed, name), self._until)
        return _Link((kinds.late, name), lasted - self._usual[run.job])

    def _reason_without_run(self, name: str, slot: int) -> str:
        told = [one.decision for one in self._store.decisions.values() if one.decision.schedule == name]
        ends = [d for d in told if d.is_final and d.first <= slot <= d.last]
        if ends:
            return ends[-1].reason.code
        deferral = self._store.schedules[name].deferral
        return deferral.reason.code if deferral else "not_decided"

    def _waited_for(self, name: str, slot: int) -> tuple[Reason | None, str]:
        """What the slot waited for last, if it did; what it missed for want of is that, too."""
        found: tuple[int, Reason | None, str] = (-1, None, "")
        began = self._schedules[name].deferral
        if began and began.slot == slot:
            found = (began.since, began.reason, began.detail)
        for decision, made_at, _ in self._store.decisions.values():
            if decision.schedule == name and decision.first <= slot <= decision.last and made_at >= found[0]:
                if decision.waits:
                    found = (made_at, decision.reason, decision.detail)
                elif decision.reason is Reason.DEPENDENCY_MISSING:
                    found = (made_at, Reason.WAITS_FOR_SUCCESS, decision.detail)
                elif decision.reason in (Reason.OVERLAP, Reason.LANES_FULL):
                    found = (made_at, Reason.WAITS_FOR_RUN, decision.detail)
        return found[1], found[2]

    def _needed(self, name: str, slot: int, detail: str) -> tuple[str, int] | None:
        """Of the slots whose success was missing, the one that was done last."""
        missing, found = detail.split(", "), list[tuple[str, int]]()
        for needed in self._schedules[name].definition.policy.after:
            for other in self._store.schedules.values():
                newest = other.definition.times.before(slot + 1)
                is_needed = str(needed) in missing and (needed.schedule == other.name or needed.job == other.job)
                if is_needed and newest is not None and newest > slot - needed.within:
                    found.append((other.name, newest))
        return max(found, key=self._done_at, default=None)

    def _done_at(self, key: tuple[str, int]) -> int:
        run = self._store.run_of(*key)
        return (run and run.finished_at) or self._until

    def _in_the_way(self, name: str, slot: int, by: int) -> SimulatedStoredRun | None:
        """Of the job's other runs, the one that ended last before this one was made."""
        job, own = self._schedules[name].job, (name, slot)
        runs = [
            run
            for run in self._store.runs.values()
            if run.job == job and (run.schedule, run.slot) != own and run.created_at < by
        ]
        return max(runs, key=lambda run: min(run.finished_at or by, by), default=None)
