"""What sources may do to a job of another: add schedules, take over, and come back (S23, S50)."""

from dataclasses import replace

import pytest

from tickwise.core.definition import JobDefinition, ScheduleDefinition
from tickwise.core.errors import ConflictError
from tickwise.core.job_sources import extend, reassign, restore
from tickwise.core.jobstate import JobState, UnreadableSchedule

from .world import instant, job, schedule

NOON = instant("12:00")
HOURLY = "0 * * * *"


def owned(source: str, *schedules: ScheduleDefinition) -> JobDefinition:
    """A job with schedules of a source."""
    return replace(job("etl"), schedules=tuple(replace(each, job="etl", source=source) for each in schedules))


def extended() -> JobState:
    """A job of an app, to which the API has added a schedule."""
    mine = JobState("etl").redefine(owned("app", schedule("etl", HOURLY)), "app", NOON)
    both = extend(mine, owned("api", schedule("etl.late", "30 * * * *")), "api", NOON)
    return both._replace(changed=frozenset())


def test_each_source_has_its_own_schedules() -> None:
    """A definition changes those of its source, and refuses to change another's (A14, S50)."""
    both = extended()
    assert {name: each.definition.source for name, each in both.live.items()} == {"etl": "app", "etl.late": "api"}
    assert [each.name for each in both.scheduled.schedules] == ["etl", "etl.late"]
    assert list(both.redefine(owned("app"), "app", NOON + 60).live) == ["etl.late"]
    assert list(extend(both, owned("api"), "api", NOON + 60).live) == ["etl"]
    with pytest.raises(ConflictError, match="tickwise sources move api app"):
        both.redefine(owned("app", schedule("etl.late", HOURLY)), "app", NOON)
    held = both.redefine(replace(owned("app", schedule("etl", HOURLY)), enabled=False), "app", NOON + 60)
    assert [each.paused is not None for each in held.live.values()] == [True, True]


def test_a_schedule_that_cannot_be_read() -> None:
    """An added one that is written again begins anew; those of others stay as they are (S2, S50)."""
    lost = {"etl.late": UnreadableSchedule("odd"), "etl.other": UnreadableSchedule("odd")}
    job_ = extended()._replace(unreadable=lost, schedules={"etl": extended().schedules["etl"]})
    after = extend(job_, owned("api", schedule("etl.late", HOURLY)), "api", NOON)
    assert (list(after.live), list(after.unreadable)) == (["etl", "etl.late"], ["etl.other"])


def test_a_deleted_job_comes_back() -> None:
    """With what others had added, if it was deleted with the job and no longer than two minutes ago (S23)."""
    before = extend(
        extended(), owned("api", schedule("etl.late", HOURLY), schedule("etl.gone", HOURLY)), "api", NOON
    )
    before = extend(before, owned("api", schedule("etl.late", HOURLY)), "api", NOON + 1)
    removed = before.remove(NOON + 10)
    assert removed.live == {}
    assert list(restore(removed, NOON + 10, "app", NOON + 130).live) == ["etl.late"]
    assert restore(removed, NOON + 10, "app", NOON + 131).live == {}


def test_a_source_takes_over() -> None:
    """Only the source of what was another's changes (A4)."""
    both = extended()
    after = reassign(both, "app", "folder:/jobs")
    assert after.changed == {"etl"}
    assert {name: each.definition.source for name, each in after.live.items()} == {
        "etl": "folder:/jobs", "etl.late": "api",
    }  # fmt: skip
    assert reassign(both, "nobody", "api") == both
