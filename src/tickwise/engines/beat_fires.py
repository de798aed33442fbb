"""What Celery's own beat sends, told to the schedules in shadow that stand for its entries (S80).

    app = Celery("proj", broker="redis://…")
    tickwise.engines.celery.tell_fires(app)

It listens where beat runs, whatever its scheduler is, so entries of one task are told apart. Beat never waits: a
thread sends what was published, and tries again while the store does not answer.
"""

from collections.abc import Mapping
from queue import Full, Queue
from threading import Thread
from time import sleep
from typing import Any, NamedTuple

from celery import Celery, beat, signals
from celery.utils.log import get_logger

from ..app.sync import Tickwise
from ..clock import monotonic
from ..core.errors import InputError
from ..importers.beat_schedule import job_name
from ..stores.contract import StoreUnavailableError

_log = get_logger(__name__)
_MAX_WAITING = 10_000  # fires
_RETRY = 5.0  # seconds until a store that did not answer is asked again


class _Sent(NamedTuple):
    """A task that beat has published."""

    schedule: str
    key: str
    at: float  # monotonic seconds


class _FireTeller:
    """Patches the scheduler of one beat, and tells what it publishes."""

    def __init__(self, store: str | None, names: Mapping[str, str]) -> None:
        self._store = store
        self._names = names
        self._waiting: Queue[_Sent] = Queue(_MAX_WAITING)

    def attach(self, scheduler: beat.Scheduler) -> None:
        publish = scheduler.apply_async

        def apply_async(entry: beat.ScheduleEntry, *args: Any, **kwargs: Any) -> Any:
            result = publish(entry, *args, **kwargs)
            self._note(
                str(entry.name), str(getattr(result, "id", None) or f"{entry.name}/{entry.total_run_count}")
            )
            return result

        scheduler.apply_async = apply_async
        Thread(target=self._tell, name="tickwise-fires", daemon=True).start()

    def _note(self, entry: str, key: str) -> None:
        sent = _Sent(self._names.get(entry) or job_name(entry), f"beat/{key}"[:200], monotonic())
        try:
            self._waiting.put_nowait(sent)
        except Full:
            _log.warning("Tickwise: the store does not answer, so the fire of %s is not told", entry)

    def _tell(self) -> None:
        with Tickwise(self._store, create_store=False) as tickwise:
            while True:
                self._send(tickwise, self._waiting.get())

    def _send(self, tickwise: Tickwise, sent: _Sent) -> None:
        while True:
            try:
                tickwise.shadow.seen(sent.schedule, age=monotonic() - sent.at, key=sent.key)
            except InputError as error:
                _log.warning("Tickwise: %s", error)
            except StoreUnavailableError as error:
                _log.warning("Tickwise: %s", error)
                sleep(_RETRY)
                continue
            return


def tell_fires(app: Celery, *, store: str | None = None, names: Mapping[str, str] | None = None) -> None:
    """Tell schedules in shadow what the app's beat publishes.

    The schedule of an entry has the name that `tickwise import` gives it, unless `names` says another. The store
    is `tickwise_store` of the app's configuration, unless given; else as for every program of Tickwise.
    """

    def begin(sender: Any, **_: Any) -> None:
        if sender.app is app:
            _FireTeller(store or app.conf.get("tickwise_store"), names or {}).attach(sender.scheduler)

    signals.beat_init.connect(begin, weak=False)
    signals.beat_embedded_init.connect(begin, weak=False)
