"""What the API can do, Python can do as well."""

from datetime import timedelta

import pytest

from tickwise import ConflictError, InputError, JobFields

from ..support.api import api
from ..support.app import patiently

HOURLY: JobFields = {"schedule": "0 * * * *", "command": "echo hi", "labels": {"team": "data"}}


@patiently
async def test_a_definition_is_patched(url: str) -> None:
    """Fields that are given change, none removes one, and the rest stays."""
    async with api(url) as here:
        schedules = here.tickwise.schedules
        fields: JobFields = {**HOURLY, "jitter": "5m"}
        await schedules.add("hourly", **fields)
        changed = await schedules.patch("hourly", schedule="30 * * * *", jitter=None)
        assert changed.times == "30 * * * *"
        assert [one.name for one in await schedules.list(label="team=data")] == ["hourly"]
        with pytest.raises(InputError, match="out of range"):
            await schedules.patch("hourly", schedule="99 * * * *")
        with pytest.raises(InputError, match="delete it"):
            await schedules.patch("hourly", schedule=None)
        assert (await schedules.get("hourly")).times == "30 * * * *"


@patiently
async def test_what_code_declares_is_not_patched(url: str) -> None:
    """S50: it is changed where it was written."""
    async with api(url) as here:
        here.tickwise.job("0 * * * *", name="coded")(lambda: None)
        with pytest.raises(ConflictError, match="app:app"):
            await here.tickwise.schedules.patch("coded", schedule="0 5 * * *")


@patiently
async def test_schedules_are_listed_by_what_is_asked(url: str) -> None:
    """Each filter leaves what fits; times may be durations."""
    async with api(url) as here:
        schedules = here.tickwise.schedules
        await schedules.add("hourly", **HOURLY)
        await schedules.add("nightly", schedule="0 3 * * *", command="echo hi")
        await schedules.pause("nightly")
        assert [one.name for one in await schedules.list(paused=True)] == ["nightly"]
        assert [one.name for one in await schedules.list(text="OUR", source="api")] == ["hourly"]
        assert [one.name for one in await schedules.list(job="nightly")] == ["nightly"]
        soon = timedelta(hours=4)
        assert [one.name for one in await schedules.list(due_before=soon)] == ["hourly"], "a paused one is not due"
        await schedules.resume("nightly")
        await (await here.world()).tick()
        assert len(await schedules.list(due_before=soon)) == 2


@patiently
async def test_the_progress_of_a_backfill_is_told(url: str) -> None:
    """S32: how many slots have a run by now, and how many are left."""
    async with api(url) as here:
        schedules = here.tickwise.schedules
        await schedules.add("hourly", **HOURLY)
        world = await here.world()
        await schedules.backfill("hourly", "2025-12-31T00:00Z", "2025-12-31T03:00Z")
        await world.tick()
        progress = await schedules.backfill_progress("hourly")
        assert (progress.active, progress.asked, progress.made, progress.left) == (True, 3, 1, 2)
