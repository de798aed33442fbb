"""A cut-over under load (S80): real lines of a crontab, nodes, adoptions and their undoing, all at the same time.

What really ran stands in a ledger: a line for each process that did the work, whoever started it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tickwise.core.timeparse import iso
from tickwise.stores.contract import Store

from ..support.cli import live
from ..support.deployment import Deployment, second
from ..support.races.file_clock import SharedClock
from ..support.tickwise_processes import Nest, Process

JOBS, MINUTES = ("s0", "s1", "s2"), 7
ACTS = {2: [("s0", "--stopped")], 3: [("s1", "--stopped")], 4: [("s0", "--undo")], 5: [("s2", "--stopped")],
        6: [("s0", "--stopped")], 7: [("s0", "--stopped")]}  # fmt: skip


class Crontab:
    """The lines of the old scheduler, whose work and Tickwise's write into one ledger."""

    def __init__(self, nest: Nest, place: Deployment, server: tuple[str, str]) -> None:
        self._nest, self._place = nest, place
        self._server = ("--server", server[0], "--token", server[1])
        self.ledger = place.folder / "ledger"
        self.ledger.touch()

    def command(self, *arguments: str) -> Process:
        """A `tickwise` process that asks the server."""
        variables = {"XDG_STATE_HOME": str(self._place.folder / "state")}
        what, *others = arguments
        split = others.index("--") if "--" in others else len(others)
        asked = [what, *others[:split], *self._server, *others[split:]]
        return self._nest.start(self._place.folder, *asked, variables=variables)

    def fire(self, name: str, slot: int) -> Process:
        return self.command("seen", name, "--unless-adopted", "--", "sh", "-c", self.work(name, iso(slot), "cron"))

    def work(self, name: str, slot: str, by: str) -> str:
        return f'echo "{name} {slot} {by}" >> {self.ledger}'

    def define(self, name: str) -> None:
        act = self.work(name, "$TICKWISE_SLOT", "tickwise").replace("'", "''")
        fields = ("shadow: true", "overlap: allow", "catchup: all", 'schedule: "* * * * *"')
        self._place.write(name, *fields, "script: |", f"  {act}")
        self._place.known(name)

    def ran(self) -> Counter[tuple[str, str]]:
        return Counter((name, slot) for name, slot, _ in map(str.split, self.ledger.read_text().splitlines()))


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'tickwise.db'}"
    found: str = request.getfixturevalue("postgres_database")
    return found


@pytest.fixture
def crontab(nest: Nest, place: Deployment, url: str, clock: SharedClock) -> Iterator[Crontab]:
    """Beside two tickers and a worker."""
    with ExitStack() as stack:
        server = stack.enter_context(live(url, clock=clock))
        for role in ("ticker", "ticker", "worker"):
            place.start(role).up()
        yield Crontab(nest, place, server)
        nest.end_all()


def test_each_slot_is_started_once(place: Deployment, crontab: Crontab) -> None:
    """By the old line or by Tickwise, in whatever order lines, passes, adoptions and an undoing meet."""
    chance = Random(26)
    for name in JOBS:
        crontab.define(name)
    slots = [second(f"00:0{minute}") for minute in range(1, MINUTES + 1)]
    for minute, slot in enumerate(slots, 1):
        place.move_to(iso(slot + 1))
        starts: list[Callable[[], Process]] = [partial(crontab.fire, name, slot) for name in JOBS]
        starts += [partial(crontab.command, "shadow", "adopt", *act) for act in ACTS.get(minute, ())]
        chance.shuffle(starts)
        for process in [start() for start in starts]:
            process.ends()
    expected = Counter({(name, iso(slot)): 1 for name in JOBS for slot in slots})

    async def all_started(_store: Store) -> bool:
        return crontab.ran().keys() >= expected.keys()

    place.eventually(all_started)
    place.passes()
    assert crontab.ran() == expected, crontab.ledger.read_text()
    starters = {line.split()[2] for line in crontab.ledger.read_text().splitlines()}
    assert starters == {"cron", "tickwise"}
