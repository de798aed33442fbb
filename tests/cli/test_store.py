"""`tickwise store` and `schedules adopt`: what is done to the store itself."""

import json
import sqlite3
from contextlib import closing

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


@pytest.mark.usefixtures("filled")
def test_adoption_goes_both_ways(command: Command) -> None:
    """A schedule is ticked by the store, or again by the nodes, and says what it was."""
    there = json.loads(command("schedules", "adopt", "nightly", "--back", "--json")[1])
    assert [(one["name"], one["was"], one["now"]) for one in there["items"]] == [("nightly", "store", "local")]
    assert command("schedules", "adopt", "--all")[1].splitlines()[1].split() == ["nightly", "local", "store"]
    assert command("schedules", "adopt", "--all", "--back", "--dry-run")[1].splitlines()[0].endswith("would be")
