"""Definitions by files and options: what is taken, and where a mistake stands."""

import asyncio
import json
from pathlib import Path

import pytest

from tickwise.stores.records import Node, Role
from tickwise.stores.url import open_store

from ..support.cli import Filled
from .conftest import Command

TWO = """\
schedule: "0 7 * * *"
command: ls
---
name: second
schedule: {every: 15m}
command: ls
"""


def test_a_file_with_several_jobs(command: Command, filled: Filled) -> None:
    """The first is named after its file, and each is added; with --json as a list of what the API answered."""
    (filled.folder / "first.yaml").write_text(TWO)
    code, out, _ = command("schedules", "add", filled.folder / "first.yaml", "--json")
    assert (code, [one["name"] for one in json.loads(out)["items"]]) == (0, ["first", "second"])
    assert "Every 15 minutes" in command("schedules", "show", "second")[1]


def test_a_refusal_says_what_was_added_before(command: Command, filled: Filled) -> None:
    """Jobs of a file are added one by one: those before the one that is refused are named."""
    (filled.folder.parent / "first.yaml").write_text(TWO.replace("name: second", "name: nightly"))
    code, out, err = command("schedules", "add", "first.yaml")
    assert (code, out) == (1, "")
    assert "Added before the error: first." in err
    assert "first.yaml:4:1: there is a schedule nightly already" in err


@pytest.mark.usefixtures("filled")
def test_a_file_from_the_pipe(command: Command) -> None:
    """`-` reads what is piped in, which must name itself."""
    text = 'name: piped\nschedule: "*/33 * * * *"\ncommand: ls\n'
    code, out, _ = command("schedules", "add", "-", given=text)
    assert (code, "piped" in out, "warning: " in out) == (0, True, True)
    code, _, err = command("schedules", "add", "-", given=text.partition("\n")[2])
    assert (code, "standard input:1:1: name: is missing" in err) == (2, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('command: ls\nschedule: "0 25 * * *"\n', "job.yaml:2:11: schedule: hour: 25 is out of range 0-23"),
        ('command: ls\nschedule: "0 2 * * *"\nretry:\n  limt: 3\n', "job.yaml:4:9: retry.limt: unknown field"),
        ("command: [ls\n", "job.yaml:1:10: command: this list is not closed"),
        ("- ls\n", "job.yaml:1: a job is a mapping"),
        ("# nothing\n", "job.yaml: it contains no job"),
        ("priority: .inf\n", "job.yaml:1:11: priority: .inf is no number here"),
        ("schedule: \x07\n", "job.yaml:1:11: the character U+0007"),
    ],
)
def test_a_mistake_in_a_file_has_its_place(command: Command, filled: Filled, text: str, says: str) -> None:
    """Line and column are told, whether YAML or the API found the mistake; nothing is added."""
    (filled.folder.parent / "job.yaml").write_text(text)
    code, out, err = command("schedules", "add", "job.yaml")
    assert (code, out, says in err) == (2, "", True), err
    assert command("schedules", "show", "job")[0] == 2


@pytest.mark.usefixtures("filled")
def test_update_by_a_file(command: Command, tmp_path: Path) -> None:
    """Fields of a file go over those there are; null removes one; its name may be said, but not changed."""
    change = tmp_path / "change.yaml"
    change.write_text("name: nightly\njitter: 5m\nparams: null\n")
    code, out, _ = command("schedules", "update", "nightly", change, "--json")
    definition = json.loads(out)["definition"]
    assert (code, definition["jitter"], "params" in definition) == (0, "5m", False)
    assert definition["schedule"] == "0 2 * * *"
    change.write_text("description: at night\n")
    assert command("schedules", "update", "nightly", change)[0] == 0
    change.write_text("name: other\n")
    code, _, err = command("schedules", "update", "nightly", change)
    assert (code, "name: it cannot be changed" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("add", "give a job file, or --name"),
        ("add job.yaml --name x", "give a file or options, not both"),
        ("add --name x --cron @daily --every 5m --command ls", "give only one of --cron"),
        ("add nowhere.yaml", "nowhere.yaml: there is no such file or folder"),
        ("add --name x --command ls", "schedule: is missing"),
        ("update nightly", "say what to change"),
        ("update nightly two.yaml", "two.yaml holds 2 jobs: an update takes one"),
        ("trigger nightly -p table", "'table' is not a parameter"),
    ],
)
def test_wrong_use(command: Command, filled: Filled, arguments: str, says: str) -> None:
    """What contradicts itself or is not enough is refused with what to say instead."""
    (filled.folder.parent / "job.yaml").write_text(TWO)
    (filled.folder.parent / "two.yaml").write_text(TWO)
    code, out, err = command("schedules", *arguments.split())
    assert (code, out, says in err) == (2, "", True), err


@pytest.mark.usefixtures("filled")
def test_params_are_json_or_text(command: Command) -> None:
    """A param that is JSON is taken as that, everything else as text."""
    for text, value in (("users", "users"), ("[1, 2]", [1, 2]), ("null", None)):
        given = ("-p", f"table={text}", "--allow-overlap", "--json")
        _, out, _ = command("schedules", "trigger", "nightly", *given)
        assert json.loads(out)["params"] == {"table": value}


@pytest.mark.usefixtures("filled")
def test_a_misspelled_param(command: Command) -> None:
    """A param that the job does not have is refused with the nearest, and nothing runs (A18)."""
    before = command("runs", "list", "--json")
    code, out, err = command("schedules", "trigger", "nightly", "--allow-overlap", "-p", "tabel=users")
    assert (code, out) == (2, "")
    assert "the job nightly has no parameter tabel (did you mean table?)" in err
    assert command("schedules", "trigger", "breaks", "-p", "x=1")[0] == 2, "a function's are known without it"
    assert command("runs", "list", "--json") == before


def test_orphaned_jobs(command: Command, filled: Filled) -> None:
    """What no code declares any more is named for confirmation and deleted (A5, S50)."""
    assert command("schedules", "remove", "--orphaned") == (0, "No orphaned jobs.\n", "")
    asyncio.run(_report_orphans(filled.url, "breaks"))
    code, out, err = command("schedules", "remove", "--orphaned")
    assert (code, out) == (2, "")
    assert "No code declares these jobs any more: breaks. Delete them?" in err
    code, out, _ = command("schedules", "remove", "--orphaned", "--yes", "--json")
    assert (code, json.loads(out)) == (0, {"jobs": ["breaks"], "dry_run": False})
    assert command("schedules", "show", "breaks")[0] == 2
    assert "name the schedule to delete, or say --orphaned" in command("schedules", "remove")[2]


async def _report_orphans(url: str, *names: str) -> None:
    """A live node has the app, and its code does not declare these."""
    store = open_store(url)
    await store.beat(Node("n", (Role.WORKER,), sources=("app:app",), orphans=names, seconds=10**6))
    await store.close()
