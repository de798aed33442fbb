"""Questions before what cannot be undone, where somebody can be asked."""

import getpass
import io

import pytest

from .conftest import Command

QUESTIONS = {
    "schedules remove nightly": "Delete nightly? [y/N] ",
    "schedules reset nightly": "Drop all slots of nightly that are not decided yet? [y/N] ",
    "token revoke ci": "Revoke the token ci (viewer)? [y/N] ",
    "schedules backfill nightly --from 2024-01-01 --to 2024-06-01": "Run 152 slots of nightly from Mon 2024-01-01",
}


class Person(io.StringIO):
    """Types at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize(("answer", "code"), [("", 1), ("n\n", 1), ("y\n", 0), ("YES\n", 0)])
def test_only_yes_goes_on(command: Command, asked: str, answer: str, code: int) -> None:
    """Everything else, the end of what is typed too, changes nothing and ends with 1."""
    ended, _, err = command(*asked.split(), given=Person(answer))
    assert (ended, QUESTIONS[asked] in err) == (code, True)
    assert ("Nothing was changed." in err) == (code == 1)
    assert (getpass.getuser() in command("audit")[1]) == (code == 0)


@pytest.mark.usefixtures("filled")
def test_yes_asks_nothing(command: Command) -> None:
    """`--yes` is the answer."""
    assert command("schedules", "remove", "nightly", "--yes", given=Person())[2] == ""


@pytest.mark.usefixtures("filled")
def test_few_slots_are_not_asked_about(command: Command) -> None:
    """A backfill of a hundred slots or fewer needs no yes, and a dry run of any number does not either."""
    few, many = ("--from", "2024-01-01", "--to", "2024-04-10"), ("--from", "2024-01-01", "--to", "2024-12-01")
    assert "335 slots would run" in command("schedules", "backfill", "nightly", *many, "--dry-run")[1]
    code, _, err = command("schedules", "backfill", "nightly", *many)
    assert (code, "pass --yes" in err) == (2, True)
    assert command("schedules", "backfill", "nightly", *few)[0] == 0
    assert command("schedules", "backfill", "nightly", "--cancel")[1].startswith(
        "Cancelled the backfill of nightly"
    )
