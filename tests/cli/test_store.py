"""`tickwise store` and `schedules adopt`: what is done to the store itself."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ..support.cli import Filled
from .conftest import Command


def test_a_store_that_is_behind(command: Command, filled: Filled) -> None:
    """`check` ends with 1 and names the repair, which `upgrade` is."""
    with closing(sqlite3.connect(filled.folder / "tickwise.db")) as connection:
        connection.execute("DELETE FROM tickwise_migrations")
        connection.commit()
    code, out, err = command("store", "check")
    assert (code, out) == (1, "")
    assert "0001_schema not applied yet: run `tickwise store upgrade`" in err
    assert json.loads(command("store", "check", "--json")[1])["problems"]


def test_a_new_store_is_made(command: Command, filled: Filled) -> None:
    """`upgrade` makes what is missing, and says which steps that took."""
    url = f"sqlite:///{filled.folder}/new.db"
    assert "0001_schema" in command("store", "upgrade", "--store", url)[1]
    assert command("store", "check", "--store", url)[1] == f"{url} is fine\n"


def test_a_restored_store(command: Command, filled: Filled) -> None:
    """It says what was done; without --yes nobody is asked here, and a time to come is refused (S78)."""
    del filled
    code, _, err = command("store", "restored", "--until", "1h")
    assert (code, "pass --yes" in err) == (2, True)
    assert command("store", "restored", "--until", "2100-01-01T00:00", "--yes")[0] == 2
    code, out, _ = command("store", "restored", "--until", "1s", "--yes")
    assert (code, "schedules moved on" in out, "New runs are numbered from" in out) == (0, True, True)
    again = json.loads(command("store", "restored", "--until", "1s", "--yes", "--json")[1])
    assert (again["runs"], again["next_run"] > 10**12) == (0, True)


@pytest.mark.parametrize(
    "arguments",
    [
        "schedules list", "why refresh", "doctor", "runs list", "token list", "token create ci --role viewer",
        "store check", "schedules add --name a --every 1m --command ls", "upcoming", "pause",
    ],
)  # fmt: skip
def test_no_command_makes_a_store(command: Command, tmp_path: Path, arguments: str) -> None:
    """Where there is no store, a command says where it looked and what to do, and leaves nothing behind (A30)."""
    code, out, err = command(*arguments.split())
    assert (code, out) == (2, "")
    assert f"there is no store sqlite:///.tickwise/tickwise.db ({tmp_path}/.tickwise/tickwise.db)" in err
    assert "`tickwise serve`" in err
    assert list(tmp_path.iterdir()) == []


def test_no_command_makes_tables(command: Command, postgres_database: str) -> None:
    """In a database without tables a command says how to create them, and creates none (A30)."""
    for _ in range(2):
        code, out, err = command("schedules", "list", "--store", postgres_database)
        assert (code, out, "tickwise store upgrade" in err) == (2, "", True)
    command("store", "upgrade", "--store", postgres_database)
    assert command("schedules", "list", "--store", postgres_database)[0] == 0


@pytest.mark.usefixtures("filled")
def test_adoption_goes_both_ways(command: Command) -> None:
    """A schedule is ticked by the store, or again by the nodes, and says what it was."""
    there = json.loads(command("schedules", "adopt", "nightly", "--back", "--json")[1])
    assert [(one["name"], one["was"], one["now"]) for one in there["items"]] == [("nightly", "store", "local")]
    assert command("schedules", "adopt", "--all")[1].splitlines()[1].split() == ["nightly", "local", "store"]
    assert command("schedules", "adopt", "--all", "--back", "--dry-run")[1].splitlines()[0].endswith("would be")
