"""Whatever is done to a fleet and its store: every slot runs once or has a reason, and no run ends twice.

`make chaos FAULTS=60` does less than the 1,000 faults of a full run.
"""

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from math import ceil
from pathlib import Path

import pytest

from ..support.races.processes import tell
from ..support.tickwise_processes import Nest
from .databases import KINDS, Database, File
from .faults import FAULTS
from .report import NAMES, Outcome
from .scene import Scene

NUMBER = int(os.environ.get("TICKWISE_TEST_FAULTS", "1000"))  # over all stores
LONGEST_REST = 0.5  # seconds between two faults


@pytest.mark.parametrize("store", FAULTS)
def test_chaos(store: str, nests: Mapping[int, Nest], outcomes: list[Outcome], tmp_path: Path) -> None:
    """Nothing is lost and nothing is doubled, by the store's ledger or by the jobs' (S1, S5, S7, S42, S43)."""
    with ExitStack() as stack:
        base = Database(stack, KINDS[store]) if store in KINDS else File(tmp_path / "tickwise.db")
        scene = stack.enter_context(Scene(nests, tmp_path, base.url, base.url_of_nodes))
        faults = _torment(scene, base, store)
        account = scene.account()
    account.check()
    outcomes.append(Outcome(store, faults, scene.recovery, account.figures))


def _torment(scene: Scene, base: Database | File, store: str) -> Counter[str]:
    """Do one thing after the other, in rounds of every kind; what was done."""
    done, number, fleet = Counter[str](), ceil(NUMBER / len(FAULTS)), scene.fleet
    while left := number - done.total():
        for kind in fleet.chance.sample(list(FAULTS[store]), min(left, len(FAULTS[store]))):
            fleet.lives_for(fleet.chance.uniform(0, LONGEST_REST))
            FAULTS[store][kind](fleet, base)
            done[kind] += 1
        tell(f"{NAMES[store]}: {done.total()} of {number} faults, recovered in {scene.recovers():.1f} s")
    return done
