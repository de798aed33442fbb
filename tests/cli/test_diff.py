"""`tickwise diff`: what changes between folders, revisions and stores; how it is shown, and how it ends."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tickwise import Tickwise
from tickwise.testing import FakeClock

from .conftest import Command

FROM = ("--from", "2027-01-04")
NIGHTLY = 'schedule: "{} 3 * * *"\ntimezone: Europe/Berlin\ncommand: ./backup\n'


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the same job."""
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "nightly.yaml").write_text(NIGHTLY.format(0))
    return tmp_path / "a", tmp_path / "b"


def compared(command: Command, *arguments: object) -> tuple[int, dict[str, Any]]:
    code, out, err = command("diff", *arguments, *FROM, "--json")
    assert err == ""
    return code, json.loads(out)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)  # noqa: S607


def test_equal_folders_end_with_0(command: Command, sides: tuple[Path, Path]) -> None:
    """Comments and the order of fields are no difference."""
    (sides[1] / "nightly.yaml").write_text(
        "# new\ncommand: ./backup\n" + NIGHTLY.format(0).replace("command", "#")
    )
    code, out, _ = command("diff", *sides, *FROM)
    assert (code, out) == (0, "1 the same; every fire stays. 2027-01-04 00:00 to 2027-01-11 00:00 UTC.\n")


def test_a_moved_job_is_shown_with_its_field_and_its_fires(command: Command, sides: tuple[Path, Path]) -> None:
    """Old and new value, how far all fires move, the first three; a changed job ends with 1."""
    (sides[1] / "nightly.yaml").write_text(NIGHTLY.format(30))
    code, out, _ = command("diff", *sides, *FROM)
    days = ("Mon 2027-01-04", "Tue 2027-01-05", "Wed 2027-01-06")
    moves = ", ".join(f"{day} 03:00 → 03:30 +0100" for day in days)
    assert code == 1
    assert out.splitlines() == [
        "≠  nightly  schedule: 0 3 * * * → 30 3 * * *",
        f"            7 fires move 30m later: {moves} and 4 more",
        "1 changed; 7 fires move. 2027-01-04 00:00 to 2027-01-11 00:00 UTC.",
    ]


def test_jobs_that_come_and_go(command: Command, sides: tuple[Path, Path]) -> None:
    """An added job has only fires that appear, one that is disabled or removed only such that vanish."""
    (sides[1] / "extra.yaml").write_text("schedule: '@hourly'\ncommand: ls\n")
    (sides[0] / "old.yaml").write_text("schedule: '@daily'\ncommand: ls\n")
    (sides[1] / "nightly.yaml").write_text(NIGHTLY.format(0) + "enabled: false\n")
    code, found = compared(command, *sides)
    assert code == 1
    assert [(job["name"], job["change"]) for job in found["jobs"]] == [
        ("extra", "added"), ("nightly", "changed"), ("old", "removed"),
    ]  # fmt: skip
    counts = [{key: job["schedules"][0][key]["count"] for key in ("appear", "vanish")} for job in found["jobs"]]
    assert counts == [{"appear": 168, "vanish": 0}, {"appear": 0, "vanish": 7}, {"appear": 0, "vanish": 7}]
    assert found["jobs"][1]["fields"] == [{"field": "enabled", "old": None, "new": False}]


def test_a_difference_that_a_clock_change_makes(command: Command, sides: tuple[Path, Path]) -> None:
    """A zone with the same offset changes nothing yet: the first fire that will change is named (S39)."""
    (sides[1] / "nightly.yaml").write_text(NIGHTLY.format(0).replace("Berlin", "Paris"))
    assert compared(command, *sides)[1]["jobs"][0]["schedules"][0]["first_later"] is None
    (sides[1] / "nightly.yaml").write_text(NIGHTLY.format(0).replace("Europe/Berlin", "Africa/Lagos"))
    code, found = compared(command, *sides)
    (schedule,) = found["jobs"][0]["schedules"]
    assert (code, schedule["first_later"]) == (1, "2027-03-28T01:00:00Z")
    assert schedule["clock_change"] == "the clock skips 02:00 to 03:00"
    code, out, _ = command("diff", *sides, "--from", "2027-03-28", "--hours", "24")
    assert (code, "only where the clock changes: the clock skips 02:00 to 03:00" in out) == (1, True)


def test_secrets_are_hidden_and_still_compared(command: Command, sides: tuple[Path, Path]) -> None:
    """A changed password is named and not printed."""
    for side, value in zip(sides, ("first", "other"), strict=True):
        (side / "nightly.yaml").write_text(f"{NIGHTLY.format(0)}env: {{PASSWORD: {value}}}\n")
    code, out, _ = command("diff", *sides, *FROM)
    assert code == 1
    assert "env.PASSWORD: another hidden value" in out
    assert not {"first", "other"} & set(out.split())


def test_steps_are_compared_by_their_names(command: Command, sides: tuple[Path, Path]) -> None:
    """A step's field has the step's name in its path; another order of the steps is a difference."""
    steps = ["- {name: load, command: ls}\n", "- {name: send, command: ls}\n"]
    (sides[0] / "nightly.yaml").write_text("steps:\n" + "".join(steps))
    (sides[1] / "nightly.yaml").write_text(
        "steps:\n" + "".join(steps[::-1]).replace("send, command: ls", "send, command: ps")
    )
    fields = {
        each["field"]: (each["old"], each["new"]) for each in compared(command, *sides)[1]["jobs"][0]["fields"]
    }
    assert fields["steps"] == (["load", "send"], ["send", "load"])
    assert fields["steps.send.command"] == (["ls"], ["ps"])


def test_a_worse_herd_is_named(command: Command, sides: tuple[Path, Path]) -> None:
    """Three jobs at one second instead of one; fewer or as many as before are nothing to say."""
    for name in ("x", "y"):
        (sides[1] / f"{name}.yaml").write_text(NIGHTLY.format(0))
    assert "· 3 jobs start together at 2027-01-04T02:00:00Z, at most 1 before" in command("diff", *sides, *FROM)[1]
    for before in sides[::-1], (sides[1], sides[1]):
        assert "start together" not in command("diff", *before, *FROM)[1]


def test_markdown_shows_text_as_it_is(command: Command, sides: tuple[Path, Path]) -> None:
    """A table and details; what a job file says makes no markup, no row and no mention."""
    (sides[1] / "nightly.yaml").write_text(NIGHTLY.format(0) + 'description: "a | <b> @team\\n# `x` [y](z)"\n')
    code, out, _ = command("diff", *sides, *FROM, "--markdown")
    assert code == 1
    assert "| ≠ | <code>nightly</code> | <code>description</code> | stay |\n" in out
    assert out.endswith("\n\n</details>\n")
    details = out.partition("</summary>")[2].rpartition("</details>")[0].replace("<code>nightly</code>", "")
    assert not set("|<>@`[]*") & set(details)


def test_a_revision_is_read_without_a_checkout(command: Command, sides: tuple[Path, Path]) -> None:
    """REV:PATH names a folder or a file as git does; a mistake in it has its place; the worktree stays."""
    root, file = sides[0].parent, sides[0] / "nightly.yaml"
    git(root, "init", "-q")
    git(root, "add", "a")
    git(root, "commit", "-qm", "first")
    file.write_text(NIGHTLY.format(30))
    assert command("diff", "HEAD:a", "b", *FROM)[0] == 0
    assert command("diff", "HEAD:./a/nightly.yaml", file, *FROM)[0] == 1
    file.write_text("comand: ls\n")
    git(root, "commit", "-qam", "second")
    code, out, err = command("diff", "HEAD:a", "b")
    assert (code, out) == (2, "")
    assert "error: HEAD:a/nightly.yaml:1:1: comand: unknown field (did you mean command?)" in err
    assert file.read_text() == "comand: ls\n"


def test_a_revision_with_a_link_that_leads_out_is_refused(command: Command, sides: tuple[Path, Path]) -> None:
    """What lies outside of the folder has no content at that revision."""
    (sides[0] / "out.yaml").symlink_to("../b/nightly.yaml")
    git(sides[0].parent, "init", "-q")
    git(sides[0].parent, "add", "a")
    git(sides[0].parent, "commit", "-qm", "first")
    code, out, err = command("diff", "HEAD:a", "b")
    assert (code, out) == (2, "")
    assert "error: HEAD:a cannot be read: 'out.yaml' would link to" in err


@pytest.mark.usefixtures("filled")
def test_a_store_beside_a_folder(command: Command, sides: tuple[Path, Path]) -> None:
    """`store` is that of the settings; what a person paused is no difference; --source leaves other jobs out."""
    folder = sides[0]
    steps = "steps: [{name: count, command: echo three}, {name: print, command: echo reports, depends: count}]"
    (folder / "report.yaml").write_text(f"schedule: 0 3 * * *\nlabels: {{team: billing}}\n{steps}\n")
    nightly = "schedule: 0 2 * * *\ntimezone: Europe/Berlin\ncommand: echo hi\nparams: {table: orders}\n"
    (folder / "nightly.yaml").write_text(nightly)
    assert command("schedules", "pause", "nightly")[0] == 0
    assert command("diff", "store", folder, *FROM, "--source", "api")[:2] == (
        0, "2 the same; every fire stays. 2027-01-04 00:00 to 2027-01-11 00:00 UTC.\n",
    )  # fmt: skip
    code, out, _ = command("diff", "store", folder, *FROM)
    assert (code, "−  breaks  removed" in out) == (1, True)
    assert "· the store has jobs of api, app:app: --source compares only one of them" in out
    assert "no job in the store comes from 'x': api, app:app" in command("diff", "store", "a", "--source", "x")[2]


@pytest.mark.usefixtures("filled")
def test_each_schedule_of_a_job_is_named(command: Command, sides: tuple[Path, Path]) -> None:
    """A stop by its kind (S21), a schedule that was added to the job by its own name."""
    text = "schedule: {{start: 0 3 * * *, stop: 0 5 * * {}}}\ncommand: ls\n"
    for side, day in zip(sides, (1, 2), strict=True):
        (side / "nightly.yaml").write_text(text.format(day))
    lines = command("diff", *sides, *FROM)[1].splitlines()
    assert lines[0].endswith("schedule.stop: 0 5 * * 1 → 0 5 * * 2")
    assert [line.split(": M")[0].strip() for line in lines[1:3]] == [
        "stop: 1 fire vanishes", "stop: 1 fire appears: Tue 2027-01-05 05:00 +0000",
    ]  # fmt: skip
    assert command("schedules", "add", "--name", "again", "--cron", "0 4 * * *", "--job", "nightly")[0] == 0
    out = command("diff", "store", sides[0], *FROM, "--source", "api")[1]
    assert "schedules.again.schedule: 0 4 * * * → –\n" in out
    assert "again: 7 fires vanish: Mon 2027-01-04 04:00 +0000" in out


def test_overlaps_are_foreseen_from_real_run_times(
    command: Command, sides: tuple[Path, Path], tmp_path: Path
) -> None:
    """A job that ran for 12 minutes overlaps itself every 10 minutes, and did not every hour (S14)."""
    clock = FakeClock(datetime(2027, 1, 4, tzinfo=UTC))
    (tmp_path / ".tickwise").mkdir()
    with Tickwise(f"sqlite:///{tmp_path}/.tickwise/tickwise.db", clock=clock) as tw:
        tw.job("@hourly", name="load")(lambda: clock.advance(720))
        tw.schedules.trigger("load")
        tw.drain()
    (sides[1] / "load.yaml").write_text("schedule: '*/10 * * * *'\ncommand: ./load\n")
    _, found = compared(command, "store", sides[1], "--hours", "2")
    assert found["notes"] == [
        "load takes 12m (median in the store): 11 starts would come before the run before has ended, 0 so far"
    ]
    assert compared(command, sides[1], "store", "--hours", "2")[1]["notes"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a", "nope"), "nope: there is no such file or folder"),
        (("a", "main:b"), "git has no main:b here: write REV:PATH"),
        (("a", "--output=x:y"), "No such option"),
        (("a", "b", "--markdown", "--json"), "give --markdown or --json, not both"),
        (("a", "b", "--to", "2027-01-05", "--hours", "3"), "give --to or --hours, not both"),
        (("a", "b", *FROM, "--to", "2027-01-03"), "--to must be later than --from, by at most a year"),
        (("a", "b", *FROM, "--to", "2029-01-03"), "--to must be later than --from, by at most a year"),
        (("a", "store"), "there is no store"),
    ],
)
@pytest.mark.usefixtures("sides")
def test_wrong_use(command: Command, arguments: tuple[str, ...], said: str) -> None:
    """It ends with 2, prints nothing, and says what is wrong."""
    code, out, err = command("diff", *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_too_many_starts_are_refused(command: Command, sides: tuple[Path, Path]) -> None:
    """A job of every second over a year would take minutes: the window is to be shorter."""
    (sides[1] / "often.yaml").write_text("schedule: {every: 1s}\ncommand: ls\n")
    code, _, err = command("diff", *sides, "--hours", 24 * 300)
    assert (code, "more than 1,000,000 starts in this window: make it shorter with --hours" in err) == (2, True)


def test_each_side_has_the_settings_of_its_own_folder(
    command: Command, sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A default zone that changes moves the fires; a tickwise.toml above the job files counts as well."""
    for folder, zone in zip(sides, ("Europe/Berlin", "Europe/London"), strict=True):
        (folder / "nightly.yaml").write_text('schedule: "0 3 * * *"\ncommand: ./backup\n')
        (folder / "tickwise.toml").write_text(f'timezone = "{zone}"\n')
    code, answer = compared(command, *sides)
    assert (code, answer["jobs"][0]["change"]) == (1, "changed")
    top = sides[0].parent
    (sides[0] / "tickwise.toml").rename(top / "tickwise.toml")
    monkeypatch.chdir(sides[1])
    assert compared(command, *sides)[0] == 1
    (sides[1] / "tickwise.toml").unlink()
    assert compared(command, *sides)[0] == 0


def test_a_revision_has_its_own_settings(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they were committed, at or above the job files; those of the working folder do not count."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "nightly.yaml").write_text('schedule: "0 3 * * *"\ncommand: ./backup\n')
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    for number, zone in enumerate(("", 'timezone = "Europe/Berlin"\n', 'timezone = "Europe/London"\n')):
        if zone:
            (tmp_path / "tickwise.toml").write_text(zone)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", f"state {number}")
    (tmp_path / "tickwise.toml").write_text('timezone = "Asia/Tokyo"\n')
    assert compared(command, "HEAD~1:jobs", "HEAD~1:./jobs")[0] == 0
    pairs = [("HEAD~2:jobs", "HEAD~1:jobs"), ("HEAD~1:jobs/nightly.yaml", "HEAD:jobs"), ("HEAD:jobs", "jobs")]
    for before, after in pairs:
        code, answer = compared(command, before, after)
        assert (code, answer["jobs"][0]["change"]) == (1, "changed"), (before, after)
