"""Whatever is done to a fleet and its store: every slot runs once or has a reason, and no run ends twice.

`make chaos FAULTS=60` does less than the 1,000 faults of a full run.
"""

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from tickwise.app.audit import audit
from tickwise.stores.records import QueueLimit

from ..support.deployment import Deployment
from ..support.races.processes import tell
from ..support.store_reads import nothing_active, told
from ..support.tickwise_processes import Nest
from .databases import KINDS, Database, File
from .deeds import JOBS, LEDGER, NARROW, ONE, PIPELINE
from .faults import FAULTS, LEASE
from .fleet import RIGHT, Fleet
from .ledger import Ledger
from .report import NAMES, Outcome
from .verdict import check, figures

NUMBER = int(os.environ.get("TICKWISE_TEST_FAULTS", "1000"))  # over all stores
LONGEST_REST = 0.5  # seconds between two faults
SETTINGS: dict[str, Any] = {"lease": LEASE, "renew": 0.5, "poll": 0.5, "queues": ["default", NARROW]}


@pytest.mark.parametrize("store", FAULTS)
def test_chaos(store: str, nests: Mapping[int, Nest], outcomes: list[Outcome], tmp_path: Path) -> None:
    """Nothing is lost and nothing is doubled, by the store's ledger or by the jobs' (S1, S5, S7, S42, S43)."""
    with ExitStack() as stack:
        base = Database(stack, KINDS[store]) if store in KINDS else File(tmp_path / "tickwise.db")
        place = stack.enter_context(Deployment(nests[RIGHT], tmp_path, base.url, **SETTINGS))
        place.write("pipeline", *PIPELINE)
        place.on_store(lambda store: store.limit(QueueLimit(NARROW, ONE)))
        with Ledger(tmp_path / LEDGER) as ledger, Fleet(nests, place, base.url_of_nodes) as fleet:
            for job in JOBS:
                place.known(job)
            faults, recovery = _torment(fleet, base, store)
            place.do(place.tickwise.pause())
            place.eventually(nothing_active)
        found, runs = place.on_store(audit), place.on_store(told)
        check(found, runs, ledger.told)
        outcomes.append(Outcome(store, faults, recovery, figures(found, runs)))


def _torment(fleet: Fleet, base: Database | File, store: str) -> tuple[Counter[str], float]:
    """Do one thing after the other, in rounds of every kind; what was done, and the longest recovery."""
    done, longest, number = Counter[str](), 0.0, ceil(NUMBER / len(FAULTS))
    while left := number - done.total():
        for kind in fleet.chance.sample(list(FAULTS[store]), min(left, len(FAULTS[store]))):
            fleet.lives_for(fleet.chance.uniform(0, LONGEST_REST))
            FAULTS[store][kind](fleet, base)
            done[kind] += 1
        took = fleet.recovered()
        longest = max(longest, took)
        tell(f"{NAMES[store]}: {done.total()} of {number} faults, recovered in {took:.1f} s")
    return done, longest
