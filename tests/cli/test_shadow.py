"""`tickwise shadow`: the report that people read, and the cut-over (S80)."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tickwise import Tickwise

from .conftest import Command


@pytest.fixture(autouse=True)
def _shaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with a schedule in shadow, and a fire that belongs to no slot."""
    url = f"sqlite:///{tmp_path}/shadow.db"
    monkeypatch.setenv("TICKWISE_STORE", url)
    with Tickwise(url) as tw:
        tw.schedules.add("etl", schedule="0 0 29 2 *", command="true", shadow=True)
        tw.shadow.seen("etl", key="1")


def test_a_report_for_people_markdown_and_programs(command: Command) -> None:
    """The difference stands in one line with its reason; Markdown has the same table."""
    code, out, _ = command("shadow", "report", "etl")
    assert code == 0
    assert out.startswith("etl: in shadow since ")
    assert "0 of 1 agree." in out
    assert "only theirs  no slot  the schedule has no slot there; the nearest is" in out
    lines = command("shadow", "report", "etl", "--markdown")[1].splitlines()
    assert lines[2] == "| when | started by | fire | why |"
    assert "| only theirs | no slot |" in lines[4]
    answer = json.loads(command("shadow", "report", "etl", "--json")[1])
    assert answer["status"]["theirs"] == 1
    listed = command("shadow", "report")[1]
    assert "etl       in shadow since" in listed
    assert "| etl | in shadow since" in command("shadow", "report", "--markdown")[1]
    late = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
    assert (
        json.loads(command("shadow", "report", "etl", "--since", late, "--tolerance", "2h", "--json")[1])["rows"]
        == []
    )
    assert "give --markdown or --json" in command("shadow", "report", "etl", "--markdown", "--json")[2]


def test_the_cut_over_and_back(command: Command) -> None:
    """It says where Tickwise goes on, and until when the old entry must be gone; `--undo` takes it back."""
    planned = command("shadow", "adopt", "etl", "--dry-run")
    assert planned[1].startswith("Tickwise would start etl after ")
    code, out, _ = command("shadow", "adopt", "etl")
    assert code == 0
    assert "The old scheduler must not start it any more: remove it there before " in out
    assert "adopted " in command("schedules", "show", "etl")[1]
    refused = command("shadow", "adopt", "etl")
    assert (refused[0], "etl is not in shadow" in refused[2]) == (1, True)
    assert command("shadow", "adopt", "etl", "--undo")[1] == "etl is in shadow again: Tickwise does not run it.\n"
    assert "in shadow" in command("schedules", "list")[1]
    assert command("shadow", "adopt", "etl", "--undo", "--stopped")[0] == 2
