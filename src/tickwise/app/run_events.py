"""What a node tells of its attempts, how they begin and end: the hook `on_run` all of it, the log the failures."""

from ..core.payload import first_line
from ..core.settle import Settled
from ..core.states import Event, RunState
from ..core.timeparse import to_datetime
from ..log import get_logger
from ..runtime.engines.watcher import EndOfAttempt
from ..stores.records import Finish, Lease
from .hooks import HookCaller, RunEvent

_log = get_logger()
RUN_ENDED = "run ended"  # the event that is logged for an attempt that did not succeed
_NOT_LOGGED = frozenset({"started", "succeeded", "snoozed", "unmet", "waits"})
_OUTCOME_NAMES = {"handedback": "handed_back"}
_EVENT_NAMES = {  # of an end that the work on an engine has reported
    Event.SUCCESS: "succeeded",
    Event.FAILURE: "failed",
    Event.RETRY: "failed",
    Event.SNOOZE: "snoozed",
    Event.HAND_BACK: "handed_back",
    Event.CANCEL: "cancelled",
}


class RunEvents:
    """Tells of the attempts of one node."""

    def __init__(self, hooks: HookCaller) -> None:
        self._hooks = hooks

    def started(self, lease: Lease) -> None:
        self._tell("started", lease, RunState.RUNNING)

    def ended(self, lease: Lease, finish: Finish, settled: Settled) -> None:
        what = "failed" if settled.error else type(finish.outcome).__name__.lower()
        self._tell(_OUTCOME_NAMES.get(what, what), lease, settled.state, settled.error or finish.error)

    def reported(self, end: EndOfAttempt) -> None:
        """The end of an attempt that an engine has executed."""
        self._tell(_EVENT_NAMES.get(end.event, str(end.event)), end.lease, end.state, end.error)

    def _tell(self, what: str, lease: Lease, state: RunState, error: str = "") -> None:
        if what not in _NOT_LOGGED:
            _log.warning(
                RUN_ENDED, what=what, run=lease.id, job=lease.job.name, attempt=lease.attempt, state=str(state),
                error=first_line(error),
            )  # fmt: skip
        if self._hooks.has("on_run"):
            slot = None if lease.slot is None else to_datetime(lease.slot)
            event = RunEvent(
                what=what, run=lease.id, job=lease.job.name, schedule=lease.schedule, slot=slot,
                attempt=lease.attempt, state=str(state), error=error,
            )  # fmt: skip
            self._hooks.call("on_run", event)
