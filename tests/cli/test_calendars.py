"""`tickwise calendars`, and job files on the days of the calendars beside them."""

import json
from pathlib import Path

import pytest

from .conftest import Command

OFFICE = "weekdays: [MON-FRI]\nremove: [closing]\n"
CLOSING = "description: Closed\nics: days.ics\n"
ICS = (
    "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VEVENT\nSUMMARY:Moving\nDTSTART;VALUE=DATE:20270104\nEND:VEVENT\n"
    "END:VCALENDAR\n"
)
JOB = 'schedule: "0 9 * * *"\ndays: {in: office}\ncommand: ls\n'


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """A folder of jobs with two calendars."""
    files = {"calendars/office.yaml": OFFICE, "calendars/closing.yaml": CLOSING, "calendars/days.ics": ICS}
    for name, text in {**files, "report.yaml": JOB}.items():
        place = tmp_path / "jobs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path / "jobs"


def test_files_need_no_store(command: Command, jobs: Path) -> None:
    """S60, S61: a folder, or one file of it, is checked and simulated on its own calendars."""
    assert command("validate", jobs)[:2] == (0, "1 job fine, 0 mistakes\n")
    code, out, _ = command(
        "simulate", jobs / "report.yaml", "--from", "2026-12-31", "--to", "2027-01-07", "--json"
    )
    assert (code, [one["slot"][:10] for one in json.loads(out)["slots"]]) == (
        0, ["2026-12-31", "2027-01-01", "2027-01-05", "2027-01-06"]
    )  # fmt: skip


def test_a_job_file_and_its_calendars_are_checked_together(command: Command, jobs: Path) -> None:
    """S60, S61: with the place of each mistake."""
    (jobs / "report.yaml").write_text(JOB.replace("office", "ofice"))
    (jobs / "calendars" / "office.yaml").write_text(OFFICE + "add: [nobody]\n")
    code, out, err = command("validate", jobs)
    assert code == 2
    assert "report.yaml:1: days: there is no calendar 'ofice'" in out + err
    assert "office.yaml: there is no calendar 'nobody'" in out + err


def test_a_picture_of_a_year(command: Command, jobs: Path) -> None:
    """S60: the days in it by number, the others as dots; with what they are called. It needs no store."""
    code, out, _ = command("calendars", "preview", jobs / "calendars" / "office.yaml", "--year", "2027")
    assert code == 0
    assert "    January 2027           February 2027             March 2027" in out
    assert " ·  5  6  7  8  ·  ·     8  9 10 11 12  ·  · " in out
    assert out.endswith("260 days of 2027 are in the calendar.\n")
    closing = jobs / "calendars" / "closing.yaml"
    assert "  Mon 2027-01-04  in   Moving" in command("calendars", "preview", closing, "-y", "2027")[1]
    shown = json.loads(command("calendars", "preview", closing, "-y", "2027", "--json")[1])
    assert shown == {"year": 2027, "days": ["2027-01-04"], "names": {"2027-01-04": "Moving"}}
    assert "the days of 1999 are not known" in command("calendars", "preview", closing, "-y", "1999")[2]


def test_a_file_is_written_into_the_store(command: Command, jobs: Path) -> None:
    """S60: with the text of its .ics file; what it needs comes first."""
    command("store", "upgrade")
    office, closing = (jobs / "calendars" / f"{name}.yaml" for name in ("office", "closing"))
    code, _, err = command("calendars", "add", office)
    assert (code, "there is no calendar 'closing'" in err) == (2, True)
    for file in (closing, office):
        assert command("calendars", "add", file)[0] == 0
    assert command("schedules", "add", jobs / "report.yaml")[0] == 0
    code, out, _ = command("calendars", "show", "office", "-y", "2027")
    assert (code, "used by" in out, "report" in out) == (0, True, True)
    assert "Closed" in command("calendars", "list")[1]
    code, out, _ = command("calendars", "add", "-", "--name", "office", given="weekdays: [SAT]\n")
    assert (code, "used by 1." in out) == (0, True)
    assert "no name: give --name" in command("calendars", "add", "-", given="weekdays: [SAT]\n")[2]
    code, _, err = command("calendars", "add", "-", "--name", "office", given="weekday: [SAT]\n")
    assert (code, "weekday: unknown field (did you mean weekdays?)" in err) == (2, True)
    assert "there is no such file" in command("calendars", "preview", "nothing.yaml")[2]
    code, _, err = command("calendars", "remove", "office", "--yes")
    assert (code, "is used by report" in err) == (1, True)
