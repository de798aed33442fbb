"""Celery beat on a store of Tickwise: each slot of an entry is published once, however many beats there are."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from celery import Celery
from celery.beat import BeatLazyFunc
from celery.schedules import crontab

from tickwise import Tickwise
from tickwise.app.hooks import RunEvent
from tickwise.core.errors import ConflictError, InputError
from tickwise.engines.celery import Scheduler

from ..support.app import Clock
from ..support.celery_processes import Broker
from ..support.fork_server import PATIENCE
from ..support.servers import valkey
from ..support.servers.process import free_port


class Beats:
    """Beats of one project in this process, on one store and a clock that the test moves."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        self.clock = Clock()
        self.store = f"sqlite:///{folder / 'tickwise.db'}"
        self._broker = broker
        self._folder = folder

    @contextmanager
    def beat(self, entries: Mapping[str, Any], **conf: Any) -> Iterator[Scheduler]:
        app = Celery("project", broker=self._broker.url)
        app.conf.update(
            task_default_queue=self._broker.queue, tickwise_store=self.store, beat_schedule=entries, **conf
        )

        class Clocked(Scheduler):
            settings = {"clock": self.clock, "poll": 0.05, "lease": 3_600, "renew": 0.2}  # noqa: RUF012

        scheduler = Clocked(app)
        try:
            yield scheduler
        finally:
            scheduler.close()

    @contextmanager
    def tickwise(self) -> Iterator[Tickwise]:
        with Tickwise(self.store, clock=self.clock) as tw:
            yield tw


@pytest.fixture
def beats(broker: Broker, tmp_path: Path) -> Beats:
    return Beats(broker, tmp_path)


def test_a_slot_is_published_as_celerys_beat_would(beats: Beats, broker: Broker) -> None:
    """S52: the id is the run's, the slot is a header, args, kwargs and options are the entry's."""
    entry = {
        "task": "proj.report",
        "schedule": crontab(minute=0),
        "args": (1, BeatLazyFunc(lambda: "lazy")),
        "kwargs": {"deep": True},
        "options": {"headers": {"team": "data"}, "expires": 600},
    }
    with beats.beat({"report": entry}, timezone="Europe/Berlin"), beats.tickwise() as tw:
        beats.clock.advance(timedelta(hours=1))
        sent = broker.next()
        (run,) = tw.runs.list(job="report")
        assert (sent.id, sent.task, sent.args) == (f"{run.id}.1", "proj.report", [1, "lazy"])
        assert sent.slot == "2026-01-01T01:00:00Z"
        assert sent.headers["team"] == "data"
        assert sent.headers["celery_beat_task"] is True
        assert sent.headers["expires"] is not None
        assert tw.why("report", sent.slot).run == run.id


def test_the_zone_of_the_app_and_daylight_saving_hold(beats: Beats, broker: Broker) -> None:
    """S39: half past two does not exist on the last Sunday of March, and is published once, at three."""
    beats.clock.set(datetime(2026, 3, 29, 0, 0, tzinfo=UTC))
    entry = {"task": "proj.night", "schedule": crontab(minute=30, hour=2)}
    with beats.beat({"night": entry}, timezone="Europe/Berlin"):
        beats.clock.advance(timedelta(hours=1))
        assert broker.next().slot == "2026-03-29T01:00:00Z"


def test_of_two_beats_one_publishes_each_slot(beats: Beats, broker: Broker) -> None:
    """S1: both decide and lease, and ten slots are ten messages."""
    entries = {"tick": {"task": "proj.tick", "schedule": 10.0}}
    with beats.beat(entries), beats.beat(entries):
        sent = []
        for _ in range(10):
            beats.clock.advance(timedelta(seconds=10))
            sent.append(broker.next())
    slots = [datetime.fromisoformat(message.slot or "") for message in sent]
    assert {(later - slot).seconds for slot, later in pairwise(slots)} == {10}
    assert len({message.id for message in sent}) == 10
    assert len(broker) == 0


def test_missed_slots_are_caught_up_as_one(beats: Beats, broker: Broker) -> None:
    """S10: after an outage of all beats the newest missed slot is published, or each if the policy says so."""
    entries = {name: {"task": f"proj.{name}", "schedule": crontab(minute=0)} for name in ("once", "each")}
    policy = {"each": {"catchup": "all"}}
    with beats.beat(entries, tickwise_policy=policy):
        pass
    beats.clock.advance(timedelta(hours=2, minutes=30))
    with beats.beat(entries, tickwise_policy=policy):
        sent = {(message.task, message.slot) for message in (broker.next() for _ in range(3))}
    assert sent == {
        ("proj.once", "2026-01-01T02:00:00Z"),
        ("proj.each", "2026-01-01T01:00:00Z"),
        ("proj.each", "2026-01-01T02:00:00Z"),
    }


def test_an_entry_that_is_gone_is_removed_and_the_others_go_on(beats: Beats, broker: Broker) -> None:
    """S50: as Celery's own beat does; a beat that still has the entry keeps it."""
    entry = {"task": "proj.task", "schedule": 60.0}
    with beats.beat({"kept": entry, "gone": entry}), beats.beat({"kept": entry}), beats.tickwise() as tw:
        assert tw.jobs.list() == ["gone", "kept"]
    with beats.beat({"kept": entry}), beats.tickwise() as tw:
        assert tw.jobs.list() == ["kept"]
        beats.clock.advance(timedelta(minutes=1))
        assert broker.next().slot == "2026-01-01T00:01:00Z"


def test_an_entry_that_cannot_be_read_changes_nothing(beats: Beats) -> None:
    """S38: neither it nor the entry beside it is written."""
    entries = {"good": {"task": "proj.good", "schedule": 60.0}, "bad": {"task": "proj.bad", "schedule": 0.5}}
    with pytest.raises(InputError, match=r"bad: every 0\.5 s"), beats.beat(entries):
        pass
    with beats.tickwise() as tw:
        assert tw.jobs.list() == []


def test_a_name_of_another_source_is_refused(beats: Beats) -> None:
    """S26: the beat does not start, and says whose the name is."""
    with beats.tickwise() as tw:
        tw.schedules.add("report", schedule="@daily", command="true")
        entries = {"report": {"task": "proj.report", "schedule": 60.0}}
        with pytest.raises(ConflictError, match=r"report: .*api"), beats.beat(entries):
            pass


def test_a_paused_entry_is_not_published(beats: Beats, broker: Broker) -> None:
    """S29: pausing, as any other schedule of the store."""
    entry = {"task": "proj.task", "schedule": 60.0}
    with beats.beat({"paused": entry, "other": entry}), beats.tickwise() as tw:
        tw.schedules.pause("paused", reason="not today")
        beats.clock.advance(timedelta(minutes=1))
        assert broker.next().task == "proj.task"
        (run,) = tw.runs.list()
        assert run.job == "other"


def test_a_slot_waits_for_a_broker_that_is_down(tmp_path: Path) -> None:
    """S44: Celery's own beat loses it; here it is no failure, and `why` says what it waits for."""
    port = free_port()
    with ExitStack() as until_down:
        until_down.enter_context(valkey.server(port=port))
        beats = Beats(Broker(f"redis://127.0.0.1:{port}/0", "celery"), tmp_path)
        with beats.beat({"tick": {"task": "proj.tick", "schedule": 60.0}}) as scheduler, beats.tickwise() as tw:
            until_down.close()
            snoozed = _event(scheduler, "snoozed")
            beats.clock.advance(timedelta(minutes=1))
            assert "does not answer" in snoozed()
            with valkey.server(port=port):
                beats.clock.advance(timedelta(seconds=5))
                sent = Broker(f"redis://127.0.0.1:{port}/0", "celery").next()
            (run,) = tw.runs.list()
            assert sent.id == f"{run.id}.1"
            assert sent.slot == "2026-01-01T00:01:00Z"


def _event(scheduler: Scheduler, what: str) -> Callable[[], str]:
    """Wait for an event of a run; its error."""
    events: Queue[str] = Queue()

    def on_run(event: RunEvent) -> None:
        if event.what == what:
            events.put(event.error)

    scheduler.tickwise.hooks.on_run = on_run
    return lambda: events.get(timeout=PATIENCE)
