"""Made from the asynchronous classes by `python -m tests.support.sync_stub`: do not edit."""

from ..stores.contract import Store
from ..stores.records import Enqueue
from ..stores.records import Role
from .approvals import AnsweredStep
from .blackouts import BlackoutFields
from .blackouts import BlackoutInfo
from .blackouts import Blackouts
from .calendar_manager import CalendarInfo
from .calendar_manager import CalendarYear
from .calendar_manager import Calendars
from .events import AcceptedEvent
from .events import EventInfo
from .events import Events
from .explain import Explanation
from .loop_thread import LoopThread
from .managers import Adoption
from .managers import BackfillStatus
from .managers import Jobs
from .managers import Runs
from .managers import Schedules
from .node import NodeProcess
from .options import EnqueueOptions
from .options import JobFields
from .options import When
from .play_session import PlaySession
from .shadow import HeardFire
from .shadow import ShadowAdoption
from .shadow import ShadowReport
from .shadow import ShadowStatus
from .shadow import Shadows
from .sources import SourceInfo
from .sources import Sources
from .stores import StoreOfLoop
from .tickwise import AsyncTickwise
from .tickwise import Job
from .tickwise import Params
from .values import RunInfo
from .values import ScheduleInfo
from .values import UpcomingRun
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from typing import Unpack
from typing import overload

class SyncSchedules:
    """Schedules by name."""
    _awaited: Schedules
    _loop_thread: LoopThread

    def __init__(self, awaited: Schedules, loop_thread: LoopThread) -> None:
        ...

    def add(self, name: str, *, job: str | None=None, **fields: Unpack[JobFields]) -> ScheduleInfo:
        """Define a job with its schedule, by the fields of a job file; with `job`, a further schedule of a job."""
        ...

    def update(self, name: str, **fields: Unpack[JobFields]) -> ScheduleInfo:
        """Define it anew, with all its fields; refused for what another source has written (S50)."""
        ...

    def patch(self, name: str, **fields: Unpack[JobFields]) -> ScheduleInfo:
        """Change some fields of what the API has defined; none removes one (RFC 7396)."""
        ...

    def remove(self, name: str) -> None:
        """Delete what the API has defined."""
        ...

    def list(self, *, job: str | None=None, text: str | None=None, paused: bool | None=None, due_before: When | None=None, label: str | None=None, source: str | None=None) -> list[ScheduleInfo]:
        """In order of their names; of all that is given, what fits: a label is `key` or `key=value`."""
        ...

    def get(self, name: str) -> ScheduleInfo:
        ...

    def pause(self, name: str, *, until: When | None=None, reason: str='', by: str='') -> ScheduleInfo:
        """Decide no slot until it is resumed; with `until`, it resumes by itself then (S66)."""
        ...

    def skip(self, name: str, slot: When, *, reason: str='', by: str='') -> ScheduleInfo:
        """Mark a slot to come, which is not to run (S66)."""
        ...

    def take_skip_back(self, name: str, slot: When) -> ScheduleInfo:
        """Let a marked slot run after all, as long as it has not come (S66)."""
        ...

    def resume(self, name: str, *, run_missed: bool | None=None) -> ScheduleInfo:
        ...

    def reschedule(self, name: str, to: When) -> ScheduleInfo:
        """Move the next fire, once."""
        ...

    def reset(self, name: str) -> ScheduleInfo:
        """Drop the backlog: go on from now."""
        ...

    def adopt(self, name: str, ticking: str='store', *, dry_run: bool=False) -> Adoption:
        """Have the store find its slots (`store`), or the nodes' own index (`local`); each still runs once."""
        ...

    def adoptable(self, ticking: str='store') -> Sequence[ScheduleInfo]:
        """What `adopt` can move: all that nodes tick locally or, back to them, all that the store adopted."""
        ...

    def trigger(self, name: str, params: Mapping[str, Any] | None=None, *, allow_overlap: bool=False, in_blackout: bool=False, by: str='') -> RunInfo:
        """Run the schedule's job now, by hand (S30); in a blackout only if that is asked for (S62)."""
        ...

    def backfill(self, name: str, start: When, end: When, *, overlap: str='queue', limit: int=1000, again: bool=False, dry_run: bool=False) -> Sequence[datetime]:
        """Enqueue the slots of a time that has passed and have no run; a dry run lists them only (S32)."""
        ...

    def cancel_backfill(self, name: str) -> ScheduleInfo:
        ...

    def backfill_progress(self, name: str) -> BackfillStatus:
        """How far a backfill is."""
        ...

class SyncRuns:
    """Runs by id."""
    _awaited: Runs
    _loop_thread: LoopThread

    def __init__(self, awaited: Runs, loop_thread: LoopThread) -> None:
        ...

    def list(self, *, job: str | None=None, schedule: str | None=None, state: str | None=None, limit: int=100) -> list[RunInfo]:
        """The newest first."""
        ...

    def get(self, run: str) -> RunInfo:
        """A run; one that is queued says why it waits."""
        ...

    def cancel(self, run: str) -> str:
        """End a queued run, or ask a running one to end; the state it was found in, or has now."""
        ...

    def cancel_all(self, job: str, *, queued: bool=False) -> Sequence[str]:
        """Ask all running runs of a job to end, and end the queued ones if asked; the ids, newest first."""
        ...

    def retry(self, run: str, from_step: str | None=None) -> RunInfo:
        """Put a failed, lost or cancelled run back; steps that succeeded are not repeated.

With `from_step`, that step is repeated, and all that depend on it."""
        ...

    def approve(self, run: str, step: str | None=None, *, by: str, reason: str='') -> AnsweredStep:
        """Approve what a step waits for (S75); without its name, the only one that waits."""
        ...

    def reject(self, run: str, step: str | None=None, *, by: str, reason: str='') -> AnsweredStep:
        """Reject what a step waits for (S75): the step fails, and is not tried again by itself."""
        ...

    def logs(self, run: str) -> str:
        """What the run printed."""
        ...

class SyncJobs:
    """Jobs by name."""
    _awaited: Jobs
    _loop_thread: LoopThread

    def __init__(self, awaited: Jobs, loop_thread: LoopThread) -> None:
        ...

    def list(self) -> list[str]:
        ...

class SyncEvents:
    """Events by schedule."""
    _awaited: Events
    _loop_thread: LoopThread

    def __init__(self, awaited: Events, loop_thread: LoopThread) -> None:
        ...

    def send(self, name: str, data: Any=None, *, key: str | None=None) -> AcceptedEvent:
        """Send an event to a schedule. The same key within its window is the same event (S70)."""
        ...

    def list(self, name: str, limit: int=...) -> list[EventInfo]:
        """The newest events of a schedule, and what became of each; older ones as far as they had a run."""
        ...

class SyncSources:
    """Sources by name, as `list` names them."""
    _awaited: Sources
    _loop_thread: LoopThread

    def __init__(self, awaited: Sources, loop_thread: LoopThread) -> None:
        ...

    def list(self) -> list[SourceInfo]:
        """In order of their names."""
        ...

    def move(self, source: str, to: str, *, dry_run: bool=False) -> Sequence[str]:
        """Give another source all that a source has written; the names of the jobs."""
        ...

    def remove(self, source: str, *, dry_run: bool=False) -> Sequence[str]:
        """Delete all that a source has written, unless a live node has it; the names of the jobs."""
        ...

    def orphans(self) -> Sequence[str]:
        """Jobs that the code of their app does not declare any more."""
        ...

    def remove_orphans(self, names: Iterable[str] | None=None) -> Sequence[str]:
        """Delete orphaned jobs: these, or all; the names of those that were deleted."""
        ...

class SyncBlackouts:
    """Blackouts by name."""
    _awaited: Blackouts
    _loop_thread: LoopThread

    def __init__(self, awaited: Blackouts, loop_thread: LoopThread) -> None:
        ...

    def list(self) -> list[BlackoutInfo]:
        """In order of their names; those that ended within a week too."""
        ...

    def get(self, name: str) -> BlackoutInfo:
        ...

    def add(self, name: str, *, by: str='', replace: bool=False, **fields: Unpack[BlackoutFields]) -> BlackoutInfo:
        """Let jobs by name or label rest from `start` to `end`, or for a `length` whenever `cron` says.

Jobs are patterns such as `etl-*`; labels are `key` or `key=value`. Without a start it begins now."""
        ...

    def remove(self, name: str) -> BlackoutInfo:
        """End it now: what rests by it goes on (S29). What it was."""
        ...

class SyncCalendars:
    """Calendars by name."""
    _awaited: Calendars
    _loop_thread: LoopThread

    def __init__(self, awaited: Calendars, loop_thread: LoopThread) -> None:
        ...

    def list(self) -> Sequence[CalendarInfo]:
        """In order of their names."""
        ...

    def get(self, name: str) -> CalendarInfo:
        ...

    def put(self, name: str, **definition: Any) -> CalendarInfo:
        """Define it by the fields of a calendar file, and give its days to all that use it."""
        ...

    def remove(self, name: str) -> None:
        """Delete a calendar of the API that nothing uses."""
        ...

    def expand(self, name: str) -> CalendarInfo:
        """Find its days anew, as the packages that are installed here know them; whoever has defined it."""
        ...

    def year(self, name: str, year: int | None=None) -> CalendarYear:
        """Its days in a year, or in this one."""
        ...

    def preview(self, definition: Mapping[str, Any], year: int | None=None) -> CalendarYear:
        """The days that a definition would have; nothing is written."""
        ...

    def users(self, name: str) -> Sequence[str]:
        """The schedules on its days, and the calendars that are made of it."""
        ...

class SyncPlaySession:
    """Plays what an app has scheduled."""
    _awaited: PlaySession
    _loop_thread: LoopThread

    def __init__(self, awaited: PlaySession, loop_thread: LoopThread) -> None:
        ...

    def play(self, until: When) -> list[RunInfo]:
        """Do all that is due now, and at each instant until then, with the clock there; nothing waits.

Returns the runs that ended, in order. `until` is an instant, or how long from now."""
        ...

class SyncShadows:
    """Schedules in shadow."""
    _awaited: Shadows
    _loop_thread: LoopThread

    def __init__(self, awaited: Shadows, loop_thread: LoopThread) -> None:
        ...

    def seen(self, name: str, *, age: float=0, at: datetime | None=None, key: str | None=None, unless_adopted: bool=False) -> HeardFire:
        """Note that another scheduler has started the job, `age` seconds ago or at an instant; once per key.

With `unless_adopted` nothing is noted after an adoption: then the other scheduler is not to start it."""
        ...

    def list(self) -> list[ShadowStatus]:
        """Schedules that are in shadow or were adopted from it, by name; compared by their newest fires."""
        ...

    def report(self, name: str, *, since: datetime | None=None, until: datetime | None=None, tolerance: int | None=None) -> ShadowReport:
        """The newest slots and fires one by one, since the shadow began and until the adoption if there is one."""
        ...

    def adopt(self, name: str, *, stopped: bool=False, by: str='', dry_run: bool=False) -> ShadowAdoption:
        """Take over from the other scheduler after its last fire; `stopped`: it starts nothing more."""
        ...

    def resume(self, name: str) -> ShadowStatus:
        """Take an adoption back: the other scheduler starts the job again."""
        ...

class Face:
    """A scheduler over one store; its methods are awaited."""
    _awaited: AsyncTickwise
    _loop_thread: LoopThread

    def __init__(self, awaited: AsyncTickwise, loop_thread: LoopThread) -> None:
        ...

    def store(self) -> Store:
        """The store, opened, up to date, and with all that has been declared so far."""
        ...

    def opened(self) -> StoreOfLoop:
        """The same store, with what all callers of this event loop share."""
        ...

    @overload
    def enqueue(self, job: Job, params: Params=None, *, connection: None=None, **options: Unpack[EnqueueOptions]) -> RunInfo:
        ...

    @overload
    def enqueue(self, job: Job, params: Params=None, *, connection: Any, **options: Unpack[EnqueueOptions]) -> str:
        ...

    def prepared(self, job: Job, params: Params=None, **options: Unpack[EnqueueOptions]) -> tuple[Store, Enqueue]:
        """The request that `enqueue` makes, and its store."""
        ...

    def upcoming(self, hours: float=24, limit: int=1000) -> list[UpcomingRun]:
        """What will run, in time order, at the times at which it will really start."""
        ...

    def why(self, name: str, slot: When | None=None) -> Explanation:
        """Why a slot ran or did not; without one, the newest that is due."""
        ...

    def pause(self, *, reason: str='', by: str='', until: When | None=None) -> None:
        """Pause everything, until it is resumed or until a time (S66)."""
        ...

    def resume(self) -> None:
        """Resume everything."""
        ...

    def drain(self) -> int:
        """Do all that is due, without a node, and return how many attempts ended: for tests."""
        ...

    def start(self, *paths: str | Path, roles: Sequence[Role]=..., source: str | Sequence[str] | None=None) -> NodeProcess:
        """Run in the background of this event loop until `stop`; `source` names the folders, one name for each."""
        ...

    def stop(self, *, grace: float | None=None) -> None:
        """Take no new work, let running work end, and hand back the rest; with `grace=0` at once."""
        ...

    def run(self, *paths: str | Path, roles: Sequence[Role]=..., source: str | Sequence[str] | None=None) -> None:
        """Run until SIGINT or SIGTERM, or until cancelled; then let go of the store."""
        ...

    def wait(self) -> None:
        """Wait for SIGINT or SIGTERM, or until somebody else stops it; then stop. A second signal ends at once."""
        ...

    def close(self) -> None:
        """Stop, and let go of the store."""
        ...
