"""Processes of Celery beat that are killed or ended: each slot is published, and in doubt under one id."""

import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tickwise import Tickwise

from ..support.celery_processes import Broker, beat
from ..support.fork_server import PATIENCE

_DYING = "tests.support.apps.celery_project:DyingScheduler"


@pytest.fixture
def broker(redis_url: str) -> Iterator[Broker]:
    made = Broker(redis_url, f"queue-{uuid4().hex[:8]}")
    yield made
    made.close()


def test_of_two_processes_one_is_killed_and_each_slot_is_published_once(broker: Broker, tmp_path: Path) -> None:
    """S42: what the killed beat held is published by the other, when its lease has run out."""
    with beat(broker, tmp_path) as first, beat(broker, tmp_path):
        sent = [broker.next() for _ in range(3)]
        first.send_signal(signal.SIGKILL)
        sent += [broker.next() for _ in range(5)]
    ids = {message.slot: {one.id for one in sent if one.slot == message.slot} for message in sent}
    assert all(len(of_slot) == 1 for of_slot in ids.values())
    assert len(ids) >= 7  # of 8; one of them may have been in doubt, and came twice under its id


def test_in_doubt_a_message_is_sent_again_under_its_id(broker: Broker, tmp_path: Path) -> None:
    """S52: a beat that is killed after it has sent, and before that is stored."""
    with beat(broker, tmp_path, _DYING) as dying:
        first = broker.next()
        dying.wait(PATIENCE)
    with beat(broker, tmp_path):
        again = next(message for message in iter(broker.next, None) if message.slot == first.slot)
    assert again.id == first.id


def test_a_beat_ends_by_a_signal_and_leaves_nothing_behind(broker: Broker, tmp_path: Path) -> None:
    """S45: SIGTERM is an ordinary end: no run is held."""
    with beat(broker, tmp_path) as process:
        broker.next()
        process.terminate()
        assert process.wait(PATIENCE) == 0
    with Tickwise(f"sqlite:///{tmp_path / 'tickwise.db'}") as tw:
        assert {run.state for run in tw.runs.list()} <= {
            "succeeded",
            "queued",
        }  # the next beat takes what is queued
