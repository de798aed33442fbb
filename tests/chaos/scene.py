"""A fleet at work on a store: seven jobs, four nodes, and what the jobs say that they have done."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self

from tickwise.app.audit import Audit, audit
from tickwise.stores.records import QueueLimit

from ..support.accounting import Told
from ..support.deployment import Deployment
from ..support.store_reads import nothing_active, told
from ..support.tickwise_processes import Nest
from .deeds import JOBS, LEDGER, NARROW, ONE, ONE_BY_ONE, PIPELINE
from .faults import LEASE
from .fleet import RIGHT, Fleet
from .ledger import Ledger
from .spans import SPANS, Crossing, crossings, is_explained, read_file
from .verdict import Verdict, check, check_audit, figures

SETTINGS: dict[str, Any] = {"lease": LEASE, "renew": 0.5, "poll": 0.5, "queues": ["default", NARROW]}


class Account(NamedTuple):
    """What the store and the jobs say when all is over."""

    found: Audit
    runs: Sequence[Told]
    deeds: Path
    windows: Sequence[Crossing]  # in which a process that had stood still went on beside its successor (S42)
    crossings: Sequence[Crossing]  # that nothing explains

    def check(self) -> None:
        """All is as promised."""
        check(self.found, self.runs, self.deeds)
        assert not self.crossings, self.crossings

    def check_store(self) -> None:
        """The store has one record of each slot; jobs may have done more than it knows of."""
        check_audit(self.found)

    @property
    def figures(self) -> Verdict:
        return figures(self.found, self.runs)._replace(windows=len(self.windows), at_once=len(self.crossings))


class Scene:
    """Works until its account is taken. Nodes may reach the store by an address of their own."""

    def __init__(self, nests: Mapping[int, Nest], folder: Path, url: str, url_of_nodes: str = "") -> None:
        self._stack = ExitStack()
        self._nests = nests
        self._folder = folder
        self._url = url
        self._url_of_nodes = url_of_nodes or url
        self.recovery = 0.0  # seconds, the longest

    def __enter__(self) -> Self:
        self.place = self._stack.enter_context(Deployment(self._nests[RIGHT], self._folder, self._url, **SETTINGS))
        self.place.write("pipeline", *PIPELINE)
        self.place.on_store(lambda store: store.limit(QueueLimit(NARROW, ONE)))
        self._work = self._stack.enter_context(ExitStack())
        self._ledger = self._work.enter_context(Ledger(self._folder / LEDGER))
        self._spans = self._work.enter_context(Ledger(self._folder / SPANS))
        self.fleet = self._work.enter_context(Fleet(self._nests, self.place, self._url_of_nodes))
        for job in JOBS:
            self.place.known(job)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def recovers(self) -> float:
        """The seconds until every schedule has decided a later slot."""
        took = self.fleet.recovered()
        self.recovery = max(self.recovery, took)
        return took

    def account(self) -> Account:
        """Pause everything, wait until nothing runs, and end the fleet."""
        self.place.do(self.place.tickwise.pause())
        self.place.eventually(nothing_active)
        self._work.close()
        spans, stalls = read_file(self._spans.told)
        found = crossings(spans, ONE_BY_ONE)
        windows = [each for each in found if is_explained(each, [*self.fleet.freezes, *stalls])]
        left = [each for each in found if each not in windows]
        return Account(
            self.place.on_store(audit),
            self.place.on_store(told),
            self._ledger.told,
            windows=windows,
            crossings=left,
        )
