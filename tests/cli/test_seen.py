"""`tickwise seen` in the line of another scheduler: the job runs as before, whatever becomes of the fire (S80)."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tickwise import Tickwise
from tickwise.cli.fire_spool import Fire, FireSpool

from ..support.cli import PROGRAM, live

Line = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/shadow.db"
    with Tickwise(url) as tw:
        tw.schedules.add("etl", schedule="@every 1h", command="true", shadow=True)
    return url


@pytest.fixture
def line(tmp_path: Path) -> Line:
    """A line of a crontab, run as cron runs it."""

    def run(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
        return subprocess.run(
            [*PROGRAM, "seen", *arguments], input=stdin, capture_output=True, text=True, cwd=tmp_path,
            env=environment, check=False,
        )  # fmt: skip

    return run


def last_fire(store: str) -> datetime | None:
    with Tickwise(store) as tw:
        (status,) = tw.shadow.list()
        return status.last_fire


@contextmanager
def deaf_server() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_the_job_runs_as_without_it(line: Line, store: str) -> None:
    """Its input, output and exit code are its own, and so is how it takes signals."""
    script = "cat; echo problem >&2; grep -E 'Sig(Ign|Blk)' /proc/self/status; exit 7"
    plain = subprocess.run(["/bin/sh", "-c", script], input="words\n", capture_output=True, text=True, check=False)
    wrapped = line("etl", "--store", store, "--", "sh", "-c", script, stdin="words\n")
    assert (wrapped.returncode, wrapped.stdout, wrapped.stderr) == (7, plain.stdout, plain.stderr)
    missing = line("etl", "--store", store, "--", "no-such-program")
    assert (missing.returncode, missing.stderr) == (127, "tickwise seen: no-such-program: command not found\n")
    assert line("etl", "--store", store, "--", "/").returncode == 126


def test_a_fire_is_noted_by_a_process_of_its_own(line: Line, store: str) -> None:
    """Nobody waits for it; what it could not send yet, the next call sends."""
    with live(store) as (address, token):
        server = ("--server", address, "--token", token)
        assert line("etl", *server, "--", "true").returncode == 0
        while last_fire(store) is None:
            pass
        told = line("--json", *server)
        assert json.loads(told.stdout)["waiting"] == []


@pytest.mark.parametrize("more", [(), ("--unless-adopted",)])
def test_without_an_answer_the_job_runs_and_the_fire_is_kept(
    line: Line, tmp_path: Path, more: tuple[str, ...]
) -> None:
    """A server that is away, or one that never answers, holds nothing up."""
    away = line("etl", "--server", "http://127.0.0.1:9", *more, "--", "echo", "ran")
    assert (away.returncode, away.stdout, away.stderr) == (0, "ran\n", "")
    left = line("--server", "http://127.0.0.1:9", "--json")
    assert left.returncode == 1
    assert "cannot be reached" in left.stderr
    with deaf_server() as address:
        deaf = line("etl", "--server", address, *more, "--", "echo", "ran")
        kept = [*(tmp_path / "state").rglob("*.fire")]
    assert (deaf.returncode, deaf.stdout, deaf.stderr) == (0, "ran\n", "")
    assert len(kept) == 2


def test_a_kept_fire_is_sent_with_its_age(line: Line, store: str) -> None:
    """It counts from when the job began, by the store's time."""
    spool = FireSpool(Path(json.loads(line("--json", "--store", store).stdout)["spool"]))
    spool.keep(Fire("etl", "web1/1", time.time() - 7_200))
    told = line("--store", store)
    assert (told.returncode, told.stdout) == (0, "1 fire noted.\n")
    fire = last_fire(store)
    assert fire is not None
    assert 7_200 <= (datetime.now(UTC) - fire).total_seconds() < 7_300


def test_what_is_refused_says_so_and_is_kept(line: Line, store: str) -> None:
    """A name that is wrong is found by the call that waits."""
    asked = ("--store", store)
    refused = line("elt", "--wait", *asked)
    assert refused.returncode == 1
    assert "did you mean etl?" in refused.stdout
    answer: dict[str, Any] = json.loads(line("--json", *asked).stdout)
    assert [one["schedule"] for one in answer["waiting"]] == ["elt"]
    for file in Path(answer["spool"]).iterdir():
        file.write_text("{damaged")
    assert json.loads(line("--json", *asked).stdout) == {**answer, "waiting": []}


def test_a_job_that_tickwise_starts_is_not_started_by_the_old_line(line: Line, store: str) -> None:
    """With --unless-adopted the cut-over and its undoing need no edit of the crontab."""
    with live(store) as (address, token):
        asked = ("etl", "--unless-adopted", "--server", address, "--token", token, "--", "echo", "old")
        assert line(*asked).stdout == "old\n"
        with Tickwise(store) as tw:
            tw.shadow.adopt("etl", stopped=True)
            after = line(*asked)
            tw.shadow.resume("etl")
        assert (after.returncode, after.stdout) == (0, "")
        assert line(*asked).stdout == "old\n"
