"""The commands as people and programs use them: what they print, and how they end."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import typer

from tickwise.cli.main import COMMANDS, SUMMARIES, app

from .conftest import Command

EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"


def test_cron_explain_says_it_in_words_and_warns(command: Command) -> None:
    """S38: the explanation comes first, then what may not have been meant."""
    code, out, _ = command("cron", "explain", "*/33 3 * * MON-FRI", "--timezone", "Europe/Berlin")
    assert code == 0
    explanation, *warnings = out.splitlines()
    assert explanation == "At 03:00 and 03:33, Monday to Friday, Europe/Berlin"
    assert any("it means 0 and 33" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 22-4 * * *", "runs backwards: write 22-23,0-4\n"),
        ("0 H(22-4) * * *", "H chooses from a range that does not go around\n"),
        ("0 0 * * THU-TUE/2", "the range 'THU-TUE/2' runs backwards\n"),
    ],
)
def test_advice_on_a_range_never_changes_its_meaning(command: Command, text: str, said: str) -> None:
    """A22: a range that goes around is refused with what means the same, or without advice."""
    code, _, error = command("cron", "explain", text)
    assert code == 2
    assert said in error


def test_h_chooses_among_all_names_of_weekdays(command: Command) -> None:
    """A22: Sunday is 7, too."""
    assert command("cron", "explain", "0 0 * * H(1-7)")[0] == 0


def test_cron_explain_as_json(command: Command) -> None:
    """Programs get the same as an object."""
    code, out, _ = command("cron", "explain", "0 3 * * *", "--json")
    assert (code, json.loads(out)) == (
        0,
        {"expression": "0 3 * * *", "explanation": "At 03:00, every day, UTC", "warnings": []},
    )


def test_cron_next_lists_times_strictly_after(command: Command) -> None:
    """S39: the listing goes through a clock change and says the offset."""
    arguments = ("cron", "next", "30 2 * * *", "-n", 3, "--from", "2026-03-28T02:30", "-z", "Europe/Berlin")
    code, out, _ = command(*arguments, "--json")
    assert code == 0
    assert json.loads(out) == {
        "expression": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "next": ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00", "2026-03-31T02:30:00+02:00"],
    }
    _, out, _ = command(*arguments)
    assert [line.split()[1:3] for line in out.splitlines()[1:]] == [
        ["2026-03-29", "03:00:00"],
        ["2026-03-30", "02:30:00"],
        ["2026-03-31", "02:30:00"],
    ]


def test_cron_next_uses_the_zone_of_the_text_and_the_key_of_h(command: Command) -> None:
    """S36, S37: a zone in the text goes before the option, and H depends on the key."""
    _, out, _ = command("cron", "next", "CRON_TZ=Asia/Tokyo 0 9 * * *", "--from", "2026-01-01", "--json")
    assert json.loads(out)["next"][0] == "2026-01-01T09:00:00+09:00"
    minutes = {
        json.loads(command("cron", "next", "H * * * *", "--key", key, "--from", "2026-01-01", "--json")[1])[
            "next"
        ][0]
        for key in "abcdefgh"
    }
    assert len(minutes) > 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cron", "next", "61 * * * *"), "minute: 61 is out of range 0-59\n  61 * * * *\n  ^^"),
        (("cron", "explain", "* * * *"), "five fields"),
        (("cron", "explain", "* * * * *", "-z", "Europe/Berln"), "did you mean Europe/Berlin?"),
        (("cron", "next", "* * * * *", "--from", "soon"), "'soon' is not a date or time"),
        (("cron", "next", "* * * * *", "-n", "0"), "Invalid value for '-n'"),
        (("upcoming", "./nowhere"), "nowhere: there is no such file or folder"),
        (("simulate", EXAMPLES, "--from", "2026-02-02", "--to", "2026-02-01"), "must come after the start"),
        (("simulate", EXAMPLES, "--from", "2026-01-01", "--to", "2036-01-01"), "at most a year"),
        (("simulate", EXAMPLES, "--from", "x", "--to", "2026-01-01"), "'x' is not a date or time"),
        (("simulate", EXAMPLES, "--from", "2026-01-01", "--to", "2026-01-02", "--down", "3"), "not a downtime"),
        (
            ("simulate", EXAMPLES, "--from", "2026-01-01", "--to", "2026-01-02", "--down", "06:00/02:00"),
            "must end after it begins",
        ),
        (
            ("simulate", EXAMPLES, "--from", "2026-01-01", "--to", "2026-01-02", "--run-time", "etl"),
            "not a run time",
        ),
        (
            ("simulate", EXAMPLES, "--from", "2026-01-01", "--to", "2026-01-02", "--fail", "etk"),
            "no job is named 'etk'",
        ),
        (("bogus",), "No such command"),
        (("schedule",), "Did you mean 'schedules'?"),
    ],
)
def test_bad_input_ends_with_two_and_a_sentence(
    command: Command, arguments: tuple[object, ...], message: str
) -> None:
    """Wrong use and bad input exit 2, say what is wrong on the other channel and print nothing."""
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_upcoming_is_in_time_order_and_hides_nothing(command: Command) -> None:
    """A frequent schedule is cut short, counted, and listed in full on request."""
    code, out, _ = command("upcoming", EXAMPLES, "--from", "2026-11-16T00:00:00Z", "--hours", 24)
    assert code == 0
    listed = [line.split()[4] for line in out.splitlines()[1:-1]]
    assert listed.count("heartbeat") == 3
    assert {"etl", "nightly-backup", "market-feed", "market-feed.stop", "market-feed.restart"} <= set(listed)
    assert out.splitlines()[-1] == "More in these 24 hours: etl 21, heartbeat 2,877."
    _, out, _ = command("upcoming", EXAMPLES, "--from", "2026-11-16T00:00:00Z", "-n", 50, "--all", "--json")
    times = [run["at"] for run in json.loads(out)["items"]]
    assert len(times) == 50
    assert times == sorted(times)


def test_upcoming_shows_when_a_run_really_starts(command: Command, tmp_path: Path) -> None:
    """S36: jitter moves the start and not the slot; S34: nothing comes after `until`."""
    text = 'schedule: "0 * * * *"\njitter: 10m\nuntil: 2026-01-01T02:00:00Z\ncommand: ls\n'
    (tmp_path / "spread.yaml").write_text(text)
    _, out, _ = command("upcoming", tmp_path, "--from", "2025-12-31T23:30:00Z", "--json")
    runs = json.loads(out)["items"]
    assert [run["slot"] for run in runs] == [f"2026-01-01T0{hour}:00:00Z" for hour in range(3)]
    assert all(run["slot"] <= run["at"] < run["slot"].replace(":00:00Z", ":10:00Z") for run in runs)
    assert any(run["slot"] != run["at"] for run in runs)


def test_upcoming_of_nothing(command: Command, tmp_path: Path) -> None:
    """An empty answer is a sentence, or JSON without items."""
    (tmp_path / "off.yaml").write_text('enabled: false\nschedule: "0 * * * *"\ncommand: ls\n')
    assert command("upcoming", tmp_path)[1].startswith("No runs in the 24 hours from ")
    assert json.loads(command("upcoming", tmp_path, "--json")[1]) == {"items": [], "more": False}


def test_validate_finds_every_mistake(command: Command, tmp_path: Path) -> None:
    """Each mistake has its place; what is fine is counted; warnings do not fail."""
    (tmp_path / "bad.yaml").write_text('schedule: "0 25 * * *"\novelap: skip\ncommand: ls\n')
    (tmp_path / "good.yaml").write_text('schedule: "*/33 * * * *"\ncommand: ls\n')
    code, out, err = command("validate", tmp_path)
    assert code == 2
    assert "1 job fine, 2 mistakes" in out
    assert "good: warning: minute '*/33'" in out
    assert "bad.yaml:1:14: schedule: hour: 25 is out of range 0-23" in err
    assert "bad.yaml:2:1: ovelap: unknown field (did you mean overlap?)" in err
    code, out, _ = command("validate", tmp_path, "--json")
    found = json.loads(out)
    assert code == 2
    assert found["jobs"] == ["good"]
    assert [(e["line"], e["field"]) for e in found["errors"]] == [(1, "schedule"), (2, "ovelap")]
    assert [w["schedule"] for w in found["warnings"]] == ["good"]


def test_validate_takes_the_examples(command: Command) -> None:
    """All examples are fine."""
    assert command("validate", EXAMPLES)[:2] == (0, "5 jobs fine, 0 mistakes\n")


def test_simulate_tells_what_would_run(command: Command, tmp_path: Path) -> None:
    """S10: each slot with verdict and reason, as JSON of the promised shape."""
    (tmp_path / "hourly.yaml").write_text('schedule: "0 * * * *"\ncommand: ls\n')
    arguments = ("simulate", tmp_path, "--from", "2026-01-01", "--to", "2026-01-01T06:00", "--down", "01:30/04:30")
    code, out, _ = command(*arguments, "--run-time", "hourly=20m", "--fail", "hourly", "--json")
    assert code == 0
    slots = json.loads(out)["slots"]
    assert [(s["slot"][11:13], s["verdict"], s["reason"]) for s in slots] == [
        ("00", "fired", "on_time"),
        ("01", "fired", "on_time"),
        ("02", "coalesced", "coalesced"),
        ("03", "coalesced", "coalesced"),
        ("04", "caught_up", "catch_up"),
        ("05", "fired", "on_time"),
    ]
    assert slots[4]["run"] == {
        "trigger": "catchup",
        "started_at": "2026-01-01T04:30:00Z",
        "finished_at": "2026-01-01T04:50:00Z",
        "outcome": "failed",
    }
    assert slots[2]["run"] is None
    _, out, _ = command(*arguments)
    chart = next(line for line in out.splitlines() if line.startswith("hourly |"))
    assert [chart.count(mark) for mark in "█▓·"] == [3, 1, 2]
    assert "down   |" in out


def test_simulate_does_not_catch_up_a_start_after_its_stop(command: Command) -> None:
    """A3, S22: the example's feed, down from before its start until after its stop, stays off that day."""
    window = ("--from", "2026-01-05", "--to", "2026-01-06T12:00", "--down", "2026-01-05T06:00/2026-01-05T20:00")
    code, out, _ = command(
        "simulate", EXAMPLES / "market-feed.yaml", *window, "--run-time", "market-feed=9h", "--json"
    )
    assert code == 0
    slots = [(s["schedule"], s["slot"], s["reason"]) for s in json.loads(out)["slots"]]
    assert slots == [
        ("market-feed", "2026-01-05T08:00:00Z", "stopped_since"),
        ("market-feed.restart", "2026-01-05T11:30:00Z", "missed"),
        ("market-feed.stop", "2026-01-05T16:35:00Z", "missed"),
        ("market-feed", "2026-01-06T08:00:00Z", "on_time"),
        ("market-feed.restart", "2026-01-06T11:30:00Z", "on_time"),
    ]
    assert "the job's stop of 2026-01-05T16:35:00Z has passed since" in json.loads(out)["slots"][0]["detail"]


def test_simulate_begins_again_at_the_end_of_a_downtime(command: Command, tmp_path: Path) -> None:
    """A23: a run that a downtime cuts off begins again when the downtime ends, however far the next slot is."""
    (tmp_path / "daily.yaml").write_text('schedule: "0 1 * * *"\ncommand: ls\n')
    window = ("--from", "2026-01-01", "--to", "2026-01-02", "--down", "01:10/01:40", "--run-time", "daily=1h")
    _, out, _ = command("simulate", tmp_path, *window, "--json")
    (slot,) = json.loads(out)["slots"]
    assert slot["run"]["started_at"] == "2026-01-01T01:40:00Z"


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    """The list, which imports no command, is not out of date."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    assert {name: group.commands[name].get_short_help_str(1_000) for name in COMMANDS} == SUMMARIES


def test_help_names_the_commands(command: Command) -> None:
    """Without arguments the commands are listed."""
    _, out, err = command()
    assert all(name in out + err for name in ("cron", "upcoming", "validate", "simulate"))


def test_version(command: Command) -> None:
    """The version is one line, and no command is needed for it."""
    code, out, _ = command("--version")
    assert (code, out) == (0, f"tickwise {metadata.version('tickwise')}\n")


@pytest.mark.parametrize("program", [["tickwise"], [sys.executable, "-m", "tickwise"]])
def test_a_real_process_ends_with_the_code_and_survives_a_closed_pipe(program: list[str]) -> None:
    """Both ways to start it exit 2 on bad input, and a reader that leaves early is no error."""
    first = [
        str(Path(sys.executable).parent / program[0]) if program[0] == "tickwise" else program[0],
        *program[1:],
    ]
    bad = subprocess.run([*first, "cron", "next", "nonsense"], check=False, capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "five fields" in bad.stderr
    many = subprocess.Popen(
        [*first, "cron", "next", "* * * * *", "-n", "10000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert many.stdout
    assert many.stderr
    many.stdout.readline()
    many.stdout.close()
    assert (many.stderr.read(), many.wait()) == (b"", 0)
    many.stderr.close()


def test_files_are_read_as_serve_would_read_them(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The zone and the templates of the settings hold for validate, upcoming and simulate, too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tickwise.toml").write_text('timezone = "Asia/Tokyo"\n[templates]\nteatime = "0 16 * * *"\n')
    (tmp_path / "tea.yaml").write_text('schedule: {template: teatime}\ncommand: "true"\n')
    assert command("validate", "tea.yaml")[0] == 0
    _, out, _ = command("upcoming", "tea.yaml", "--json")
    assert "T07:00:00Z" in out
    code, out, _ = command("simulate", "tea.yaml", "--from", "2026-01-01", "--to", "2026-01-03", "--json")
    assert (code, "T07:00:00Z" in out) == (0, True)
