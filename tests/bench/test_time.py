"""The measurements of `time` are complete and honest about peers. How fast anything was is not asked here."""

import gc
import json
import sys
from collections.abc import Callable
from math import isfinite

import pytest

from bench.measure import best_of
from bench.report import Row, problems, to_json
from bench.time import rows, targets
from bench.time.workload import FULL, QUICK, TimeSize, schedules

PEER_MODULES = {"cronsim": "cronsim", "croniter": "croniter", "APScheduler": "apscheduler.triggers.cron"}


@pytest.fixture(scope="module")
def measured() -> tuple[list[Row], list[str]]:
    said: list[str] = []
    return rows(said.append, quick=True), said


def missing(found: list[Row]) -> set[str]:
    return {line.split(":")[0] for line in problems(found, targets(QUICK)) if "not measured" in line}


def test_every_owed_row_is_there(measured: tuple[list[Row], list[str]]) -> None:
    """Nothing in the table of targets is left out, and each such row is judged by that target."""
    found = {row.name: row for row in measured[0]}
    assert missing(measured[0]) == set()
    assert {name: found[name].target for name in targets(QUICK)} == targets(QUICK)
    assert all((row.ok is None) == (row.target is None) for row in found.values())


def test_rows_are_sound(measured: tuple[list[Row], list[str]]) -> None:
    """Names are unique, figures are positive numbers, and all of it is plain JSON."""
    names = [row.name for row in measured[0]]
    assert len(set(names)) == len(names)
    assert all(isfinite(row.ours) and row.ours > 0 for row in measured[0])
    assert [row["name"] for row in json.loads(json.dumps(to_json(measured[0])))] == names


def test_peers_agree(measured: tuple[list[Row], list[str]]) -> None:
    """All peers are in the run and give the times that we give; otherwise a note would say so."""
    assert {row.peer_name for row in measured[0]} == {None, "sorted()", "bisect", *PEER_MODULES}
    assert [line for line in measured[1] if line.startswith("note")] == []


@pytest.mark.parametrize("size", [QUICK, FULL], ids=["quick", "full"])
def test_targets_of_the_design(size: TimeSize) -> None:
    """Each line of the design's table is owed, from both mixes to peek, and the bound of a simulation."""
    assert list(targets(size).values()) == pytest.approx(
        [5, 20, 5, 20, 100, 10, 10, 16, 5, 70, 200, 500, 150, 150, 6 if size is FULL else 3, 0.3, 5]
    )


@pytest.mark.parametrize("peer", PEER_MODULES)
def test_peer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, peer: str) -> None:
    """A missing peer is noted and its rows are left out, so that what was owed with it is a problem."""
    monkeypatch.setitem(sys.modules, PEER_MODULES[peer], None)
    said: list[str] = []
    found = rows(said.append, quick=True)
    assert any(line.startswith(f"note: {peer} is left out") for line in said)
    assert peer not in {row.peer_name for row in found}
    at_once = f"next of {QUICK.at_once:,} schedules at once"
    owed = {name for name in targets(QUICK) if name.endswith(peer)} | ({at_once} if peer == "croniter" else set())
    assert missing(found) == owed


def test_without_any_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without peers, our own figures are still there, and no verdict is made up."""
    for module in PEER_MODULES.values():
        monkeypatch.setitem(sys.modules, module, None)
    alone = {row.name: row for row in rows(quick=True)}["next, UTC, * * * * *"]
    assert (alone.peer, alone.peer_name, alone.ratio, alone.ok) == (None, None, None, None)


def test_schedules_are_the_same_every_time() -> None:
    """Two runs measure the same work."""
    assert list(schedules(50)) == list(schedules(50))


def test_contenders_take_turns_without_the_collector() -> None:
    """Each is prepared off the clock, in turns, and timed while the collector is off."""
    seen: list[str] = []

    def contender(name: str) -> Callable[[], Callable[[], bool]]:
        def prepare() -> Callable[[], bool]:
            seen.append(name)
            return gc.isenabled

        return prepare

    timed = best_of(2, contender("a"), contender("b"))
    assert seen == ["a", "b", "a", "b"]
    assert [one.result for one in timed] == [False, False]
    assert gc.isenabled()
