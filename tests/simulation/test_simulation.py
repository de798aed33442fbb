"""Whole fleets on made-up time, with all the trouble that a seed holds: what the store has at the end is whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .history import COMMAND, simulate

SEEDS, AT_ONCE = 60, 10  # `make sim` plays thousands
ROOT = Path(__file__).parents[2]
TRACES = "from tests.simulation.history import simulate; print(*(simulate(seed).trace for seed in (1, 2, 3)))"


@pytest.mark.parametrize("first", range(1, SEEDS, AT_ONCE))
def test_every_slot_has_one_run_or_one_reason(first: int) -> None:
    """Whatever fails, freezes, is cut off, edited or paused: none is missed or doubled (S1, S7, S16, S42)."""
    for seed in range(first, first + AT_ONCE):
        history = simulate(seed)
        assert not history.findings, history.told()
        assert history.runs


def test_a_seed_is_a_history() -> None:
    """A seed gives the same history to the last line, in any process and hash order; another seed another."""
    here = [simulate(seed).trace for seed in (1, 2, 3)]
    assert len({*here, simulate(4).trace}) == 4
    for order in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": order, "PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run(
            [sys.executable, "-c", TRACES], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        assert ran.stdout.split() == here


def test_a_history_can_be_read() -> None:
    """It begins with the command that replays it, and tells who did what when."""
    told = simulate(1).told().splitlines()
    assert told[0] == "replay: " + COMMAND.format(seed=1)
    assert told[2].split() == ["0.000", "n1", "starts"]
