"""Calendar files: what they may say, and the days that this gives."""

import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tickwise.core.cron.day_set import DaySet, day_date, day_number
from tickwise.core.errors import InputError
from tickwise.ownership import WriterCheck
from tickwise.sources.calendars import (
    ExpansionRange,
    calendar_schema,
    expand,
    read_calendar_fields,
    read_calendar_folder,
)
from tickwise.sources.spec.error import DefinitionError

YEARS = ExpansionRange.around(date(2026, 6, 1))
CLOSING = DaySet.of([day_number(date(2026, 1, 2))], YEARS.since, YEARS.size)


def days(**fields: Any) -> list[str]:
    """Those of January 2026."""
    found = expand(read_calendar_fields(fields), YEARS, {"closing": CLOSING}).days
    return [str(day_date(day)) for day in found if str(day_date(day)).startswith("2026-01")]


def january(*numbers: int) -> list[str]:
    return [f"2026-01-{number:02}" for number in numbers]


def test_days_of_each_kind() -> None:
    """S60: weekdays, dates, ranges, other calendars added and taken away; for twelve whole years."""
    assert (YEARS.since, YEARS.size) == (day_number(date(2025, 1, 1)), 4_383)
    assert days(weekdays=["SAT-MON", "WED"])[:4] == january(3, 4, 5, 7)
    assert days(dates=["2026-01-09", "1999-01-01"]) == january(9)
    assert days(
        ranges=[{"from": "2020-01-01", "to": "2026-01-03"}, {"from": "2026-01-31", "to": "2099-01-01"}]
    ) == (january(1, 2, 3, 31))
    assert days(add=["closing", {"dates": ["2026-01-04"]}]) == january(2, 4)
    assert days(
        ranges=[{"from": "2026-01-01", "to": "2026-01-04"}], remove=["closing", {"weekdays": ["SUN"]}]
    ) == (january(1, 3))


@pytest.mark.parametrize("locale", ["de_DE.UTF-8", "C"])
def test_names_of_holidays_do_not_depend_on_the_machine(locale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S60: they are in English, whatever the locale of the node that expands them."""
    monkeypatch.setenv("LANGUAGE", locale)
    names = expand(read_calendar_fields({"holidays": {"country": "DE"}}), YEARS, {}).names
    assert names["2026-04-03"] == "Good Friday"


def test_public_holidays_of_a_country_and_its_states() -> None:
    """S60: Epiphany is one in Bavaria and not in Berlin; an unknown place is refused with the known ones."""
    assert days(holidays={"country": "de", "subdivision": "BY"}) == january(1, 6)
    assert days(holidays={"country": "DE", "subdivision": "BE"}) == january(1)
    for place, problem in (
        ({"country": "XX"}, "AD, AE"),
        ({"country": "DE", "subdivision": "XX"}, "DE has BB, BE"),
    ):
        with pytest.raises(InputError, match=problem):
            days(holidays=place)


def event(*lines: str) -> str:
    return "\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT"])


def ics(*events: str) -> str:
    return "\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", *events, "END:VCALENDAR", ""])


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["DTSTART;VALUE=DATE:20260105"], january(5)),
        (["DTSTART;VALUE=DATE:20260105", "DTEND;VALUE=DATE:20260107"], january(5, 6)),
        (["DTSTART:20260105T220000Z", "DTEND:20260106T000000Z"], january(5)),
        (["DTSTART:20260105T220000Z", "DURATION:PT3H"], january(5, 6)),
        (["DTSTART:20260105T220000Z"], january(5)),
        (["DTSTART;VALUE=DATE:20260105", "STATUS:CANCELLED"], []),
        (["DTSTART;VALUE=DATE:20200108", "RRULE:FREQ=YEARLY"], january(8)),
        (
            ["DTSTART;VALUE=DATE:20251229", "DTEND;VALUE=DATE:20251231", "RRULE:FREQ=WEEKLY;COUNT=4",
             "EXDATE;VALUE=DATE:20260105", "RDATE;VALUE=DATE:20260121"],
            january(12, 13, 19, 20, 21, 22),
        ),
        (
            ["DTSTART;VALUE=DATE:20260105", "EXDATE;VALUE=DATE:20260105", "EXDATE;VALUE=DATE:20260106",
             "RDATE;VALUE=PERIOD:20260107T100000Z/PT1H"],
            january(7),
        ),
    ],
)  # fmt: skip
def test_events_of_an_ics_file(lines: list[str], found: list[str]) -> None:
    """S60: every day that an event touches, with its repetitions."""
    assert days(ics=ics(event(*lines))) == found
    named = expand(read_calendar_fields({"ics": ics(event("SUMMARY:Closed", *lines))}), YEARS, {})
    assert {named.names[day] for day in found} <= {"Closed"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("BEGIN:VCALENDAR\nnonsense", "ics: this is no calendar file"),
        (ics(event("SUMMARY:Broken")), "ics: the event 'Broken' cannot be used"),
        (ics(event("DTSTART;VALUE=DATE:20260105", "RRULE:FREQ=SECONDLY")), "FREQ is one of DAILY"),
        (ics(event("DTSTART;VALUE=DATE:20260105", "DTEND;VALUE=DATE:20460107")), "lasts more than 3,660 days"),
    ],
)
def test_ics_files_that_cannot_be_used(text: str, problem: str) -> None:
    """S60: the error names the event."""
    with pytest.raises(InputError, match=problem):
        days(ics=text)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """S60: with the command that installs it; other calendars need neither."""
    for name in ("holidays", "icalendar"):
        monkeypatch.setitem(sys.modules, name, None)
    for fields in ({"holidays": {"country": "DE"}}, {"ics": ics()}):
        with pytest.raises(InputError, match=r"is not installed: pip install 'tickwise\[calendars\]'"):
            days(**fields)
    assert days(dates=["2026-01-09"]) == january(9)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "it has no day: give weekdays, dates"),
        ({"remove": ["closing"]}, "it has no day"),
        ({"weekdays": []}, "weekdays: must not be empty"),
        ({"dates": ["2026-02-30"]}, "dates.0: '2026-02-30' is no date"),
        ({"dates": [20260105]}, "dates.0: must be text"),
        ({"ranges": [{"from": "2026-02-03", "to": "2026-02-01"}]}, "ranges.0: it ends on 2026-02-01, before"),
        ({"add": [5]}, "add.0: must be the name of a calendar, or a mapping"),
        ({"add": ["closin"]}, "there is no calendar 'closin' \\(did you mean closing\\?\\)"),
        ({"add": [{"add": ["closing"]}]}, "add.0.add: unknown field"),
        ({"dates": ["2026-01-01"], "x": {1: {2}}}, "cannot stand in a definition"),
    ],
)
def test_a_calendar_that_is_wrong(fields: dict[Any, Any], problem: str) -> None:
    """S60: the error says where and what instead."""
    with pytest.raises(InputError, match=problem):
        days(**fields)


def read(path: Path, **files: str) -> tuple[dict[str, Any], list[str]]:
    """The calendars of a folder with these files, and the errors without their paths."""
    folder = path / "calendars"
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    found = read_calendar_folder(path, WriterCheck(()))
    assert all(isinstance(error, DefinitionError) for error in found.errors)
    return dict(found.fields), [str(error).removeprefix(f"{folder}/") for error in found.errors]


def test_files_of_a_folder(tmp_path: Path) -> None:
    """S60: each is named by its file, an .ics file stands in place of its name; others are not looked at."""
    text = ics(event("DTSTART;VALUE=DATE:20260105"))
    found, errors = read(
        tmp_path, a_yaml="weekdays: [MON]", b_yml="ics: days.ics", days_ics=text.replace("\n", "\r\n"), c_txt="no"
    )
    assert (found, errors) == ({"a": {"weekdays": ["MON"]}, "b": {"ics": text}}, [])


def test_errors_of_files_have_their_place(tmp_path: Path) -> None:
    """S60: line, column and field; the good files count."""
    (tmp_path / "secret").write_text("BEGIN:VCALENDAR")
    found, errors = read(
        tmp_path, a_yaml="weekdays: [MON", b_yaml="", c_yaml="---\ndates: [2026-01-01]\n---\ndates: [2026-01-02]",
        d_yaml="- 1", e_yaml="ics: ../secret", f_yaml="ics: none.ics", good_yaml="weekdays: [MON]",
        good_yml="weekdays: [TUE]", g_yaml="dates: [2026-01-01]\nfoo: 1",
    )  # fmt: skip
    assert list(found) == ["good"]
    assert [error.split(": ")[0] for error in errors] == [
        f"{name}.{suffix}" + place for name, suffix, place in (
            ("a", "yaml", ":1:11"), ("b", "yaml", ":1:1"), ("c", "yaml", ":1:1"), ("d", "yaml", ":1:1"),
            ("e", "yaml", ":1:6"), ("f", "yaml", ":1:6"), ("g", "yaml", ":2:1"), ("good", "yml", ""),
        )
    ]  # fmt: skip
    assert "must be a plain file in the folder of the calendar" in errors[4]
    assert "there is no such file" in errors[5]


def test_links_and_files_that_others_may_write_are_not_read(tmp_path: Path) -> None:
    """S60: no link leads out of the folder."""
    folder = tmp_path / "calendars"
    folder.mkdir()
    (tmp_path / "out.ics").write_text(ics())
    (folder / "in.ics").symlink_to(tmp_path / "out.ics")
    (folder / "a.yaml").write_text("ics: in.ics")
    (folder / "b.yaml").write_text("weekdays: [MON]")
    (folder / "b.yaml").chmod(0o666)
    found = read_calendar_folder(tmp_path)
    folder.chmod(0o777)
    assert not read_calendar_folder(tmp_path).is_seen
    assert (dict(found.fields), found.broken) == ({}, frozenset({"a", "b"}))


def test_the_schema_knows_all_fields() -> None:
    """S60: for editors."""
    assert set(calendar_schema()["properties"]) == {
        "weekdays", "dates", "ranges", "holidays", "ics", "description", "add", "remove"
    }  # fmt: skip
    assert YEARS.since + timedelta(days=YEARS.size).days == day_number(date(2037, 1, 1))
