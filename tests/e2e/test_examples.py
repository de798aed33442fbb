"""The five real uses in examples/ do what they say, by real servers; what is not ours there is played by stubs.

The job files are taken as they are, but for places of the machines that they are meant for.
"""

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path

import pytest

from tickwise.core.model import Trigger
from tickwise.core.reasons import Reason
from tickwise.core.states import RunState
from tickwise.stores.contract import Store
from tickwise.stores.records import RunFilter, RunRow

from ..support.deployment import SUCCEEDED, Deployment, second
from ..support.fork_server import PATIENCE, ROOT
from ..support.races.file_clock import SharedClock
from ..support.store_reads import decided_up_to, steps
from ..support.tickwise_processes import Nest

EXAMPLES = ROOT / "examples"
SETTINGS = {"queues": ["default", "feeds"], "addresses": ["loopback"], "lease": 10**6, "renew": 0.1}


@pytest.fixture
def place(nest: Nest, tmp_path: Path, clock: SharedClock) -> Iterator[Deployment]:
    """Leases outlive every leap of the clock, for some examples run all day."""
    url = f"sqlite:///{tmp_path / 'tickwise.db'}"
    with Deployment(nest, tmp_path, url, clock, **SETTINGS) as place:
        yield place


def example(place: Deployment, name: str, **replaced: str) -> None:
    text = (EXAMPLES / "jobs" / f"{name}.yaml").read_text()
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    place.write(name, text)


def program(place: Deployment, name: str, text: str) -> None:
    """A stub that is found before any real program of that name."""
    path = place.folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_nightly_backup(place: Deployment) -> None:
    """Nights without a server give one backup, with its arguments and variables; by hand counts too (S18)."""
    program(place, "pg_dump", f'echo "$PGHOST $PGPORT $*" >> {place.folder}/dumps')
    example(place, "nightly-backup")
    place.serve().stop()
    place.move_to_while_down("2026-01-04T12:00")
    place.serve()
    (run,) = place.ended("nightly-backup")
    assert (run.trigger, run.state) == (Trigger.CATCHUP, SUCCEEDED)
    assert second("2026-01-04T00:00") <= (run.slot or 0) < second("2026-01-04T05:00")
    dumps = (place.folder / "dumps").read_text()
    assert dumps == "db.internal 5432 --format=custom --file=/var/backups/shop.dump shop\n"
    place.do(place.tickwise.schedules.trigger("nightly-backup"))
    place.ended("nightly-backup", 2)
    place.move_to("2026-01-05T12:00")
    place.eventually(decided_up_to, "nightly-backup", second("2026-01-05T00:00"))
    assert place.decided("nightly-backup")[-1].reason is Reason.ALREADY_SUCCESSFUL


def test_etl(place: Deployment) -> None:
    """Four missed hours are loaded one after the other, oldest first, though the check of each complains (S12)."""
    (place.folder / "incoming").mkdir()
    program(place, "extract.sh", 'echo "$TICKWISE_SLOT $TICKWISE_PARAM_TABLE" >> extracted')
    (place.folder / "etl").mkdir()
    (place.folder / "etl" / "quality.py").write_text("def check():\n    raise ValueError('bad rows')\n")
    (place.folder / "etl" / "warehouse.py").write_text(
        "def load(run, table, batch_size):\n    return [f'{run.slot:%H:%M}', table, batch_size]\n"
    )
    places = {"/srv/etl": str(place.folder / "bin"), "/data/incoming": str(place.folder / "incoming")}
    example(place, "etl", **places)
    place.serve().stop()
    place.move_to_while_down("03:30")
    place.serve()
    hours = ["00:05", "01:05", "02:05", "03:05"]
    runs = place.ended("etl", len(hours))
    assert {run.state for run in runs} == {SUCCEEDED}
    assert [run.slot for run in runs] == [second(hour) for hour in hours]
    assert all((one.finished_at or 0) <= (two.started_at or 0) for one, two in pairwise(runs))
    extracted = (place.folder / "bin" / "extracted").read_text().splitlines()
    assert extracted == [f"2026-01-01T{hour}:00Z orders" for hour in hours]
    assert [[(step.name, step.state) for step in each] for each in place.on_store(steps, runs)] == [
        [("extract", "succeeded"), ("check", "failed"), ("load", "succeeded")]
    ] * len(hours)


def test_heartbeat_in_a_file(place: Deployment) -> None:
    """Every half minute the load of the machine is kept as the result of a run."""
    example(place, "heartbeat")
    place.serve()
    place.move_to("00:00:30")
    (run,) = place.ended("heartbeat")
    assert (run.slot, run.state, len(run.result)) == (second("00:00:30"), SUCCEEDED, 3)


def test_market_feed(place: Deployment) -> None:
    """The recorder runs from nine, is renewed at half past twelve, and is gone after the exchange closes (S21)."""
    program(place, "quote-recorder", f'echo "$EXCHANGE $*" >> {place.folder}/recorded; exec sleep 100000')
    example(place, "market-feed")
    place.serve()
    place.move_to("08:00")
    morning = place.eventually(_running, Trigger.SCHEDULE)
    place.move_to("11:30")
    afternoon = place.eventually(_running, Trigger.RESTART)
    place.move_to("16:35")
    runs = place.ended("market-feed", 2)
    assert [(run.id, run.state) for run in runs] == [(run.id, RunState.CANCELLED) for run in (morning, afternoon)]
    assert (place.folder / "recorded").read_text() == "XETRA --exchange XETRA --into /data/quotes\n" * 2
    assert [told.reason for told in place.decided("market-feed.stop")] == [Reason.STOPPED]


async def _running(store: Store, trigger: Trigger) -> RunRow | None:
    found = (await store.insights.runs(RunFilter(states=frozenset({RunState.RUNNING})))).items
    return next((run for run in found if run.trigger is trigger), None)


def test_reminder(place: Deployment) -> None:
    """A reminder that fell into a downtime is sent afterwards, once, and its schedule is gone (S33)."""
    with web_server() as (address, received):
        example(place, "reminder", **{"https://hooks.example.com": address})
        place.serve().stop()
        place.move_to_while_down("2030-01-31T12:00")
        place.serve()
        (run,) = place.ended("reminder")
    assert (run.slot, run.state) == (second("2030-01-31T08:00"), SUCCEEDED)
    assert received == [("/platform", '{"text": "shop.example.com: the certificate expires on 14 February"}')]
    assert place.schedule("reminder") is None


@contextmanager
def web_server() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Somebody who takes requests: the address, and what was received."""
    received: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"])).decode()))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody listens."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


def test_heartbeat_in_an_app(nest: Nest, tmp_path: Path) -> None:
    """`tickwise serve app:tw`, as installed, runs the decorated function in real time, and ends when asked."""
    shutil.copy(EXAMPLES / "app.py", tmp_path)
    command = [str(Path(sys.executable).with_name("tickwise")), "serve", "app:tw"]
    with (
        Deployment(nest, tmp_path, f"sqlite:///{tmp_path / 'tickwise.db'}") as place,
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server,
    ):
        run = place.ended("heartbeat")[0]
        server.terminate()
        printed, _ = server.communicate(timeout=PATIENCE)
    assert (run.state, run.trigger, list(run.result)) == (SUCCEEDED, Trigger.SCHEDULE, ["load"])
    assert "heartbeat" in printed
    assert server.returncode == 0
