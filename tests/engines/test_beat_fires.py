"""What Celery's own beat publishes is told to schedules in shadow (S80)."""

from pathlib import Path

from celery import Celery, beat, signals
from celery.schedules import crontab

from tickwise import Tickwise
from tickwise.engines.celery import tell_fires


def proj() -> Celery:
    """An app of two entries with one task."""
    entries = {
        name: {"task": "proj.sync", "schedule": crontab(minute=0), "args": (name,)}
        for name in ("each hour", "other")
    }
    app = Celery("proj", broker="memory://")
    app.conf.update(beat_schedule=entries, beat_scheduler="celery.beat:Scheduler")
    return app


def test_each_entry_is_told_by_its_own_name(tmp_path: Path) -> None:
    """Entries of one task are two schedules; one that Tickwise does not know holds nothing up.

    Now is far from any slot: a fire that belongs to a slot of before the shadow is not compared.
    """
    app, url = proj(), f"sqlite:///{tmp_path}/shadow.db"
    with Tickwise(url) as tw:
        for name in ("each-hour", "renamed"):
            tw.schedules.add(name, schedule="0 0 29 2 *", command="true", shadow=True)
        tell_fires(app, store=url, names={"each hour": "each-hour", "other": "unknown"})
        service = beat.Service(app, schedule_filename=f"{tmp_path}/beat")
        signals.beat_init.send(sender=service)
        scheduler = service.scheduler
        for entry in ("other", "each hour", "each hour"):
            assert scheduler.apply_async(scheduler.schedule[entry], advance=False).id
        while (told := tw.shadow.list())[0].fires < 2:
            pass
        assert [status.schedule for status in told if status.last_fire] == ["each-hour"]
