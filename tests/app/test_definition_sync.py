"""The way of definitions into a store: nothing that a source says is lost, and nobody loses what is his."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tickwise import AsyncTickwise
from tickwise.app.definition_sync import DefinitionSync, jobs_of
from tickwise.core.definition import After, Command, JobDefinition, Step
from tickwise.core.requirements import command_digest
from tickwise.core.step_jobs import step_jobs
from tickwise.sources.folder import FolderChange, FolderSource
from tickwise.sources.yaml import DefinitionError, LocatedJob
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import Enqueue
from tickwise.stores.url import open_store
from tickwise.testing.conformance.world import HOURLY, job

from ..support.app import Clock, Shaky, patiently

FOLDER = "folder:jobs"
STEP = Step("only", Command(("true",)))


class Saying:
    """A folder that says one change after the other, and then nothing more."""

    name = FOLDER

    def __init__(self, *changes: FolderChange) -> None:
        self._changes = changes

    async def changes(self, _stop: asyncio.Event) -> AsyncIterator[FolderChange]:
        for change in self._changes:
            yield change


def change(
    *defined: JobDefinition, removed: Sequence[str] = (), errors: Sequence[str] = (), full: bool = False
) -> FolderChange:
    placed = tuple(LocatedJob(each, "jobs/file.yaml", 1) for each in defined)
    wrong = tuple(DefinitionError(problem, file="jobs/bad.yaml", line=1) for problem in errors)
    return FolderChange(placed, tuple(removed), wrong, full)


async def follow(intake: DefinitionSync, *changes: FolderChange) -> asyncio.Event:
    read = asyncio.Event()
    await intake.follow(cast(FolderSource, Saying(*changes)), asyncio.Event(), read)
    return read


@pytest.fixture
def shaky(clock: Clock) -> Shaky:
    return Shaky(MemoryStore(clock))


@pytest.fixture
def store(shaky: Shaky) -> Store:
    return cast(Store, shaky)


@patiently
async def test_what_a_folder_says(store: Store) -> None:
    """Jobs come, change and go as the folder has them; other sources' stay (S23, S50)."""
    intake = DefinitionSync(store)
    await intake.define_all([job("code", HOURLY)], "app:app")
    read = await follow(intake, change(job("a", HOURLY), job("b", HOURLY), full=True))
    assert read.is_set()
    assert await jobs_of(store, FOLDER) == ["a", "b"]
    await follow(intake, change(job("b", "@daily"), removed=["a"]))
    assert await jobs_of(store, FOLDER) == ["b"]
    assert await jobs_of(store, "app:app") == ["code"]
    found = await store.insights.schedule("b")
    assert found is not None
    assert found.schedule.definition.label == "@daily"


@patiently
async def test_what_went_while_nobody_watched(store: Store) -> None:
    """A folder that can be read in full takes with it what it no longer has; in doubt, everything stays (S50)."""
    await follow(DefinitionSync(store), change(job("a", HOURLY), job("b", HOURLY), full=True))
    afterwards = DefinitionSync(store)
    await follow(afterwards, change(job("b", HOURLY), errors=["it is broken"]))
    assert await jobs_of(store, FOLDER) == ["a", "b"]
    assert list(afterwards.problems) == ["jobs/bad.yaml:1: it is broken"]
    await follow(afterwards, change(job("b", HOURLY), full=True))
    assert await jobs_of(store, FOLDER) == ["b"]
    assert list(afterwards.problems) == []


@patiently
async def test_a_store_that_does_not_answer(store: Store, shaky: Shaky) -> None:
    """What could not be written or removed stays noted, and is done as soon as the store answers (S27)."""
    intake = DefinitionSync(store)
    await follow(intake, change(job("old", HOURLY), full=True))
    shaky.fail("define", "remove")
    with pytest.raises(StoreUnavailableError):
        await follow(intake, change(job("new", HOURLY), removed=["old"]))
    with pytest.raises(StoreUnavailableError):
        await intake.turn()
    assert await jobs_of(store, FOLDER) == ["old"]
    shaky.mend()
    await intake.turn()
    assert await jobs_of(store, FOLDER) == ["new"]


@patiently
async def test_the_newest_word_counts(store: Store, shaky: Shaky) -> None:
    """Of several words on one job that came while the store was away, only the last is written."""
    intake = DefinitionSync(store)
    shaky.fail("define")
    for times in (HOURLY, "@daily"):
        with pytest.raises(StoreUnavailableError):
            await intake.define_all([job("job", times)], FOLDER)
    shaky.mend()
    await intake.turn()
    found = await store.insights.schedule("job")
    assert found is not None
    assert found.schedule.definition.label == "@daily"
    assert shaky.calls["define"] == 3


@patiently
async def test_a_name_that_another_source_has(store: Store) -> None:
    """It is a problem that names the source, holds up nobody else, and ends when the name is free (S26, S50)."""
    intake = DefinitionSync(store)
    await intake.define_all([job("taken", HOURLY)], "app:app")
    await follow(intake, change(job("taken", "@daily"), job("free", HOURLY), full=True))
    assert await jobs_of(store, FOLDER) == ["free"]
    assert ["taken" in problem and "app:app" in problem for problem in intake.problems] == [True]
    await store.remove("taken", "app:app")
    await intake.turn()
    assert (await jobs_of(store, FOLDER), intake.problems) == (["free", "taken"], ())


@patiently
async def test_a_problem_goes_with_its_file(store: Store) -> None:
    """A definition that was refused and is then deleted is no problem any more; the other's job stays."""
    intake = DefinitionSync(store)
    await intake.define_all([job("taken", HOURLY)], "app:app")
    await follow(intake, change(job("taken", "@daily"), full=True), change(removed=["taken"]))
    assert (intake.problems, await jobs_of(store, "app:app")) == ((), ["taken"])


@patiently
async def test_whatever_the_order(store: Store) -> None:
    """A job may be said before the one that it waits for (S35)."""
    intake = DefinitionSync(store)
    waits: dict[str, Any] = {"after": (After("first", 3_600),)}
    await intake.define_all([job("then", HOURLY, **waits), job("first", HOURLY)], FOLDER)
    assert (await jobs_of(store, FOLDER), intake.problems) == (["first", "then"], ())


@patiently
async def test_a_restart_writes_only_what_is_new(clock: Clock, tmp_path: Path) -> None:
    """What a store has as a source says it is not written again, however much that is (S28)."""
    shaky = Shaky(open_store(f"sqlite:///{tmp_path}/own.db", clock))
    store = cast(Store, shaky)
    await store.schema.upgrade()
    jobs = [job(f"job-{n}", HOURLY) for n in range(120)]
    await DefinitionSync(store).define_all(jobs, FOLDER)
    assert shaky.calls["define"] == 120
    again = DefinitionSync(store)
    await again.define_all([*jobs[:-1], job("job-119", "@daily")], FOLDER)
    assert (shaky.calls["define"], again.problems) == (121, ())
    found = await store.insights.schedule("job-119")
    assert found
    assert found.schedule.definition.label == "@daily"
    await store.close()


@patiently
async def test_what_is_trusted(store: Store) -> None:
    """Commands are trusted if a source of this process has said exactly that, whatever the times (S46)."""
    intake, announced = DefinitionSync(store), list[frozenset[str]]()

    async def announce() -> None:
        announced.append(intake.commands)

    intake.announce = announce
    said = job("job", HOURLY, steps=(STEP,))
    await intake.define_all([said, job("function", HOURLY)], FOLDER)
    await intake.define_all([said], FOLDER)
    assert announced == [intake.commands] == [{command_digest(said)}]
    assert command_digest(job("job", "@daily", steps=(STEP,))) in intake.commands
    assert command_digest(job("job", HOURLY, steps=(STEP,), env={"LD_PRELOAD": "evil.so"})) not in intake.commands


@patiently
async def test_what_is_withdrawn_is_not_trusted(store: Store) -> None:
    """B14: neither the old words of a job nor those of a removed one, once its source has said so (S46)."""
    intake = DefinitionSync(store)
    first, second = (job("job", HOURLY, steps=(STEP,), env={"N": n}) for n in "12")
    twin = job("twin", HOURLY, steps=(STEP,), env={"N": "1"})  # the same words as the first
    await follow(intake, change(first, twin, full=True))
    await follow(intake, change(second))
    assert intake.commands == {command_digest(first), command_digest(second)}
    await follow(intake, change(removed=["twin"]))
    assert intake.commands == {command_digest(second)}
    await follow(intake, change(job("job", HOURLY)))
    assert intake.commands == frozenset()


@patiently
async def test_runs_keep_their_words_and_no_others_get_them(store: Store) -> None:
    """B14: a run that was enqueued before an edit is executed (S23); a later one prolongs nothing."""
    intake = DefinitionSync(store)
    old, new = (job("job", HOURLY, steps=(STEP,), env={"N": n}) for n in "12")
    await follow(intake, change(old, full=True))
    (before,) = await store.enqueue([Enqueue("job")])
    await follow(intake, change(new))
    assert intake.commands == {command_digest(old), command_digest(new)}
    await store.define(job("planted", steps=(STEP,), env={"N": "1"}), "api")
    await store.enqueue([Enqueue("planted")])
    await store.cancel(before.id)
    await intake.turn()
    assert intake.commands == {command_digest(new)}


@patiently
async def test_steps_are_trusted_with_their_job(store: Store) -> None:
    """S46, S74: what a step becomes is trusted exactly as long as the words that it follows from."""
    intake = DefinitionSync(store)
    old, new = (job("job", HOURLY, steps=(replace(STEP, queue=queue),)) for queue in ("gpu", "cpu"))
    (of_old,), (of_new,) = step_jobs(old), step_jobs(new)
    await follow(intake, change(old, full=True))
    assert intake.commands == {command_digest(old), command_digest(of_old)}
    (run,) = await store.enqueue([Enqueue("job")])
    await follow(intake, change(new))
    assert intake.commands == {command_digest(one) for one in (old, of_old, new, of_new)}
    assert command_digest(replace(of_new, env={"LD_PRELOAD": "evil.so"})) not in intake.commands
    await store.cancel(run.id)
    await intake.turn()
    assert intake.commands == {command_digest(new), command_digest(of_new)}


@patiently
async def test_words_are_trusted_until_new_ones_are_stored(store: Store, shaky: Shaky) -> None:
    """While the store does not answer, runs with the old words may still come out of it (S27)."""
    intake = DefinitionSync(store)
    old, new = (job("job", HOURLY, steps=(STEP,), env={"N": n}) for n in "12")
    await follow(intake, change(old, full=True))
    shaky.fail("define")
    with pytest.raises(StoreUnavailableError):
        await follow(intake, change(new))
    assert intake.commands == {command_digest(old), command_digest(new)}
    shaky.mend()
    await intake.turn()
    assert intake.commands == {command_digest(new)}


@patiently
async def test_a_node_with_a_folder(app: AsyncTickwise, tmp_path: Path) -> None:
    """A node has read its folders when it is up; what is wrong with them is seen on it."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "good.yaml").write_text('schedule: "0 * * * *"\ncommand: "true"\n')
    (folder / "bad.yaml").write_text('schedule: "0 25 * * *"\ncommand: "true"\n')
    async with app:
        node = await app.start(folder)
        await node.settled()
        assert await app.jobs.list() == ["good"]
        assert [problem.startswith(f"{folder}/bad.yaml:1:14: ") for problem in node.problems] == [True]
