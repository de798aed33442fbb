"""What is done to a fleet and to what lies under it, by the names that the report has for it."""

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .databases import Database, File
from .fleet import AHEAD, BEHIND, Fleet
from .proxy import Loss

Fault: TypeAlias = Callable[[Fleet, Any], None]
LEASE = 2  # seconds
PAST_THE_LEASE = 1.25 * LEASE
WHILE_FULL = 1.0
PAST_THE_POLLS = 5.0  # seconds, after which a node that cannot claim has fallen back
SNAPSHOT = float(os.environ.get("TICKWISE_TEST_SNAPSHOT", "6"))  # seconds for which somebody reads
_FOR_A_WRITE = 60.0  # seconds, against hanging


def _kill(fleet: Fleet, _: object) -> None:
    fleet.kill()


def _stop(fleet: Fleet, _: object) -> None:
    with fleet.stopped():
        fleet.lives_for(PAST_THE_LEASE)


def _turn_a_clock(fleet: Fleet, _: Database) -> None:
    fleet.kill(fleet.chance.choice((AHEAD, BEHIND)))


def _restart(_: Fleet, database: Database) -> None:
    database.restart()


def _cut(_: Fleet, database: Database) -> None:
    database.proxy.cut()


def _stall(fleet: Fleet, database: Database) -> None:
    with database.proxy.stalled():
        fleet.lives_for(PAST_THE_LEASE)


def _lose_a_request(_: Fleet, database: Database) -> None:
    database.proxy.lose(Loss.REQUEST).result(_FOR_A_WRITE)


def _lose_an_answer(_: Fleet, database: Database) -> None:
    database.proxy.lose(Loss.ANSWER).result(_FOR_A_WRITE)


def _crowd(fleet: Fleet, database: Database) -> None:
    with database.crowded():
        fleet.lives_for(WHILE_FULL)


def _block_claims(fleet: Fleet, database: Database) -> None:
    with database.claims_blocked():
        fleet.lives_for(PAST_THE_POLLS)
        fleet.recovered()


def _fill_the_disk(fleet: Fleet, file: File) -> None:
    with file.full(fleet.processes):
        fleet.lives_for(WHILE_FULL)


def _fill_the_disk_of_the_server(fleet: Fleet, database: Database) -> None:
    with database.full():
        fleet.lives_for(WHILE_FULL)


def _hold_a_snapshot(fleet: Fleet, base: Database | File) -> None:
    with base.snapshot_held():
        fleet.lives_for(SNAPSHOT)
        fleet.recovered()


def _hold_the_file(fleet: Fleet, file: File) -> None:
    with file.locked():
        fleet.lives_for(PAST_THE_LEASE)


_OF_NODES: Mapping[str, Fault] = {"a node is killed": _kill, "a node freezes past its leases": _stop}
_OF_SERVERS: Mapping[str, Fault] = {
    "a node joins whose clock is an hour wrong": _turn_a_clock,
    "the server crashes and comes back": _restart,
    "all connections are cut": _cut,
    "the network stalls past the leases": _stall,
    "a write is lost in transit": _lose_a_request,
    "a write is committed, its reply is lost": _lose_an_answer,
    "other clients use all connections": _crowd,
    "claims fail, commits do not": _block_claims,
}
_OF_FILES: Mapping[str, Fault] = {
    "the disk is full": _fill_the_disk,
    "another process locks the file past the leases": _hold_the_file,
}
_OF_DISKS: Mapping[str, Fault] = {"the server's disk is full, and it stops": _fill_the_disk_of_the_server}
_OF_SNAPSHOTS: Mapping[str, Fault] = {"another client holds an old snapshot": _hold_a_snapshot}
EVERY = tuple({**_OF_NODES, **_OF_SERVERS, **_OF_DISKS, **_OF_FILES, **_OF_SNAPSHOTS})
FAULTS: Mapping[str, Mapping[str, Fault]] = {
    "postgres": {**_OF_NODES, **_OF_SERVERS, **_OF_DISKS, **_OF_SNAPSHOTS},
    "mysql": {**_OF_NODES, **_OF_SERVERS, **_OF_SNAPSHOTS},
    "sqlite": {**_OF_NODES, **_OF_FILES, **_OF_SNAPSHOTS},
    "mongodb": {**_OF_NODES, **_OF_SERVERS, **_OF_SNAPSHOTS},
    "redis": {**_OF_NODES, **_OF_SERVERS},
}
