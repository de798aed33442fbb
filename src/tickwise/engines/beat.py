"""Celery beat on a Tickwise store: any number of beats, and each slot of an entry is published once.

A beat is a node of the fleet. Each entry of `beat_schedule` is a job, written as the app's source (S50), whose
function publishes the entry's task. So the planner decides every slot once, whichever node ticks; one beat leases
the run; and catch-up, daylight saving, pauses and `tickwise why` are those of any other job. Args, kwargs and
options stay in the beat's own configuration: they may hold secrets, or objects that are no JSON.

A beat that is killed after it has sent a message and before it has stored that is in doubt. The next beat sends
the message again under the same id: every attempt of a run has the id of its first, `<run>.1`. While the broker
does not answer, the run waits and is no failure.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from typing import Any, ClassVar

from celery import Celery, beat
from celery.utils.log import get_logger
from kombu.exceptions import OperationalError

from ..app.sync import Tickwise
from ..core.errors import ConflictError
from ..core.handover import reference_of
from ..core.timeparse import iso
from ..importers.beat_schedule import read_entries
from ..runtime.context import Run
from ..runtime.executors.result import Snooze
from ..stores.url import hidden

QUEUE = "celery-beat"
_log = get_logger(__name__)
_EVERY_ENTRY = "*"  # in `tickwise_policy`
_BROKER_RETRY, _MAX_BROKER_RETRY = 5, 60  # seconds until a broker is tried again; longer with each attempt
_POLICY: Mapping[str, Any] = {
    "queue": QUEUE,
    "overlap": "allow",
    "max_active_runs": 2,  # a beat that was killed holds one lane until its lease ends, and the other goes on
    "timeout": "1m",
    "retry": {"limit": 3, "interval": "10s"},
}


class Scheduler(beat.Scheduler):  # type: ignore[misc]  # Celery has no types
    """`celery beat -S tickwise.engines.celery:Scheduler`.

    `tickwise_store` of the app's configuration is the URL of the store; else `TICKWISE_STORE`, a `tickwise.toml`
    or the default say it. `tickwise_policy` has fields of a job file by entry, and `*` for all entries.
    """

    settings: ClassVar[Mapping[str, Any]] = {}  # of Tickwise, besides the store

    def __init__(self, app: Celery, *args: Any, **kwargs: Any) -> None:
        name = f"{QUEUE}:{app.main}" if app.main else QUEUE
        store = app.conf.get("tickwise_store")
        self.tickwise = Tickwise(store, name=name, queues=(QUEUE,), **self.settings)
        super().__init__(app, *args, **kwargs)

    @property
    def info(self) -> str:
        """For the banner of `celery beat`."""
        return f"    . tickwise -> {hidden(self.tickwise.settings.store)}"

    def setup_schedule(self) -> None:
        """Write the entries into the store and start the node; refused as a whole if one cannot be read."""
        super().setup_schedule()
        policy = self.app.conf.get("tickwise_policy") or {}
        entries = read_entries(self.app, self.schedule.values())
        for name, (entry, times) in entries.items():
            fields = {**_POLICY, **policy.get(_EVERY_ENTRY, {}), **policy.get(entry.name, {})}
            fields.setdefault("description", f"{entry.name}: the Celery task {entry.task}")
            self.tickwise.job(times, name=name, **fields)(self._publisher(entry))
        self._remove_orphans()
        node = self.tickwise.start()
        if node.problems:
            self.tickwise.close()
            raise ConflictError("\n  ".join(("beat_schedule: the store refuses", *node.problems)))

    def _remove_orphans(self) -> None:
        """Remove entries of this app that no live beat has any more: Celery's own beat does so, too."""
        own = self.tickwise.declared.source
        orphans = [
            name for source in self.tickwise.sources.list() if source.name == own for name in source.orphans
        ]
        with suppress(ConflictError):  # another beat starts, and does the same
            self.tickwise.sources.remove_orphans(orphans)

    def _publisher(self, entry: beat.ScheduleEntry) -> Callable[[Run], None]:
        def publish(run: Run) -> None:
            self.publish(entry, run)

        return publish

    def publish(self, entry: beat.ScheduleEntry, run: Run) -> None:
        """Send the task of an entry for a run."""
        headers = {**(entry.options.get("headers") or {}), "celery_beat_task": True}
        if run.slot is not None:
            headers["tickwise_slot"] = iso(int(run.slot.timestamp()))
        task_id = reference_of(run.id, 1)
        _log.info("Scheduler: Sending due task %s (%s) as %s", entry.name, entry.task, task_id)
        message = copy(entry)
        message.options = {**entry.options, "headers": headers, "task_id": task_id}
        try:
            self.apply_async(message, advance=False)
        except beat.SchedulingError as error:
            if isinstance(error.__context__, OperationalError):
                raise Snooze(
                    min(_BROKER_RETRY * run.attempt, _MAX_BROKER_RETRY), f"the broker does not answer: {error}"
                ) from None
            raise

    def tick(self) -> float:
        """Nothing to do: the node decides and publishes in threads of its own."""
        return float(self.max_interval)

    def should_sync(self) -> bool:
        return False

    def close(self) -> None:
        self.tickwise.close()
