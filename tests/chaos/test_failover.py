"""A server takes the place of another, in the middle of everything: what survives, and what may be lost.

Nodes reach PostgreSQL through a proxy that is led to the standby; the driver of MongoDB finds the new primary by
itself; Valkey comes back with what its settings have kept.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tickwise.app.restoration import SetBack, set_backs
from tickwise.core.audit import Fault
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.records import MICRO

from ..stores.mongo.servers import restarted
from ..support.races.processes import tell
from ..support.servers import mongodb, postgres, valkey
from ..support.servers.postgres_standby import promote, standby
from ..support.servers.process import PATIENCE, Server
from ..support.store_reads import told
from ..support.tickwise_processes import Nest
from .faults import PAST_THE_LEASE
from .proxy import Proxy
from .scene import Account, Scene

BEHIND = 2.0  # seconds that the standby is behind when the primary dies
ROUNDS = 2  # elections and restarts


class Pair(NamedTuple):
    """PostgreSQL with a standby; nodes reach it by one line, the standby reads by another."""

    primary: Server
    standby: Server
    nodes: Proxy
    replication: Proxy

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.nodes.port}/postgres"

    def fail_over(self) -> None:
        """The primary dies in the middle of whatever it does, and the standby takes its place."""
        self.primary.process.kill()
        self.primary.process.wait(PATIENCE)
        self.replication.cut()
        promote(self.standby)
        self.nodes.lead_to("127.0.0.1", _port(self.standby))


@contextmanager
def _pair(*, synchronous: bool) -> Iterator[Pair]:
    with (
        postgres.server("max_connections=50") as primary,
        Proxy("127.0.0.1", _port(primary), lambda _: False) as nodes,
        Proxy("127.0.0.1", _port(primary), lambda _: False) as replication,
        standby(primary, replication.port, "max_connections=50", synchronous=synchronous) as second,
    ):
        yield Pair(primary, second, nodes, replication)


def _port(server: Server) -> int:
    return urlsplit(server.url).port or 0


def _report(what: str, account: Account, scene: Scene) -> None:
    wrong = Counter(finding.kind for finding in account.found.findings)
    lost, doubled = wrong[Fault.MISSED], wrong[Fault.DOUBLED]
    tell(
        f"{what}: {account.found.slots} slots, recovered in {scene.recovery:.1f} s, lost {lost}, doubled {doubled}"
    )


def test_a_synchronous_standby_takes_over(nests: Mapping[int, Nest], tmp_path: Path) -> None:
    """Nothing is lost and nothing runs twice: what was committed is on the standby (S1, S42, S43)."""
    with _pair(synchronous=True) as pair, Scene(nests, tmp_path, pair.url) as scene:
        scene.recovers()
        pair.fail_over()
        scene.recovers()
        account = scene.account()
    account.check()
    _report("PostgreSQL, synchronous standby", account, scene)


def test_a_standby_that_is_behind_takes_over(nests: Mapping[int, Nest], tmp_path: Path) -> None:
    """What the primary had not sent is lost: its slots are decided again, each has one record, and nodes say so.

    S1, S7, S78.
    """
    with _pair(synchronous=False) as pair, Scene(nests, tmp_path, pair.url) as scene:
        scene.recovers()
        with pair.replication.stalled():
            scene.fleet.lives_for(BEHIND)
            before = _slots_with_run(scene)
            pair.fail_over()
        forgotten = before - _slots_with_run(scene)
        scene.recovers()
        again = forgotten & _slots_with_run(scene)
        noticed = scene.place.eventually(_noticed)
        account = scene.account()
    what = f"PostgreSQL, standby {BEHIND:.0f} s behind, {len(forgotten)} runs forgotten, {len(again)} made again"
    _report(what, account, scene)
    assert forgotten, "nothing was lost, so nothing was shown"
    assert all(each.until - each.since >= BEHIND / 2 * MICRO for each in noticed)
    account.check_store()


async def _noticed(store: Store) -> list[SetBack]:
    return await set_backs(store, list(await store.insights.nodes()), 0)


def _slots_with_run(scene: Scene) -> set[tuple[str | None, int]]:
    return scene.place.eventually(_read_slots)


async def _read_slots(store: Store) -> set[tuple[str | None, int]] | None:
    """The slots that have a run; none while no server answers."""
    try:
        return {(one.run.schedule, one.run.slot) for one in await told(store) if one.run.slot is not None}
    except StoreUnavailableError:
        return None


def test_a_replica_set_elects(nests: Mapping[int, Nest], tmp_path: Path) -> None:
    """Nothing is lost and nothing runs twice: writes wait for a majority (S1, S42, S43)."""
    with (
        mongodb.replica_set(3) as (url, members),
        ExitStack() as stack,
        Scene(nests, tmp_path, url) as scene,
    ):
        scene.recovers()
        for _ in range(ROUNDS):
            address = mongodb.primary(url)
            members[address].process.kill()
            members[address].process.wait(PATIENCE)
            scene.recovers()
            members[address] = stack.enter_context(restarted(members[address]))
            scene.fleet.lives_for(PAST_THE_LEASE)
        account = scene.account()
    account.check()
    _report("MongoDB, the primary of three is killed", account, scene)


@pytest.mark.parametrize("fsync", ["always", "everysec", "no"])
def test_valkey_comes_back(fsync: str, nests: Mapping[int, Nest], tmp_path: Path) -> None:
    """With `always` nothing is lost; else the last seconds may be, and their slots are decided again (S1, S7)."""
    log = ("--appendonly", "yes", "--appendfsync", fsync)
    with (
        valkey.server(*log) as server,
        ExitStack() as stack,
        Scene(nests, tmp_path, server.url) as scene,
    ):
        living = server
        for _ in range(ROUNDS):
            scene.recovers()
            living = stack.enter_context(valkey.restarted(living))
        scene.recovers()
        account = scene.account()
    _report(f"Valkey, appendfsync {fsync}", account, scene)
    if fsync == "always":
        account.check()
    else:
        account.check_store()
