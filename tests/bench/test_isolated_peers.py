"""Peers in an environment of their own: how they are asked, and how the environment is made."""

import re
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from bench import stores
from bench.stores.contender import WrongResultError, in_turns
from bench.stores.isolated_peers.environment import PINS, interpreter
from bench.stores.isolated_peers.peer import IsolatedPeer
from tickwise.core.errors import InputError


def test_it_takes_turns(stand_in: Path) -> None:
    """A program is asked for each step of each turn over its whole life, and its count is the turn's result."""
    [turns] = in_turns(2, [IsolatedPeer("peer", [stand_in], 7, nullcontext("place"))])
    assert len(turns.rates) == 2


def test_a_program_that_ends_is_an_error() -> None:
    """A peer that dies is no figure; the error says at which step, and how it ended."""
    with pytest.raises(WrongResultError, match="peer ended with 3 when asked to prepare"):
        in_turns(1, [IsolatedPeer("peer", [sys.executable, "-c", "exit(3)"], 7)])


def test_an_environment_is_whole_or_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The installer's last words are the reason of a failure, which leaves nothing behind that counts as made."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pins, said = tmp_path / "pins.lock", list[str]()
    pins.write_text("./no-such.whl --hash=sha256:0", "utf-8")
    with pytest.raises(InputError, match=r"could not be made .*no-such\.whl"):
        interpreter(said.append, pins)
    [home] = tmp_path.glob("tickwise/bench/peers-*")
    (home / "complete").touch(exist_ok=False)
    assert interpreter(said.append, pins) == home / "bin" / "python"
    assert said == ["installing peers into an environment of their own, once"]


def test_peers_that_cannot_be_had_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without their environment the note names the peers that are left out."""

    def refuse(_: object) -> Path:
        raise InputError("no network")

    monkeypatch.setattr(stores, "interpreter", refuse)
    said: list[str] = []
    assert stores._peer_interpreter(said.append) is None
    assert said == ["note: APScheduler 4 and Celery beat are left out: no network"]


def test_pins_have_hashes_and_no_addresses() -> None:
    """What is installed is exactly what was pinned, wherever it comes from."""
    _, *pins = re.split(r"^(?=\w)", PINS.read_text("utf-8"), flags=re.MULTILINE)
    assert pins
    assert all("==" in pin and "--hash=sha256:" in pin and "://" not in pin for pin in pins)
