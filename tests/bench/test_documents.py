"""The measurements of `documents` are complete, and honest about what is missing."""

import json
import sys
from math import isfinite
from pathlib import Path

import pytest

from bench import documents, mongodb_cron
from bench.documents import QUICK, rows, targets
from bench.mongodb import VARIABLE
from bench.report import problems, to_json
from tickwise.core.errors import TickwiseError

MEMORY = ["20 documents by 1 on memory", "150 documents by 100 on memory"]
MONGODB = ["20 documents by 1 on MongoDB", "150 documents by 100 on MongoDB"]


def test_rows(mongodb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One handler and a hundred are measured in memory and on the MongoDB that is named; all is plain JSON."""
    monkeypatch.setenv(VARIABLE, mongodb_url.replace("/?", "/tickwise_bench?"))
    found = rows(size=QUICK)
    assert [row.name for row in found] == MEMORY + MONGODB
    assert all(isfinite(row.ours) and row.ours > 0 and row.unit == "documents/s" for row in found)
    assert [row["name"] for row in json.loads(json.dumps(to_json(found)))] == MEMORY + MONGODB


def test_a_server_is_started_if_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a server of one's own, one is started from a package."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert [row.name for row in rows(size=QUICK)] == MEMORY + MONGODB


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where MongoDB cannot be reached, its rows are left out, and a note says what to install."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "pymongo", None)
    said: list[str] = []
    assert [row.name for row in rows(said.append, QUICK)] == MEMORY
    assert any(line.startswith("note: MongoDB is left out") and "pip install" in line for line in said)


def test_a_turn_that_did_not_do_its_work_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that was processed twice, or not at all, makes the measurement fail."""

    async def twice(*_: object) -> list[int]:
        return [*range(20), 1]

    monkeypatch.setattr(documents, "_process_all", twice)
    with pytest.raises(TickwiseError, match="20 documents were due, and 21 were processed"):
        rows(size=QUICK)


def test_without_node(mongodb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that cannot be installed is left out, with a note; its targets then count as not measured."""
    monkeypatch.setenv(VARIABLE, mongodb_url.replace("/?", "/tickwise_bench?"))
    monkeypatch.setattr("bench.mongodb_cron.shutil.which", lambda _: None)
    said: list[str] = []
    found = rows(said.append, QUICK)
    assert [row.name for row in found] == MEMORY + MONGODB
    assert all(row.peer is None for row in found)
    assert "note: mongodb-cron is left out: there is no node on PATH: install Node 16 or later with npm" in said
    assert len(problems(found, targets(QUICK))) == 2


@pytest.mark.parametrize(
    ("counts", "said"),
    [({"1": 2, "2": 1}, "processed 2 of 2 documents, 1 twice"), ({"1": 1}, "processed 1 of 2 documents, 0 twice")],
    ids=["twice", "left"],
)
def test_a_peer_that_did_not_do_its_work_has_no_time(
    counts: dict[str, int], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What holds for us holds for the peer: each document exactly once."""
    answer = json.dumps({"seconds": 1.0, "counts": counts})
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\necho '{answer}'\n")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(TickwiseError, match=said):
        mongodb_cron.drain(tmp_path, "url", "jobs", concurrency=1, documents=2)
