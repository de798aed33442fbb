"""What people read: times in the schedule's zone, heat maps, logs, and that nothing hides."""

import asyncio
import getpass
import json
import re
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from tickwise import AsyncTickwise, Tickwise
from tickwise.cli.commands.forecast import heat_map
from tickwise.stores.records import Node, Role
from tickwise.stores.url import open_store

from ..support.cli import PROGRAM, Filled
from .conftest import Command

LOOKED = "Looked in sqlite:///.tickwise/tickwise.db."


@pytest.mark.usefixtures("filled")
def test_times_are_read_and_shown_in_the_schedules_zone(command: Command) -> None:
    """A time without an offset is one of the schedule's zone, shown with its offset; JSON is in UTC."""
    tomorrow = (datetime.now(UTC) + timedelta(days=180)).date()
    code, out, _ = command("schedules", "reschedule", "nightly", f"{tomorrow}T12:00")
    assert code == 0
    local = datetime.fromisoformat(json.loads(command("schedules", "show", "nightly", "--json")[1])["next_run_at"])
    assert local.utcoffset() == timedelta(0)
    assert f"{tomorrow} 12:00:00 +0" in out
    assert local.hour in (10, 11)


@pytest.mark.usefixtures("filled")
def test_show_says_all_that_is_known(command: Command) -> None:
    """A pause has its author and its reason, a last run its state; the definition is a job file."""
    command("schedules", "pause", "report", "--reason", "the database moves")
    _, out, _ = command("schedules", "show", "report")
    assert f"by {getpass.getuser()}: the database moves" in out
    assert "steps:\n- name: count\n" in out
    lines = command("schedules", "list", "--paused")[1].splitlines()
    assert [line.split()[:2] for line in lines] == [["schedule", "next"], ["report", "paused"]]


def test_a_run_is_shown_with_its_steps_and_its_reason(command: Command, filled: Filled) -> None:
    """Who asked for it, why, and each step with its state."""
    _, out, _ = command("runs", "show", filled.runs["report"])
    assert "somebody asked for it (ada)" in out
    steps = [line.split()[:3] for line in out.splitlines()[-2:]]
    assert [step[0] for step in steps] == ["count", "print"]
    assert steps[1][1:] == ["count", "succeeded"]


def test_a_run_is_shown_with_its_earlier_attempts(command: Command, filled: Filled) -> None:
    """A27: how each earlier attempt ended, and its error, is in a table."""
    command("runs", "retry", filled.runs["breaks"])
    with Tickwise(filled.url) as tickwise:

        @tickwise.job("30 4 * * *", name="breaks")
        def breaks() -> None:
            raise LookupError("gone for good")

        tickwise.drain()
    shown = command("runs", "show", filled.runs["breaks"])[1]
    head, row = shown[shown.index("earlier attempt") :].splitlines()[:2]
    assert head.split()[-1] == "error"
    assert row.split()[:2] == ["1", "failure"]
    assert "LookupError: no such table" in shown
    assert "LookupError: gone for good" in shown


@pytest.mark.usefixtures("filled")
def test_upcoming_hides_nothing_behind_a_frequent_schedule(command: Command) -> None:
    """Three of a frequent schedule are shown, all of it on request, and one schedule alone by its name."""
    command("schedules", "add", "--name", "often", "--every", "1m", "--command", "ls")
    _, out, _ = command("upcoming")
    assert (out.count("often"), out.count("nightly")) == (3, 1)
    assert "of more than 1,000 runs in the next 24 hours" in out.splitlines()[-1]  # A27
    assert re.search(r"These are 20 of 5[01] runs", command("upcoming", "often", "--hours", "0.84")[1])
    assert command("upcoming", "--all", "-n", "50")[1].count("often") > 40
    _, out, _ = command("upcoming", "nightly", "--hours", "50", "--json")
    assert {one["schedule"] for one in json.loads(out)["items"]} == {"nightly"}
    code, _, err = command("upcoming", "nightly", "--from", "2026-01-01")
    assert (code, "--from is for job files" in err) == (2, True)
    command("pause")
    assert command("upcoming")[1] == f"No runs in the next 24 hours. {LOOKED}\n"


@pytest.mark.parametrize(
    ("start", "step", "counts", "lines"),
    [
        (
            "2026-01-01T10:58:00Z", 60, [1, 0, 8, *[0] * 59],
            ["UTC       minutes 0-59" + " " * 49 + "starts", "Thu 10:00 " + " " * 58 + "▁  1",
             "Thu 11:00 █" + " " * 59 + " 8"],
        ),
        (
            "2026-01-01T22:00:00Z", 3600, [2, 4, 1],
            ["UTC       hours 0-23" + " " * 15 + "starts", "Thu 01-01 " + " " * 22 + "▄█ 6",
             "Fri 01-02 ▂" + " " * 23 + " 1"],
        ),
    ],
)  # fmt: skip
def test_the_heat_map(start: str, step: int, counts: list[int], lines: list[str]) -> None:
    """Rows are whole hours or days, cells are shares of the busiest, and each row has its sum."""
    drawn = [line.plain for line in heat_map({"start": start, "step": step, "counts": counts})]
    assert drawn == lines


def test_crowded_minutes_come_with_their_remedy(command: Command, filled: Filled) -> None:
    """Many schedules in one minute are named, with an expression that spreads them."""
    with Tickwise(filled.url) as tw:
        for number in range(12):
            tw.schedules.add(f"crowded-{number}", schedule="0 * * * *", command="ls")
    _, out, _ = command("forecast")
    assert "12 schedules start at" in out
    assert "spread them: H * * * * instead of 0 * * * *" in out


@pytest.mark.usefixtures("filled")
def test_limits_of_queues_stay_until_they_are_lifted(command: Command) -> None:
    """A limit that is not named stays, and --lift ends both."""
    command("queues", "limit", "default", "--concurrency", "3")
    row = command("queues", "limit", "default", "--rate", "0.5")[1].splitlines()[1]
    assert row.split() == ["default", "1", "0", "0", "3", "0.5"]
    assert command("queues", "limit", "default", "--lift")[1].splitlines()[1].split()[4:] == [
        "unlimited",
        "unlimited",
    ]


@pytest.mark.usefixtures("filled")
def test_a_secret_is_alone_on_its_line(command: Command) -> None:
    """A script takes the token from the pipe; the words about it go the other way."""
    _, out, err = command("token", "create", "robot")
    assert (len(out.split()), out.strip() in err) == (1, False)
    assert "robot" in command("token", "list")[1]


def test_a_healthy_store_has_no_findings(command: Command) -> None:
    """The doctor ends with 0 if nothing is to be mended."""
    command("store", "upgrade")
    assert command("doctor")[0] == 0


@pytest.mark.parametrize("follow", [(), ("--follow",)])
def test_a_line_in_a_pipe_names_its_step(command: Command, filled: Filled, follow: tuple[str, ...]) -> None:
    """A27: each line of steps, handlers and preconditions; what a job without steps prints stays as it is."""

    async def print_lines() -> dict[str, str]:
        async with AsyncTickwise(filled.url) as tickwise:
            both = "echo a; echo; printf b"
            steps = [{"name": "left", "script": both}, {"name": "right", "script": "echo c"}]
            on = {"exit": "echo over"}
            await tickwise.schedules.add("parallel", schedule="@yearly", steps=steps, on=on)
            await tickwise.schedules.add("alone", schedule="@yearly", script=both)
            runs = {name: (await tickwise.enqueue(name)).id for name in ("parallel", "alone")}
            await tickwise.drain()
            return runs

    runs = asyncio.run(print_lines())
    lines = command("runs", "logs", runs["parallel"], *follow)[1].splitlines()
    assert [line for line in lines if line.startswith("left")] == ["left | a", "left | ", "left | b"]
    assert [line for line in lines if not line.startswith("left")] == ["right | c", "on:exit | over"]
    assert command("runs", "logs", runs["alone"], *follow)[1] == "a\n\nb\n"


def test_logs_that_are_followed_end_with_the_run(command: Command, filled: Filled) -> None:
    """--follow prints what there is and the end, and with --json one object a line."""
    run = filled.runs["report"]
    assert command("runs", "logs", run, "--follow")[:2] == (0, "count | three\nprint | reports\n")
    told = [json.loads(line) for line in command("runs", "logs", run, "--follow", "--json")[1].splitlines()]
    assert [one["event"] for one in told] == ["log", "log", "end"]
    assert (told[0]["step"], told[0]["text"], told[-1]["state"]) == ("count", "three\n", "succeeded")
    assert command("runs", "logs", "nope", "--follow")[0] == 2


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("schedules list --text nobody", f"No schedules match. {LOOKED}"),
        ("runs list --job nobody", f"No runs match. {LOOKED}"),
        (
            "schedules backfill nightly --from 2024-01-01 --to 2024-01-01T01:00",
            "No slots without a run in that range.",
        ),
        ("schedules adopt --all", "Nothing is to be moved."),
    ],
)
def test_nothing_is_a_sentence(command: Command, arguments: str, says: str) -> None:
    """An empty list is a sentence, and no error."""
    assert command(*arguments.split())[:2] == (0, f"{says}\n")


def test_an_empty_store_has_a_sentence_for_each_list(command: Command) -> None:
    """Each names the store it looked at, which may be the wrong one; nothing is said of matching (A30)."""
    command("store", "upgrade")
    lists = ("schedules list", "runs list", "queues list", "audit", "token list", "upcoming", "workers")
    assert [command(*each.split())[1] for each in lists] == [
        f"{text} {LOOKED}\n" for text in (
            "No schedules.", "No runs.", "No queued or running runs, and no live workers.", "No changes recorded.",
            "No tokens.", "No runs in the next 24 hours.",
            "No processes seen in the last 24 hours. To start one: tickwise serve.",
        )
    ]  # fmt: skip
    assert command("doctor")[1].endswith("in sqlite:///.tickwise/tickwise.db.\n")
    for arguments in (("why", "refresh"), ("runs", "show", "7")):
        assert LOOKED.lower().rstrip(".") in command(*arguments)[2]


def test_processes_are_shown_with_their_problems(command: Command, filled: Filled) -> None:
    """Who lives comes first; what its sources could not read is told on the other channel."""

    async def live() -> None:
        store = open_store(filled.url)
        await store.beat(
            Node("n1", (Role.WORKER,), host="here", queues=("default",), capacity=4, problems=("bad",))
        )
        await store.close()

    asyncio.run(live())
    code, out, err = command("workers")
    assert (code, err) == (0, "error: here: bad\n")
    assert out.splitlines()[1].split()[:3] == ["alive", "worker", "here"]
    assert "0 of 4" in out


def test_runs_of_a_schedule_that_is_gone(command: Command, filled: Filled) -> None:
    """They are still listed, in UTC."""
    command("schedules", "backfill", "report", "--from", "2024-01-01", "--to", "2024-01-02")
    with Tickwise(filled.url) as tw:
        tw.drain()
    command("schedules", "remove", "report", "--yes")
    _, out, _ = command("runs", "list", "--job", "report", "--trigger", "backfill")
    assert out.splitlines()[1].split()[1:6] == ["report", "Mon", "2024-01-01", "03:00:00", "+0000"]


def test_foreign_text_does_not_steer_the_terminal(command: Command, filled: Filled) -> None:
    """Characters that would move a cursor are replaced, here in the reason of a pause."""
    with Tickwise(filled.url) as tw:
        tw.schedules.pause("nightly", reason="one\x1b[2Jtwo")
    assert "one�[2Jtwo" in command("schedules", "show", "nightly")[1]


def test_a_reader_who_leaves_is_no_error(filled: Filled) -> None:
    """A closed pipe ends a list quietly."""
    with Tickwise(filled.url) as tw:
        for number in range(200):
            tw.schedules.add(f"many-{number}", schedule="0 * * * *", command="ls", description="x" * 500)
    asked = [*PROGRAM, "schedules", "list", "--json"]
    lists = subprocess.Popen(asked, cwd=filled.folder.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert lists.stdout
    assert lists.stderr
    lists.stdout.readline()
    lists.stdout.close()
    assert (lists.stderr.read(), lists.wait()) == (b"", 0)
    lists.stderr.close()
