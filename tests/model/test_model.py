"""SPIN goes through every order of steps of the models: the rules hold, and each planted mistake breaks one."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
ERRORS = re.compile(r"errors: (\d+)")
BROKEN = re.compile(r"(assertion violated|acceptance cycle).*")


class Model(NamedTuple):
    """A file, what it is a model of, and the mistakes that are planted in it."""

    file: str
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.file, *self.options))


class Mistake(NamedTuple):
    """A model with a mistake, and the check that must find it."""

    model: Model
    planted: tuple[str, ...]
    found_by: str

    def __str__(self) -> str:
        return f"{self.model} {' '.join(self.planted)}"


ROWS, INTENT = Model("slot.pml", ("ROWS",)), Model("slot.pml", ("INTENT",))
LEASE, ONCE = Model("lease.pml"), Model("lease.pml", ("AT_MOST_ONCE",))
HANDOVER = Model("handover.pml")
DECIDED, NEVER_TWICE = "reasons[1])==1)", "runs[slot]<=1"
ALONE, NEWEST_ENDS = "works[(1-w)]", "sent_by[w]==begun"
MISTAKES = (
    Mistake(ROWS, ("NO_FENCE",), DECIDED),
    Mistake(ROWS, ("NO_FENCE", "NO_KEY"), NEVER_TWICE),
    Mistake(ROWS, ("CURSOR_FIRST",), DECIDED),
    Mistake(ROWS, ("SILENT",), DECIDED),
    Mistake(INTENT, ("NO_FENCE",), DECIDED),
    Mistake(INTENT, ("NO_KEY",), NEVER_TWICE),
    Mistake(LEASE, ("LATE_STOP",), ALONE),
    Mistake(LEASE, ("EARLY_REAPER",), ALONE),
    Mistake(LEASE, ("GOES_ON",), ALONE),
    Mistake(LEASE, ("NO_FENCE",), NEWEST_ENDS),
    Mistake(LEASE, ("SAME_TOKEN",), NEWEST_ENDS),
    Mistake(ONCE, ("REPEATS",), "begun<=1"),
    Mistake(HANDOVER, ("SENDS_FIRST",), "record!="),
    Mistake(HANDOVER, ("NO_GATE",), "begins[own]<=1"),
    Mistake(HANDOVER, ("RETRIES",), "living<=1"),
    Mistake(HANDOVER, ("HASTY",), "living<=1"),
    Mistake(HANDOVER, ("ANY_END",), "told==attempt"),
    Mistake(HANDOVER, ("FORGETS_FIRST",), "forgotten"),
)


def explored(model: Model, folder: Path, *planted: str) -> str:
    """What SPIN says after it has gone through all states of a model."""
    spin, compiler = shutil.which("spin"), shutil.which("cc")
    if not spin or not compiler:
        pytest.fail("the models need SPIN and a C compiler: apt-get install spin gcc")
    options = [f"-D{name}" for name in (*model.options, *planted)]
    _run(folder, spin, *options, "-a", str(HERE / model.file))
    _run(folder, compiler, "-O2", "-DVECTORSZ=2048", "-o", "pan", "pan.c")
    return _run(folder, "./pan", "-a", "-m200000")


def _run(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("model", [ROWS, INTENT, LEASE, ONCE, HANDOVER], ids=str)
def test_the_rules_hold_in_every_order_of_steps(model: Model, tmp_path: Path) -> None:
    """No order of steps breaks a rule, and none was left out (S1, S3, S4, S7, S42, S43, S52 to S56)."""
    said = explored(model, tmp_path)
    assert ERRORS.findall(said) == ["0"], said
    assert "too small" not in said
    assert "Search not completed" not in said


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_planted_mistake_is_found(mistake: Mistake, tmp_path: Path) -> None:
    """Each mistake breaks the rule that it is against."""
    said = explored(mistake.model, tmp_path, *mistake.planted)
    broken = BROKEN.search(said)
    assert broken is not None, said
    assert mistake.found_by in broken.group().replace(" ", ""), said


def test_rows_have_two_protections(tmp_path: Path) -> None:
    """Without the unique key, the lock of the job's row alone still keeps a slot from running twice (S1)."""
    assert ERRORS.findall(explored(ROWS, tmp_path, "NO_KEY")) == ["0"]
