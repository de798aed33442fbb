"""Code and store never disagree silently: who wrote a definition, and who may change it."""

from pathlib import Path
from typing import Any

import pytest

from tickwise import AsyncTickwise, ConflictError, InputError
from tickwise.stores.records import Node, Role

from ..support.app import Clock, at, patiently
from ..support.worker import until

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
    """It deletes nothing: the slots are held, and `why` says that no worker knows the function (S47, S50)."""
    async with an_app(file, clock) as app:
        app.job(HOURLY)(nothing)
        await app.drain()
    clock.set(at("01:00"))
    async with an_app(file, clock) as app:
        assert await app.jobs.list() == ["nothing"]
        assert (await app.drain(), await app.runs.list()) == (0, [])
        why = await app.why("nothing")
        assert (why.reason, why.text) == (
            "no_worker",
            "no live worker of the queue default knows the function nothing",
        )
        assert "with the app of app:app" in why.advice


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


JOB = 'schedule: "{times}"\ncommand: "true"\n'


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job file, and the place where a test works."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_text(JOB.format(times="@daily"))
    return tmp_path / "jobs"


def renamed(folder: Path, name: str) -> Path:
    return folder.rename(folder.with_name(name))


async def served(app: AsyncTickwise, path: str | Path, **given: Any) -> tuple[str, ...]:
    """The problems of a node that serves a folder once."""
    node = await app.start(path, **given)
    await node.settled()
    await app.stop()
    return node.problems


@patiently
async def test_a_folder_is_known_by_its_resolved_path(file: str, clock: Clock, jobs: Path) -> None:
    """However the path of a folder is written, it is the same source, and its edits are taken over (A4, S50)."""
    (jobs.parent / "link").symlink_to("jobs")
    async with an_app(file, clock) as app:
        assert await served(app, "jobs") == ()
        for path in ("./jobs", "jobs/../jobs", jobs, "link"):
            assert await served(app, path) == ()
        (jobs / "a.yaml").write_text(JOB.format(times="@hourly"))
        assert await served(app, jobs) == ()
        (schedule,) = await app.schedules.list()
        assert (schedule.times, schedule.source) == ("@hourly", f"folder:{jobs}")


@patiently
async def test_a_renamed_folder(file: str, clock: Clock, jobs: Path) -> None:
    """The refusal prints the command that moves what the old path has left; then all goes on (A4, S50)."""
    async with an_app(file, clock) as app:
        assert await served(app, jobs) == ()
        new = renamed(jobs, "new jobs")
        (problem,) = await served(app, new)
        assert f"tickwise sources move folder:{jobs} 'folder:{new}'" in problem
        with pytest.raises(InputError, match="cannot be a source"):
            await app.sources.move(f"folder:{jobs}", "new jobs")
        assert await app.sources.move(f"folder:{jobs}", f"folder:{new}", dry_run=True) == ["a"]
        assert await app.sources.move(f"folder:{jobs}", f"folder:{new}") == ["a"]
        assert await served(app, new) == ()
        assert [(one.name, one.jobs, one.schedules) for one in await app.sources.list()] == [
            (f"folder:{new}", 1, 1)
        ]
        with pytest.raises(InputError, match="there is no source 'folder:/nowhere'"):
            await app.sources.move("folder:/nowhere", "api")


@patiently
async def test_a_folder_with_a_name(file: str, clock: Clock, jobs: Path) -> None:
    """A named folder is the same source wherever it lies: from the call, from the settings (A4, S50)."""
    async with an_app(file, clock) as app:
        assert await served(app, jobs, source="etl") == ()
        moved = renamed(jobs, "elsewhere")
        assert await served(app, moved, source=["etl"]) == ()
        with pytest.raises(InputError, match="source names 2 folders, and there are 1"):
            await app.start(moved, source=["etl", "mail"])
    async with an_app(file, clock, source="etl") as app:
        assert await served(app, moved) == ()
        assert [one.source for one in await app.schedules.list()] == ["folder:etl"]


@patiently
async def test_what_a_source_has_left_can_be_removed(file: str, clock: Clock, jobs: Path) -> None:
    """All that it has written, unless a live node has the source (A4, S50)."""
    async with an_app(file, clock) as app:
        await served(app, jobs, source="gone")
        await app.schedules.add("mine", schedule="@daily", command="true")
        node = await app.start(jobs, source="gone")
        await node.settled()
        with pytest.raises(ConflictError, match=f"folder:gone is served by {node.id}"):
            await app.sources.remove("folder:gone")
        await app.stop()
        await (await app.store()).leave(node.id)
        assert await app.sources.remove("folder:gone", dry_run=True) == ["a"]
        assert await app.sources.remove("folder:gone") == ["a"]
        assert await app.jobs.list() == ["mine"]


@patiently
async def test_a_job_that_the_code_has_dropped(file: str, clock: Clock) -> None:
    """The node of its app reports it, why names the cause, and it can be removed (A5, S50)."""
    async with an_app(file, clock) as app:
        app.job(HOURLY)(nothing)
        app.job(HOURLY, name="kept")(nothing)
        await app.drain()
    clock.set(at("03:00"))
    async with an_app(file, clock) as app, an_app(file, clock, name="ops") as ops:
        app.job(HOURLY, name="kept")(nothing)
        assert await ops.sources.orphans() == []
        node = await app.start()
        await until(lambda: node.as_node().orphans == ("nothing",))
        await (await app.store()).beat(node.as_node())
        assert await ops.sources.orphans() == ["nothing"]
        said = await ops.why("nothing")
        assert said.notes[0] == "No code declares nothing any more: app:app lives, and does not have it."
        assert "tickwise schedules remove --orphaned" in said.advice
        with pytest.raises(ConflictError, match="kept is not orphaned"):
            await ops.sources.remove_orphans(["nothing", "kept"])
        assert await ops.sources.remove_orphans() == ["nothing"]
        assert await ops.jobs.list() == ["kept"]


@patiently
async def test_a_rolling_upgrade_makes_no_orphans(file: str, clock: Clock) -> None:
    """A job that one live node of the app still declares is nobody's orphan (A5, S50)."""
    async with an_app(file, clock) as app:
        app.job(HOURLY)(nothing)
        store = await app.store()
        await store.beat(Node("new", (Role.WORKER,), sources=("app:app",), orphans=("nothing",)))
        await store.beat(Node("old", (Role.WORKER,), sources=("app:app",)))
        async with an_app(file, clock, name="ops") as ops:
            assert await ops.sources.orphans() == []
            await store.leave("old")
            assert await ops.sources.orphans() == ["nothing"]
        assert await app.sources.orphans() == [], "this very code declares it"
