"""Which definitions of a folder are active: over values, without a disk."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise.core.definition import JobDefinition
from tickwise.sources.folder.reconcile import (
    ActiveDefinitions,
    FolderChange,
    FolderContent,
    ParsedFile,
    difference,
    reconcile,
)
from tickwise.sources.folder.scan import parse_file
from tickwise.sources.yaml import DefinitionError
from tickwise.sources.yaml.reader import ParsedDocument

BROKEN = "no such field: 1"
UNREADABLE = "\0"
DAILY = "schedule: '@daily'\n"


def folder(files: Mapping[str, str], *, unseen: tuple[str, ...] = ()) -> FolderContent:
    """A folder `jobs` with files by name; its content out of sight if it is unseen."""
    errors = tuple(DefinitionError("it cannot be looked at", file=name) for name in unseen)
    hidden = tuple(Path(name) for name in unseen)
    readings = {f"jobs/{name}.yaml": read(f"jobs/{name}.yaml", files[name]) for name in sorted(files)}
    seen = {file: r for file, r in readings.items() if not any(Path(file).is_relative_to(way) for way in hidden)}
    return FolderContent(seen, unseen, errors)


def read(file: str, text: str) -> ParsedFile:
    if text == UNREADABLE:
        return ParsedFile((), (DefinitionError("the file cannot be read", file=file),))
    return parse_file(text, Path(file), "folder:jobs")


class World:
    """One who applies the changes, in the order that they ask for."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobDefinition] = {}
        self.active = ActiveDefinitions()
        self.last: FolderChange | None = None

    def look(
        self, files: Mapping[str, str], *, unseen: tuple[str, ...] = (), others: tuple[str, ...] = ()
    ) -> "World":
        before, self.active = (
            self.active,
            reconcile(self.active, folder(files, unseen=unseen), frozenset(others)),
        )
        self.last = difference(before, self.active)
        if self.last:
            for name in self.last.removed:
                del self.jobs[name]
            self.jobs |= {located.job.name: located.job for located in self.last.defined}
        return self

    def defined(self) -> list[str]:
        return [located.job.name for located in self.last.defined] if self.last else []

    def removed(self) -> list[str]:
        return list(self.last.removed) if self.last else []

    def problems(self) -> list[str]:
        return [error.problem for error in self.active.errors]

    def queues(self) -> dict[str, str]:
        return {name: job.queue for name, job in self.jobs.items()}


def test_only_differences_are_told() -> None:
    """S28: a definition that says the same, in other words or in another file, changes nothing."""
    world = World().look({"a": "queue: x", "b": "queue: y"})
    assert world.look({"a": "queue: 'x'  # the same", "b": "queue: z"}).defined() == ["b"]
    assert world.look({"c": "name: a\nqueue: x", "b": "queue: z"}).last is None


@pytest.mark.parametrize("values", [("1", "true"), ("1", "1.0"), ("[{k: 0}]", "[{k: false}]")])
def test_params_differ_by_their_kind(values: tuple[str, str]) -> None:
    """S28: what Python holds for equal is a difference to a job, and the order of names is none."""
    one, other = values
    world = World().look({"a": f"params: {{n: {one}, m: 1}}"})
    assert world.look({"a": f"params: {{m: 1, n: {one}}}"}).last is None
    assert world.look({"a": f"params: {{n: {other}, m: 1}}"}).defined() == ["a"]


def test_a_renamed_job() -> None:
    """S26: a changed name is a removal and a definition."""
    world = World().look({"a": "name: old"}).look({"a": "name: new"})
    assert (world.removed(), world.defined()) == (["old"], ["new"])


def test_a_deleted_file_removes_its_jobs() -> None:
    """S23: all jobs of a file go with it, and no other."""
    world = World().look({"a": "queue: x\n---\nname: a2", "b": "queue: x"}).look({"b": "queue: x"})
    assert (world.removed(), list(world.jobs)) == (["a", "a2"], ["b"])


@pytest.mark.parametrize("text", [BROKEN, UNREADABLE, "", "queue: 'half wri"])
def test_a_broken_file_changes_nothing(text: str) -> None:
    """A file with an error goes on as it was, all of it, until it is fixed; so does what waits for it."""
    good = {
        "a": "queue: x\nschedule: '@daily'\n---\nname: a2",
        "b": f"{DAILY}after: [{{schedule: a, within: 1d}}]",
    }
    world = World().look(good).look(good | {"a": text})
    assert (world.defined(), world.removed()) == ([], [])
    assert {error.file for error in world.active.errors} == {"jobs/a.yaml"}
    assert world.look(good | {"a": "queue: z\nschedule: '@daily'"}).queues()["a"] == "z"
    assert (world.removed(), world.problems()) == (["a2"], [])


def test_a_bad_document_in_a_new_file() -> None:
    """The good documents beside it are loaded, and it is when it is mended (A19)."""
    world = World().look({"a": BROKEN, "b": f"queue: x\n---\nname: b2\n{BROKEN}\n---\nname: b3"})
    assert (list(world.jobs), len(world.active.errors)) == (["b", "b3"], 2)
    assert list(world.look({"a": BROKEN, "b": "queue: x\n---\nname: b2"}).jobs) == ["b", "b2"]


def test_a_bad_document_in_a_known_file() -> None:
    """The others are taken as they are now; jobs that the bad document may define go on as they were (A19)."""
    world = World().look({"a": "queue: x\n---\nname: a2\n---\nname: a3"})
    world.look({"a": f"queue: y\n---\nname: a2\n{BROKEN}"})
    assert (world.defined(), world.removed(), len(world.active.errors)) == (["a"], [], 1)
    assert world.queues() == {"a": "y", "a2": "default", "a3": "default"}
    world.look({"a": "queue: y\n---\nname: a2\nqueue: z"})
    assert (world.queues(), world.removed()) == ({"a": "y", "a2": "z"}, ["a3"])


def test_a_new_file_with_a_taken_name() -> None:
    """S26: only the second definition is refused, also if both stand in one file; what is beside it is taken."""
    world = World().look({"a": "name: x\nqueue: first", "b": "name: x"})
    assert world.look({"a": "name: x\nqueue: first", "b": "name: x\n---\nname: z"}).defined() == ["z"]
    world = World().look({"a": "name: x\nqueue: first\n---\nname: x\n---\nname: y", "b": "name: x\n---\nname: z"})
    assert world.queues() == {"x": "first", "y": "default", "z": "default"}
    assert [(error.file, error.line) for error in world.active.errors] == [
        ("jobs/a.yaml", 4),
        ("jobs/b.yaml", 1),
    ]


def test_a_folder_out_of_sight_removes_nothing() -> None:
    """What cannot be looked into may still be there: the error stands, and all goes on, in and below it only."""
    files = {"a": "queue: x", "sub/b": "queue: x", "sub/deep/c": "queue: x", "subway": "queue: x"}
    world = World().look(files).look({"a": "queue: x"}, unseen=("jobs/sub",))
    assert (world.removed(), world.problems()) == (["subway"], ["it cannot be looked at"])
    assert (world.look({}, unseen=("jobs",)).removed(), len(world.jobs)) == ([], 3)
    assert world.look({"a": "queue: y"}).queues() == {"a": "y"}


def test_first_come_first_served() -> None:
    """S26: the job that stands goes on, though the other's file comes first by name, until it is gone."""
    world = World().look({"b": "name: x\nqueue: first"}).look({"a": "name: x", "b": "name: x\nqueue: first"})
    assert world.problems() == ["the job x is already defined in jobs/b.yaml:1, which goes on"]
    assert world.look({"a": "name: x", "b": "name: x\nqueue: changed"}).queues() == {"x": "changed"}
    assert world.look({"a": "name: x\nqueue: second"}).queues() == {"x": "second"}
    assert (world.removed(), world.problems()) == ([], [])


def test_a_taken_name_does_not_end_the_job_that_asks_for_it() -> None:
    """S26: a file that is given a name which is taken has an error, and goes on as it was."""
    world = World().look({"a": "name: x", "b": "name: y"}).look({"a": "name: y", "b": "name: y"})
    assert (sorted(world.jobs), len(world.active.errors)) == (["x", "y"], 1)


def test_names_can_be_swapped() -> None:
    """S26: two files that exchange their names in one burst are both right."""
    world = World().look({"a": "name: x\nqueue: a", "b": "name: y\nqueue: b"})
    assert world.look({"a": "name: y\nqueue: a", "b": "name: x\nqueue: b"}).queues() == {"x": "b", "y": "a"}
    assert world.problems() == []


def test_going_back_takes_a_name_back() -> None:
    """S26: a name that a file gave up is not free for another if that file has to go back to it."""
    world = World().look({"a": "name: x", "b": "name: y", "c": "name: z"})
    world.look({"a": "name: y", "b": "name: z", "c": BROKEN})
    assert (sorted(world.jobs), world.last and world.last.defined) == (["x", "y", "z"], ())
    assert [error.file[5] for error in world.active.errors] == ["c", "a", "b"]


def test_the_name_of_a_schedule_that_stands() -> None:
    """S21, S26: a job may not add a schedule whose name another has, and that other may change meanwhile."""
    world = World().look({"a": DAILY, "b": f"name: a.stop\n{DAILY}"})
    world.look({"a": "schedule: {start: '@daily', stop: '@hourly'}", "b": f"name: a.stop\nqueue: z\n{DAILY}"})
    assert world.queues() == {"a": "default", "a.stop": "z"}
    assert world.problems() == ["the schedule a.stop is already defined in jobs/b.yaml:1, which goes on"]


def test_a_name_that_is_given_up_comes_before_one_that_is_taken() -> None:
    """S26: jobs that are known are told first, so that a schedule's name is free when the next one takes it."""
    world = World().look({"b": "schedule: {start: '@daily', stop: '@hourly'}"})
    assert world.look({"a": f"name: b.stop\n{DAILY}", "b": DAILY}).defined() == ["b", "b.stop"]


def test_what_it_waits_for_is_deleted() -> None:
    """S35: what waited for a deleted schedule goes on, with an error, and can be waited for; no new one may."""
    waits = f"{DAILY}after: [{{schedule: a, within: 1d}}]"
    files = {"b": waits, "c": waits, "d": f"{DAILY}after: [{{schedule: b, within: 1d}}]"}
    world = World().look({"a": DAILY, "b": waits}).look(files)
    assert sorted(world.jobs) == ["b", "d"]
    assert world.problems() == ["the schedule a is unknown"] * 2
    assert sorted(world.look(files, others=("a",)).jobs) == ["b", "c", "d"]
    assert world.problems() == []


def test_an_edit_that_is_refused_blames_no_other_file() -> None:
    """S35: what waits for a schedule has no error if only the edit of that schedule was refused."""
    files = {"a": DAILY, "b": f"{DAILY}after: [{{schedule: a, within: 1d}}]", "c": "name: taken"}
    world = World().look(files).look(files | {"a": f"name: taken\n{DAILY}"})
    assert ([error.file for error in world.active.errors], sorted(world.jobs)) == (
        ["jobs/a.yaml"],
        ["a", "b", "taken"],
    )


def test_an_error_is_told_where_it_stands_now() -> None:
    """An unchanged job whose line moves is no change, but its error has the new line."""
    waits = f"{DAILY}after: [{{schedule: a, within: 1d}}]"
    world = World().look({"a": DAILY, "b": waits}).look({"b": f"# a comment\n{waits}"})
    assert ([error.line for error in world.active.errors], world.defined()) == ([3], [])


def test_a_circle_is_refused_where_it_is_closed() -> None:
    """S35: what stands is not ended by a newcomer that makes it wait for itself."""
    world = World().look({"a": f"{DAILY}after: [{{schedule: b, within: 1d}}]"}, others=("b",))
    world.look(
        {"a": f"{DAILY}after: [{{schedule: b, within: 1d}}]", "b": f"{DAILY}after: [{{schedule: a, within: 1d}}]"}
    )
    assert list(world.jobs) == ["a"]
    assert {error.file for error in world.active.errors} == {"jobs/a.yaml", "jobs/b.yaml"}


def test_the_whole_content_is_told_once() -> None:
    """S50: only a folder without an error says that there is nothing else; maybe late, and only once."""
    world = World().look({"a": "queue: x", "b": BROKEN})
    assert (world.defined(), world.last and world.last.full) == (["a"], False)
    world.look({"a": "queue: x", "b": "queue: x"})
    assert (world.defined(), world.last and world.last.full) == (["a", "b"], True)
    world.look({"a": "queue: x", "b": BROKEN}).look({"a": "queue: x"})
    assert (world.removed(), world.last and world.last.full) == (["b"], False)


NAMES = st.sampled_from("xyz")


@st.composite
def documents(draw: st.DrawFn) -> str:
    if draw(st.integers(0, 7)) == 0:
        return BROKEN
    lines = [f"name: {draw(NAMES)}", f"queue: {draw(st.sampled_from('pq'))}"]
    if draw(st.booleans()):
        lines.append(draw(st.sampled_from([DAILY, "schedule: {start: '@daily', stop: '@hourly'}"])))
        if draw(st.booleans()):
            lines.append(f"after: [{{schedule: {draw(NAMES)}, within: 1d}}]")
    return "\n".join(lines)


TEXTS = st.one_of(
    st.just(UNREADABLE),
    documents(),
    st.lists(documents(), min_size=2, max_size=3).map("\n---\n".join),
)
FOLDERS = st.dictionaries(st.sampled_from(["a", "b", "sub/c"]), TEXTS)
LOOKS = st.tuples(FOLDERS, st.sampled_from([(), (), (), ("jobs/sub",), ("jobs",)]))


@settings(max_examples=200)
@given(st.lists(LOOKS, min_size=1, max_size=6))
def test_any_history_of_a_folder(looks: list[tuple[dict[str, str], tuple[str, ...]]]) -> None:
    """S23, S26, S28: changes add up to what the files say; those with an error go on as they were."""
    world = World()
    for files, unseen in looks:
        before = world.active
        world.look(files, unseen=unseen)
        check_step(before, folder(files, unseen=unseen), world)


def check_step(before: ActiveDefinitions, content: FolderContent, world: World) -> None:
    after = world.active
    assert world.jobs == {name: located.job for name, located in after.jobs().items()}
    active = [located.job for located in after.jobs().values()]
    assert len(active) == sum(len(documents) for documents in after.files.values()), "a name stands twice"
    schedules = [schedule.name for job in active for schedule in job.schedules]
    assert len(set(schedules)) == len(schedules)
    wrong = {error.file for error in after.errors}
    for file in before.files.keys() | content.files.keys():
        stands, stood = after.files.get(file, ()), before.files.get(file, ())
        if file not in content.files:
            assert same(stands, stood if content.may_hold(file) else ())
        elif file not in wrong:
            assert same(stands, content.files[file].documents)
        elif content.files[file].errors:
            assert names_of(stood) <= names_of(stands) <= names_of(stood) | names_of(content.files[file].documents)
        elif stood:
            assert same(stands, stood)
    if not after.errors:
        at_once = reconcile(ActiveDefinitions(), content)
        assert world.jobs == {name: located.job for name, located in at_once.jobs().items()}
    check_first_come(before, content, after)
    assert difference(after, reconcile(after, content)) is None, "a second look at the same found something else"


def names_of(documents: tuple[ParsedDocument, ...]) -> set[str]:
    return {document.located.job.name for document in documents if document.located}


def same(some: tuple[ParsedDocument, ...], others: tuple[ParsedDocument, ...]) -> bool:
    one, other = (
        [document.located.job for document in documents if document.located] for documents in (some, others)
    )
    return one == other


def check_first_come(before: ActiveDefinitions, content: FolderContent, after: ActiveDefinitions) -> None:
    """S26: a name stays in its file for as long as the file asks for it."""
    for name, located in before.jobs().items():
        asked = content.files.get(located.file, ParsedFile()).documents
        if any(document.located and document.located.job.name == name for document in asked):
            assert after.jobs()[name].file == located.file
