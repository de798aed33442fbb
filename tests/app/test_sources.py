"""Code and store never disagree silently: who wrote a definition, and who may change it."""

from pathlib import Path
from typing import Any

import pytest

from tickwise import AsyncTickwise, ConflictError, InputError

from ..support.app import Clock, at, patiently

HOURLY = "0 * * * *"


async def nothing() -> None: ...


def an_app(url: str, clock: Clock, **options: Any) -> AsyncTickwise:
    return AsyncTickwise(url, clock=clock, poll=0.05, **options)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A store that several apps share."""
    return f"sqlite:///{tmp_path / 'tickwise.db'}"


@patiently
async def test_a_restart_of_the_same_code(file: str, clock: Clock) -> None:
    """The same definition written again changes nothing: neither the backlog nor a pause nor its age (S28)."""
    async with an_app(file, clock) as app:
        app.job(HOURLY)(nothing)
        await app.schedules.pause("nothing", reason="migration", by="ada")
        before = await app.schedules.get("nothing")
    clock.set(at("02:30"))
    async with an_app(file, clock) as app:
        app.job(HOURLY)(nothing)
        assert await app.schedules.get("nothing") == before


@patiently
async def test_a_restart_of_changed_code(file: str, clock: Clock) -> None:
    """A changed expression is taken over with the first call, and invents no past (S24)."""
    async with an_app(file, clock) as app:
        app.job(HOURLY)(nothing)
        assert (await app.schedules.get("nothing")).next_run_at == at("01:00")
    clock.set(at("00:37"))
    async with an_app(file, clock) as app:
        app.job("*/10 * * * *")(nothing)
        assert (await app.schedules.get("nothing")).next_run_at == at("00:40")
        assert await app.drain() == 0


@patiently
async def test_code_that_no_longer_declares_a_job(file: str, clock: Clock) -> None:
    """It deletes nothing: the slots go on, and their runs say that no worker knows the job (S46, S50)."""
    async with an_app(file, clock) as app:
        app.job(HOURLY)(nothing)
        await app.drain()
    clock.set(at("01:00"))
    async with an_app(file, clock) as app:
        assert await app.jobs.list() == ["nothing"]
        assert await app.drain() == 0
        (run,) = await app.runs.list()
        await app.start()
        try:
            assert "knows the job nothing" in (await app.runs.get(run.id)).waits[0]
        finally:
            await app.stop()


@patiently
async def test_one_source_a_definition(file: str, clock: Clock) -> None:
    """Another source may pause and trigger it; to change or delete it is refused, naming the source (S50)."""
    async with an_app(file, clock) as app:
        app.job(HOURLY)(nothing)
        with pytest.raises(ConflictError, match="app:app"):
            await app.schedules.update("nothing", schedule="@daily", command="true")
        with pytest.raises(ConflictError, match="app:app"):
            await app.schedules.remove("nothing")
        await app.schedules.pause("nothing")
        await app.schedules.resume("nothing")
        await app.schedules.trigger("nothing")
        assert (await app.schedules.get("nothing")).times == HOURLY


@patiently
async def test_a_name_that_is_taken(file: str, clock: Clock) -> None:
    """A declared job whose name another source holds is a problem that is seen, and enqueueing it is refused."""
    async with an_app(file, clock, name="first") as app:
        app.job("@daily", name="job")(nothing)
        await app.jobs.list()
    async with an_app(file, clock, name="second") as app:
        app.job(HOURLY, name="job")(nothing)
        assert (await app.schedules.get("job")).source == "app:first"
        with pytest.raises(ConflictError, match="app:first"):
            await app.enqueue(nothing)
        node = await app.start()
        assert ["app:first" in problem for problem in node.problems] == [True]
        await app.stop()
        assert (await app.enqueue("job")).state == "queued", "by its name it is the other's"


@patiently
async def test_a_name_that_is_free_again(app: AsyncTickwise) -> None:
    """As soon as the other definition is gone, that of the code counts: nobody need restart anything."""
    async with app:
        await app.schedules.add("job", schedule="@daily", command="true")
        app.job(HOURLY, name="job")(nothing)
        with pytest.raises(ConflictError, match="api"):
            await app.enqueue(nothing)
        await app.schedules.remove("job")
        assert (await app.enqueue(nothing)).job == "job"
        assert (await app.schedules.get("job")).times == HOURLY


@patiently
async def test_a_job_of_another_process(file: str, clock: Clock) -> None:
    """A process enqueues by name what another one declares; wrong params are refused there and then (A18)."""
    async with an_app(file, clock) as declaring:

        @declaring.job()
        async def double(number: int) -> int:
            return 2 * number

        await declaring.jobs.list()
        async with an_app(file, clock) as asking:
            good = await asking.enqueue("double", {"number": 4})
            for wrong, problem in (({"numer": 4}, "did you mean number"), ({}, "needs a value for number")):
                with pytest.raises(InputError, match=problem):
                    await asking.enqueue("double", wrong)
        await declaring.drain()
        assert [run.id for run in await declaring.runs.list()] == [good.id]
        assert (await declaring.runs.get(good.id)).result == 8


@patiently
async def test_the_zone_and_grace_of_the_settings(file: str, clock: Clock) -> None:
    """Definitions that name no zone and no grace have those of the settings, however late these are given (S9)."""
    async with an_app(file, clock) as app:
        app.job("0 12 * * *", catchup="skip")(nothing)
        app.job("0 12 * * *", name="own", timezone="Asia/Tokyo", catchup="skip")(nothing)
        app.configure(timezone="Europe/Berlin", grace="10m")
        assert (await app.schedules.get("nothing")).next_run_at == at("11:00")
        assert (await app.schedules.get("own")).next_run_at == at("03:00")
        clock.set(at("11:10"))
        assert await app.drain() == 1


@patiently
async def test_settings_are_fixed_once_the_store_is_open(app: AsyncTickwise) -> None:
    """Settings cannot be changed under an open store; closed, it may be another one."""
    async with app:
        app.configure(poll=2)
        await app.jobs.list()
        with pytest.raises(ConflictError, match="settings cannot be changed any more: the store is open"):
            app.configure(poll=3)
        await app.close()
        app.configure(poll=3)
        assert app.settings.poll == 3
