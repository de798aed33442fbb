"""systemd timers: their times are those of `systemd-analyze`, and their services become actions."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tickwise.core.cron import parse
from tickwise.core.errors import InputError
from tickwise.importers.model import ReadOptions
from tickwise.importers.on_calendar import to_cron
from tickwise.importers.proof import Proof, prove
from tickwise.importers.systemd import SystemdRules, read

from .support import START, files_of

DAY = 86_400
TIMER = """
[Unit]
Description=Nightly
[Timer]
OnCalendar=*-*-* 02:30
OnCalendar=
OnCalendar=Mon..Fri *-*-* 02:30:00
OnCalendar=Sat *-*~07/1 12:00 Asia/Tokyo
RandomizedDelaySec=1h 30min
Persistent=true
AccuracySec=1s
"""
SERVICE = """
[Service]
Type=oneshot
User=backup
WorkingDirectory=/srv
Environment="A=1 2" B=3
ExecStart=/usr/bin/dump --name \\
  "x y" 100%% $$HOME
ExecStart=-/usr/bin/clean ${DAYS}
RuntimeMaxSec=2h
Nice=10
"""


def test_a_timer_and_its_service() -> None:
    """Calendar, zone, delay, catch-up, user, folder, variables, limit and commands go along; the rest is named."""
    job = files_of(read({"u/night.timer": TIMER, "u/night.service": SERVICE}, ReadOptions("Europe/Berlin")))[0]
    assert job.imported.fields == {
        "schedule": [
            "30 2 * * MON-FRI",
            {"cron": "0 12 L-6,L-5,L-4,L-3,L-2,L-1,L * SAT&", "timezone": "Asia/Tokyo"},
        ],
        "timezone": "Europe/Berlin",
        "catchup": "once",
        "overlap": "skip",
        "jitter": "1h30m",
        "description": "Nightly",
        "env": {"A": "1 2", "B": "3"},
        "labels": {"user": "backup"},
        "timeout": "2h",
        "dir": "/srv",
        "steps": [
            {"name": "start-1", "command": ["/usr/bin/dump", "--name", "x y", "100%", "$HOME"]},
            {"name": "start-2", "depends": "start-1", "script": "exec /usr/bin/clean ${DAYS}\n"},
        ],
    }
    assert job.verdict == "same"
    assert any("Nice" in note for note in job.imported.notes)


def test_a_file_of_variables() -> None:
    """EnvironmentFile is env_file; one that may be missing, or a second, is named instead."""
    timer = "[Timer]\nOnCalendar=daily\n"
    for file, expected, notes in (("/etc/a.env", "/etc/a.env", 0), ("-/etc/a.env", None, 1)):
        service = f"[Service]\nExecStart=/bin/true\nEnvironmentFile={file}\n"
        job = read({"a.timer": timer, "a.service": service}, ReadOptions()).jobs[0]
        assert job.fields.get("env_file") == expected
        assert sum("EnvironmentFile" in note for note in job.notes) == notes


def test_fractions_of_seconds_are_cut_off() -> None:
    """Two instants of one second are one slot, and a comment says so."""
    job = files_of(read({"a.timer": "[Timer]\nOnCalendar=*-*-1 12:00:00.25,00.75\n"}, ReadOptions("UTC")))[0]
    assert job.imported.fields["schedule"] == "0 12 1 * *"
    assert "fractions are cut off" in job.imported.notes[0]
    assert job.verdict == "same"


def test_an_interval_is_not_compared() -> None:
    """OnUnitActiveSec counts from the last run: it is an interval here, and that is said."""
    job = files_of(read({"a.timer": "[Timer]\nOnBootSec=5min\nOnUnitActiveSec=1d\n"}, ReadOptions()))[0]
    assert job.imported.fields["schedule"] == [{"every": "1d"}]
    assert (job.verdict, len(job.imported.notes)) == ("unknown", 3)


def test_a_timer_without_times_is_refused() -> None:
    """One that only fires at boot is named, and hides no other."""
    found = read({"a.timer": "[Timer]\nOnBootSec=5min\n", "b.timer": "[Timer]\nOnCalendar=daily\n"}, ReadOptions())
    assert [job.name for job in found.jobs] == ["b"]
    assert [each.place for each in found.refused] == ["a.timer"]


def component(low: int, high: int) -> st.SearchStrategy[str]:
    """A part of a calendar: all, a value, a range, a step, a list."""

    @st.composite
    def draw_one(draw: st.DrawFn) -> str:
        first = draw(st.integers(low, high))
        last = draw(st.integers(first, high))
        step = draw(st.integers(1, 9))
        span = f"{first}..{last}"
        shapes = ["*", "*", f"{first:02}", span, f"{first}/{step}", f"{span}/{step}", f"{first},{last}"]
        return draw(st.sampled_from(shapes))

    return draw_one()


calendars = st.builds(
    "{}*-{}-{} {}:{}:{}".format,
    st.sampled_from(["", "Mon ", "Mon..Fri ", "Sat,Sun ", "tue-thu,Sun "]),
    component(1, 12),
    component(1, 31),
    component(0, 23),
    component(0, 59),
    st.sampled_from(["00", "30", "00/20"]),
)
WRITTEN = [
    "minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually", "yearly", "Mon", "10-15",
    "12:00", "*-02~03", "*-*~07/1 3:00", "Fri *-*~07/1", "2027-03-01",
    "2027..2029-1,6-1 0:0", "weekly Asia/Tokyo", "*-*~01..03 12:00", "*-*~01..05/2", "*-*~02..10/3", "*-*~*",
    "12:00:00.5", "*-*-1 0:0:0/1.5", "*-*-1 12:00:5..10/2.5", "Mon 1:2:3.25,4..6",
]  # fmt: skip


def _compare(text: str, timezone: str, start: int, end: int) -> Proof | None:
    """The proof for a calendar; none if it never fires."""
    cron, where, _ = to_cron(text)
    try:
        times = parse(cron, where or timezone)
    except InputError:
        assert list(SystemdRules((text,), timezone).fires(start, end)) == []
        return None
    return prove(SystemdRules((text,), timezone), times, start, end)


@settings(max_examples=15)
@given(calendars)
def test_times_are_those_of_systemd(text: str) -> None:
    """Whatever a calendar says, the seconds are the same, but where the clock changes."""
    found = _compare(text, "Europe/Berlin", START + 86 * DAY, START + 88 * DAY)
    assume(found is None or not found.unavailable)  # no timer has what systemd refuses
    assert found is None or all(each.change for each in found.differences)


@pytest.mark.parametrize("text", WRITTEN)
def test_written_calendars_are_those_of_systemd(text: str) -> None:
    """Shorthands, missing parts, days from the month's end, years and zones."""
    found = _compare(text, "UTC", START, START + (DAY if text == "minutely" else 800 * DAY))
    assert found is not None
    assert (found.unavailable, found.differences, found.ours > 0) == ("", (), True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "@1700000000",
        "*-*-*/2",
        "12:00:00.5/0",
        "12:00:59.9..61",
        "12:0.5",
        "*-*-1~3",
        "25:00 x",
        "*-*~40",
        "*-*~3..1",
    ],
)
def test_what_cannot_be_said_is_refused(text: str) -> None:
    """An odd calendar is an error, never other times."""
    with pytest.raises(InputError):
        parse(to_cron(text)[0])
