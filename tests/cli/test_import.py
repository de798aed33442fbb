"""`tickwise import`: job files that a node takes, the comparison that people read, and clear refusals."""

import json
import os
import sqlite3
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tickwise.sources.yaml import read_path, read_text

from ..importers.test_apscheduler_code import CODE
from .conftest import Command

TAB = "PATH=/bin\n# Dumps\n30 3 * * * backup\n*/15 2 * * * poll\n@reboot agent\n"
ZONE = ("--timezone", "Europe/Berlin", "--from", "2027-01-01")


@pytest.fixture
def tab(tmp_path: Path) -> Path:
    file = tmp_path / "tab"
    file.write_text(TAB)
    return file


def test_what_is_printed_is_job_files(command: Command, tab: Path) -> None:
    """The output can be saved as it is: its notes are comments."""
    code, out, err = command("import", "crontab", tab, *ZONE)
    assert code == 0
    jobs, errors = read_text(out, "jobs.yaml", "jobs")
    assert [located.job.name for located in jobs] == ["backup", "poll", "agent"]
    assert errors == []
    assert "# Not the same as cron, 2027-01-01 to 2028-01-01: cron 1,460 fires, Tickwise 1,457 fires" in out
    assert "--out FOLDER" in err


def test_explain_is_short(command: Command, tab: Path) -> None:
    """One line for a job that fires as before, one more for each day that differs, a sentence at the end."""
    code, out, _ = command("import", "crontab", tab, *ZONE, "--explain")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "✓  backup  30 3 * * *    365 fires"
    assert "2027-03-28: the clock skips 02:00 to 03:00; Tickwise fires once more, at 03:00 CEST" in lines[2]
    assert lines[-1] == "Tickwise beside cron, 2027-01-01 to 2028-01-01: 1 the same, 1 different, 1 without times."


def test_out_writes_a_file_for_each_job_and_overwrites_none(command: Command, tab: Path, tmp_path: Path) -> None:
    """The folder can be served; a second import into it is refused and changes nothing."""
    folder = tmp_path / "jobs"
    assert command("import", "crontab", tab, *ZONE, "--out", folder)[0] == 0
    assert {path.name for path in folder.iterdir()} == {"backup.yaml", "poll.yaml", "agent.yaml"}
    assert not read_path(folder).errors
    (folder / "poll.yaml").unlink()
    code, _, err = command("import", "crontab", tab, *ZONE, "--out", folder)
    assert (code, "exists already" in err) == (2, True)
    assert not (folder / "poll.yaml").exists()


def test_json_holds_everything(command: Command, tab: Path) -> None:
    """Definitions, notes and each difference with its seconds."""
    tab.write_text(TAB + "61 * * * * wrong\n")
    code, out, _ = command("import", "crontab", tab, *ZONE, "--json")
    answer = json.loads(out)
    assert code == 1
    poll = answer["jobs"][1]
    assert poll["definition"]["schedule"] == "*/15 2 * * *"
    assert poll["proof"]["differences"][0] == {
        "day": "2027-03-28",
        "change": "the clock skips 02:00 to 03:00",
        "theirs": [],
        "ours": ["2027-03-28T01:00:00Z"],
    }
    assert answer["refused"] == [
        {"place": f"{tab}:6", "text": "61 * * * * wrong", "problem": "'61' is not between 0 and 59"}
    ]


@pytest.mark.parametrize(
    ("arguments", "content", "says"),
    [
        (("cronttab", "tab"), b"", "did you mean crontab?"),
        (("crontab", "nothing"), b"", "nothing cannot be read: No such file"),
        (("crontab", "tab"), b"\xff\xfe\x00binary", "tab:1: it is no text in UTF-8"),
        (("crontab", "tab"), b"#" * 1_048_577, "tab is larger than 1 MiB"),
        (("crontab", "tab", "-z", "Europe/Berln"), TAB.encode(), "did you mean Europe/Berlin?"),
        (("crontab", "tab", "--from", "soon"), TAB.encode(), "'soon' is not a date or time"),
    ],
)
def test_bad_sources_are_refused(
    command: Command, tab: Path, arguments: tuple[str, ...], content: bytes, says: str
) -> None:
    """An error says what is wrong and where, and exits with 2."""
    tab.write_bytes(content)
    code, out, err = command("import", *arguments)
    assert (code, out) == (2, "")
    assert says in err


def test_stdin_is_a_source(command: Command) -> None:
    """`crontab -l | tickwise import crontab -` reads what it is given."""
    code, out, _ = command("import", "crontab", "-", *ZONE, given=TextIOWrapper(BytesIO(TAB.encode())))
    assert (code, "# stdin:3: 30 3 * * *" in out) == (0, True)


def test_shadow_writes_the_field_and_the_old_lines(
    command: Command, tab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each entry with times is in shadow, and its old line tells Tickwise before it runs what it ran (S80)."""
    monkeypatch.chdir(tmp_path)
    code, out, _ = command("import", "crontab", tab, *ZONE, "--shadow", "--json")
    answer = json.loads(out)
    assert code == 0
    assert [job["definition"].get("shadow") for job in answer["jobs"]] == [True, True, None]
    head, backup, poll = answer["calls"]
    assert head == "In shadow: let cron tell what it starts."
    assert backup.startswith("30 3 * * * ")
    assert backup.endswith(f"seen backup --store sqlite:///{tmp_path}/.tickwise/tickwise.db; backup")
    assert poll.endswith("; poll")
    folder = tmp_path / "jobs"
    said = command("import", "crontab", tab, *ZONE, "--shadow", "--out", folder)[1]
    assert backup in said
    jobs = {each.job.name: each.job for each in read_path(folder).jobs}
    assert [jobs[name].schedules[0].policy.shadow for name in ("backup", "poll")] == [True, True]
    timer = tmp_path / "a.timer"
    timer.write_text("[Timer]\nOnCalendar=daily\n")
    calls = json.loads(command("import", "systemd", timer, *ZONE, "--shadow", "--json")[1])["calls"]
    assert calls[1].startswith("ExecStartPre=-")


def test_a_file_is_read_and_an_object_imported(command: Command, tmp_path: Path) -> None:
    """The same kind: a file is read as syntax, `module:scheduler` is imported."""
    (tmp_path / "app.py").write_text(CODE)
    code, out, _ = command("import", "apscheduler", str(tmp_path / "app.py"), "--explain", "--from", "2027-01-01")
    assert (code, "poll" in out, "4 not imported" in out) == (1, True, True)


@pytest.mark.parametrize("source", ["sqlite:///jobs.sqlite", "postgresql://u:secret@127.0.0.1:9/jobs"])
def test_a_store_that_cannot_be_read(command: Command, source: str) -> None:
    """What the database says, and what to give instead; no password."""
    code, _, err = command("import", "apscheduler", source)
    assert code == 2
    assert "hold pickles" in err
    assert "secret" not in err


def test_a_database_as_a_file(command: Command, tmp_path: Path) -> None:
    """It is named by its URL."""
    with sqlite3.connect(tmp_path / "jobs.db") as connection:
        connection.execute("CREATE TABLE schedules (id)")
    for kind in ("apscheduler", "celery-beat", "crontab"):
        code, _, err = command("import", kind, tmp_path / "jobs.db")
        assert (code, f"write sqlite:///{tmp_path}/jobs.db" in err) == (2, True), err


def test_version_4_beside_a_scheduler_object(tmp_path: Path) -> None:
    """Where APScheduler 4 is installed, `module:scheduler` says what to give instead."""
    (tmp_path / "apscheduler").mkdir()
    (tmp_path / "apscheduler" / "__init__.py").touch()
    (tmp_path / "app.py").write_text("raise SystemExit('executed')")
    done = subprocess.run(
        [sys.executable, "-m", "tickwise", "import", "apscheduler", "app:scheduler"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "APScheduler 4 is installed here" in done.stderr
    assert "the URL of its data store" in done.stderr
