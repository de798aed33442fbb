"""Job files on disk: files and folders, what cannot be read, and what only the whole set shows."""

import os
from pathlib import Path

import pytest

from tickwise.sources.defaults import Defaults
from tickwise.sources.yaml import Loaded, Template, read_path, read_text


def fill(folder: Path, **files: str) -> Loaded:
    """Read a folder with these files in it; `__` in a name is a folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_path(folder)


def names(loaded: Loaded) -> list[str]:
    return [located.job.name for located in loaded.jobs]


def test_a_folder_in_order(tmp_path: Path) -> None:
    """Job files of a folder and below it are read in order; other and hidden ones are not."""
    (tmp_path / "notes.txt").write_text("no job")
    (tmp_path / "d.yml").write_text("queue: x")
    (tmp_path / ".hidden.yaml").write_text("no job")
    (tmp_path / "old.yaml~").write_text("no job")
    loaded = fill(tmp_path, b="queue: x", a="queue: x", sub__c="queue: x", **{".git__x": "no job"})
    assert not loaded.errors
    assert names(loaded) == ["a", "b", "d", "c"]
    assert [Path(located.file).name for located in loaded.jobs] == ["a.yaml", "b.yaml", "d.yml", "c.yaml"]


def test_a_single_file_of_any_name(tmp_path: Path) -> None:
    """A file that is named is read, whatever its ending; the job is named after its stem."""
    file = tmp_path / "nightly.job"
    file.write_text("schedule: '@daily'")
    assert names(read_path(file)) == ["nightly"]


def test_templates_reach_the_files(tmp_path: Path) -> None:
    """A user's own templates are known in every file."""
    (tmp_path / "a.yaml").write_text("schedule: {template: mine}")
    assert names(read_path(tmp_path, defaults=Defaults(templates={"mine": Template("@daily", "x")}))) == ["a"]


def test_an_empty_folder(tmp_path: Path) -> None:
    """A folder without job files has no jobs and nothing wrong."""
    assert read_path(tmp_path) == Loaded((), ())


def test_one_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    """Each file stands by itself."""
    (tmp_path / "b.yaml").write_bytes(b"name: x\ndescription: \xff\xfe")
    (tmp_path / "c.yaml").write_bytes("name: x".encode("utf-16"))
    loaded = fill(tmp_path, a="foo: 1", d="queue: x")
    assert names(loaded) == ["d"]
    places = [(Path(e.file).name, e.line, e.problem) for e in loaded.errors]
    assert [place[:2] for place in places] == [("a.yaml", 1), ("b.yaml", 2), ("c.yaml", 1)]
    assert places[1][2] == places[2][2] == "the file is not UTF-8 text: save it as UTF-8"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.yaml", "there is no such file or folder"),
        ("a\0b", "cannot be the name of a file"),
        ("x" * 300, "cannot"),
    ],
)
def test_a_path_that_is_not_there(tmp_path: Path, name: str, problem: str) -> None:
    """A path that cannot be opened is an error that names it, without a line."""
    (error,) = read_path(tmp_path / name).errors
    assert problem in str(error)
    assert (error.line, error.column, error.field) == (None, None, "")


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """A pipe would wait for ever and a link may lead nowhere: both are errors at once."""
    os.mkfifo(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").symlink_to(tmp_path / "nowhere.yaml")
    (tmp_path / "c.yaml").symlink_to(tmp_path)
    loaded = read_path(tmp_path)
    assert [e.problem for e in loaded.errors] == [
        "this is not a regular file",
        "there is no such file or folder",
        "this is not a regular file",
    ]


def test_links_to_files_are_read_and_links_to_folders_are_not(tmp_path: Path) -> None:
    """A file may be a link; a folder that is one is not entered, so a loop is none."""
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    (tmp_path / "real").write_text("queue: x")
    (jobs / "a.yaml").symlink_to(tmp_path / "real")
    (jobs / "loop").symlink_to(jobs)
    assert names(read_path(jobs)) == ["a"]
    assert not read_path(jobs).errors


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system refuses is told in the system's words, for a file and for a folder."""
    (tmp_path / "a.yaml").write_text("queue: x")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        assert "the file cannot be read: Permission denied" in str(read_path(tmp_path).errors[0])
    monkeypatch.setattr(os, "scandir", refuse)
    assert "the folder cannot be read: Permission denied" in str(read_path(tmp_path).errors[0])


def test_too_large(tmp_path: Path) -> None:
    """A file of more than a mebibyte is refused without being read as YAML."""
    (tmp_path / "a.yaml").write_text("# x\n" * 300_000)
    (error,) = read_path(tmp_path).errors
    assert error.problem == "larger than 1 MiB"


def test_two_jobs_with_one_name(tmp_path: Path) -> None:
    """S26: the second is refused with an error that names both places; the first goes on."""
    loaded = fill(tmp_path, a="queue: x\n---\nqueue: y\nname: b", b="\n\nqueue: z")
    assert [(located.job.name, located.job.queue) for located in loaded.jobs] == [("a", "x"), ("b", "y")]
    (error,) = loaded.errors
    assert (Path(error.file).name, error.line, error.field) == ("b.yaml", 3, "name")
    assert f"the job b is already defined in {tmp_path / 'a.yaml'}:3, which goes on" in str(error)


def test_two_jobs_in_one_text(tmp_path: Path) -> None:
    """S26: it makes no difference if both stand in one file."""
    loaded = fill(tmp_path, a="queue: x\n---\nname: a")
    assert names(loaded) == ["a"]
    assert [e.line for e in loaded.errors] == [3]


def test_two_schedules_with_one_name(tmp_path: Path) -> None:
    """S21, S26: NAME.stop is a schedule's name, and another job may not take it."""
    text = "name: a.stop\nschedule: '@daily'"
    loaded = fill(tmp_path, a="schedule: {start: '@daily', stop: '@hourly'}", b=text)
    assert names(loaded) == ["a"]
    assert "the schedule a.stop is already defined in" in str(loaded.errors[0])


def test_after_names_what_is_there(tmp_path: Path) -> None:
    """S35: a schedule of the folder, of another kind or of the store may be named; an unknown one is refused."""
    files = {
        "a": "schedule: {start: '@daily', stop: '@hourly'}",
        "b": "schedule: '@daily'\nafter:\n- {schedule: a.stop, within: 1d}\n- {schedule: stored, within: 1d}",
        "c": "schedule: '@daily'\nafter:\n- {schedule: a, within: 1d}\n- {schedule: a.stp, within: 1d}",
    }
    loaded = fill(tmp_path, **files)
    assert names(loaded) == ["a"]
    assert [(e.line, e.field) for e in loaded.errors] == [(4, "after.1.schedule")] * 2
    assert "the schedule stored is unknown" in str(loaded.errors[0])
    assert "the schedule a.stp is unknown (did you mean a.stop?)" in str(loaded.errors[1])
    assert names(read_path(tmp_path, frozenset({"stored"}))) == ["a", "b"]


def test_cycles_through_after(tmp_path: Path) -> None:
    """S35: schedules that wait for each other are refused, all of them; so is who waits for them."""

    def waits(name: str) -> str:
        return f"schedule: '@daily'\nafter: [{{schedule: {name}, within: 1d}}]"

    loaded = fill(
        tmp_path,
        a=waits("b"),
        b=waits("c"),
        c=waits("a"),
        d=waits("d"),
        e=waits("a"),
        f=waits("g"),
        g="schedule: '@daily'",
    )
    assert names(loaded) == ["f", "g"]
    told = {Path(e.file).stem: e.problem for e in loaded.errors}
    assert sorted(told) == ["a", "b", "c", "d", "e"]
    assert told["a"] == told["b"] == told["c"]
    assert " before " in told["a"]
    assert told["d"] == "these schedules wait for each other: d before d"
    assert told["e"] == "the schedule a was refused itself"


def test_jobs_that_are_steps_of_each_other(tmp_path: Path) -> None:
    """S74: jobs of a circle are refused, all of them; others may have them as steps, or jobs that come later."""

    def calls(name: str) -> str:
        return f"steps: [{{name: s, job: {name}}}]"

    loaded = fill(tmp_path, a=calls("b"), b=calls("a"), c=calls("a"), d=calls("later"))
    assert names(loaded) == ["c", "d"]
    told = {Path(e.file).stem: e.problem for e in loaded.errors}
    assert told == dict.fromkeys("ab", "these jobs are steps of each other: a before b before a")


class _NoOptions:
    def check(self, options: object, *, at_most_once: bool) -> None: ...


def test_an_engine_does_not_wait() -> None:
    """S74: work on an engine cannot reach the store, so it has no child jobs."""
    defaults = Defaults(engines={"gpu": _NoOptions()})
    _, errors = read_text("engine: gpu\nsteps: [{name: s, job: b}]", "a.yaml", "a", defaults)
    assert [(error.field, "goes with no engine" in error.problem) for error in errors] == [("steps.0.job", True)]


def test_a_refused_definition_cannot_be_waited_for(tmp_path: Path) -> None:
    """S35: a file with an error has no schedules, so what waits for them is refused too."""
    loaded = fill(
        tmp_path, a="schedule: '@daily'\nfoo: 1", b="schedule: '@daily'\nafter: [{schedule: a, within: 1d}]"
    )
    assert names(loaded) == []
    assert [Path(e.file).stem for e in loaded.errors] == ["a", "b"]
