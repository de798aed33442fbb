"""`tickwise serve`, `ticker` and `worker` as real processes: what they say, and how they end."""

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tickwise import Tickwise

from ..support.fork_server import PATIENCE
from ..support.tickwise_processes import Nest, Process

HOURLY = 'schedule: "0 * * * *"\ncommand: "true"\n'
BLOCKED = "command: [sh, -c, 'echo begun > begun; read word < go_on; echo ended > ended']\n"


@pytest.fixture(scope="module")
def nest() -> Iterator[Nest]:
    with Nest() as nest:
        yield nest


class Site:
    """A folder with a store, job files, and processes."""

    def __init__(self, nest: Nest, folder: Path) -> None:
        self._nest = nest
        self.folder = folder
        self.jobs = folder / "jobs"
        self.jobs.mkdir()
        settings = 'store = "sqlite:///tickwise.db"\nport = 0\npoll = 0.1\nrenew = 0.2\nshutdown_grace = "2m"\n'
        (folder / "tickwise.toml").write_text(settings)

    def start(self, *arguments: str) -> Process:
        return self._nest.start(self.folder, *arguments)

    def tickwise(self) -> Tickwise:
        return Tickwise(f"sqlite:///{self.folder / 'tickwise.db'}")

    def state_of(self, run: str) -> str:
        with self.tickwise() as tw:
            return str(tw.runs.get(run).state)


class Blocked:
    """A job that says when it has begun, and goes on until it is told to."""

    def __init__(self, site: Site) -> None:
        self._site = site
        (site.jobs / "blocked.yaml").write_text(BLOCKED)
        for pipe in ("begun", "go_on"):
            os.mkfifo(site.folder / pipe)
        self._begun, self._go_on = (os.open(site.folder / pipe, os.O_RDWR) for pipe in ("begun", "go_on"))

    def run(self) -> str:
        """The id of a run that has begun."""
        with self._site.tickwise() as tw:
            run: str = tw.enqueue("blocked").id
        assert read(self._begun) == "begun\n"
        return run

    def go_on(self) -> None:
        os.write(self._go_on, b"go on\n")

    def close(self) -> None:
        os.close(self._begun)
        os.close(self._go_on)


def read(descriptor: int) -> str:
    """What is there, as soon as there is something."""
    assert select.select([descriptor], [], [], PATIENCE)[0], "nothing comes"
    return os.read(descriptor, 65_536).decode()


@pytest.fixture
def blocked(site: Site) -> Iterator[Blocked]:
    blocked = Blocked(site)
    yield blocked
    blocked.close()


@pytest.fixture
def site(nest: Nest, tmp_path: Path) -> Iterator[Site]:
    yield Site(nest, tmp_path)
    nest.end_all()


class Terminal:
    """A `tickwise` process, as installed, in a terminal."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        program = str(Path(sys.executable).with_name("tickwise"))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TICKWISE_")}
        self.process = subprocess.Popen(
            [program, *arguments], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
            env={**inherited, "COLUMNS": "120", "TERM": "xterm"}, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.printed = ""

    def until(self, text: str) -> None:
        """Read on until this has been printed."""
        while text not in self.printed:
            self.printed += read(self._ours)

    def rest(self) -> str:
        """What is printed until it ends."""
        more = ""
        with suppress(OSError):  # the end of a terminal
            while new := read(self._ours):
                more += new
        self.process.wait(PATIENCE)
        os.close(self._ours)
        return more


def test_what_people_see(site: Site) -> None:
    """It says where the dashboard is and what comes next; with --quiet nothing more. It ends with 0."""
    (site.jobs / "hourly.yaml").write_text(HOURLY)
    terminal = Terminal(site.folder, "serve", "jobs", "--quiet", "--log-level", "warning")
    try:
        terminal.until("Every hour, UTC")
        plain = _plain(terminal.printed)
        assert plain != terminal.printed, "a terminal gets colours"
        assert re.search(r"Tickwise is running \(.*ticker.*worker.*\) on sqlite:///tickwise\.db", plain)
        assert re.search(r"Dashboard: http://127\.0\.0\.1:\d+/", plain)
        assert re.search(r"Health: http://127\.0\.0\.1:\d+/readyz", plain)
        assert re.search(r"next +schedule +what it means", plain)
        assert re.search(r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:00:00 UTC +hourly +Every hour, UTC", plain)
        (site.jobs / "ticks.yaml").write_text('schedule: "* * * * * *"\ncommand: echo tick\n')
        with site.tickwise() as tw:
            _until_some_ran(tw)
        terminal.process.terminate()
        assert (terminal.rest().strip(), terminal.process.returncode) == ("", 0)
    finally:
        terminal.process.kill()


def test_a_terminal_shows_what_happens(site: Site) -> None:
    """A line for each run, a changed file is confirmed, and a broken one is shown with its mistake."""
    (site.jobs / "ticks.yaml").write_text('schedule: "* * * * * *"\ncommand: echo tick\n')
    terminal = Terminal(site.folder, "serve", "jobs")
    try:
        terminal.until("succeeded")
        assert re.search(r"\d\d:\d\d:\d\dZ +ticks +succeeded in \d+\.\ds", _plain(terminal.printed))
        (site.jobs / "ticks.yaml").write_text('schedule: "* * * * * *"\nscript: "exit 3"\n')
        terminal.until("jobs have changed")
        terminal.until("tickwise runs logs")
        assert re.search(
            r"ticks +failed in \d+\.\ds: exit code 3 +\(tickwise runs logs \d+\)", _plain(terminal.printed)
        )
        (site.jobs / "bad.yaml").write_text('schedule: "0 25 * * *"\ncommand: ls\n')
        terminal.until("25 is out of range")
        assert "bad.yaml:1:14: schedule: hour: 25 is out of range 0-23\r\n  0 25" in _plain(terminal.printed)
        assert "run ended" not in terminal.printed, "the log says again what a line says"
    finally:
        terminal.process.terminate()
        terminal.rest()


def test_an_app_is_restarted_when_its_code_changes(site: Site) -> None:
    """--reload starts the changed app, waits when it is broken, and ends with the app at Ctrl-C."""
    app = (
        'from tickwise import Tickwise\ntw = Tickwise()\n@tw.job("* * * * * *")\ndef {0}(): print("this is {0}")\n'
    )
    (site.folder / "shop.py").write_text(app.format("first"))
    terminal = Terminal(site.folder, "serve", "shop:tw", "--reload")
    try:
        terminal.until("this is first")
        (site.folder / "shop.py").write_text("no python")
        terminal.until("Waiting for a change")
        assert "SyntaxError" in terminal.printed
        (site.folder / "shop.py").write_text(app.format("second"))
        terminal.until("this is second")
        terminal.process.send_signal(signal.SIGINT)
        terminal.rest()
        assert terminal.process.returncode == 0
    finally:
        terminal.process.kill()


def _plain(printed: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", printed)


def _until_some_ran(tw: Tickwise) -> None:
    give_up = time.monotonic() + PATIENCE
    while len(tw.runs.list(state="succeeded")) < 2:
        assert time.monotonic() < give_up, "nothing runs"
        tw._loop_thread.call(tw.store().wait(1))


def test_a_run_may_end(site: Site, blocked: Blocked) -> None:
    """SIGTERM ends it with 0, after the run under way has ended (S45)."""
    worker = site.start("worker", "jobs").up()
    run = blocked.run()
    worker.signal(signal.SIGTERM)
    blocked.go_on()
    assert not worker.lives_for(PATIENCE)
    assert ((site.folder / "ended").read_text(), site.state_of(run), worker.code) == ("ended\n", "succeeded", 0)


def test_a_second_signal_hurries(site: Site, blocked: Blocked) -> None:
    """Who asks twice does not wait: the run is ended and handed back (S45)."""
    worker = site.start("worker", "jobs").up()
    run = blocked.run()
    worker.signal(signal.SIGTERM)
    worker.signal(signal.SIGINT)
    assert not worker.lives_for(PATIENCE)
    assert (worker.code, site.state_of(run)) == (0, "queued")
    assert not (site.folder / "ended").exists()


def test_ticker_and_worker_alone(site: Site) -> None:
    """One process decides, another runs, and each says what it is."""
    (site.jobs / "ticks.yaml").write_text('schedule: "* * * * * *"\ncommand: echo tick\n')
    ticker, worker = site.start("ticker", "jobs").up(), site.start("worker", "jobs").up()
    with site.tickwise() as tw:
        _until_some_ran(tw)
        nodes = {str(node.pid): node.roles for node in tw._loop_thread.call(tw.store().insights.nodes())}
        assert {(run.worker or "").split("-")[-2] for run in tw.runs.list(state="succeeded")} == {str(worker.pid)}
    assert nodes == {str(ticker.pid): ("ticker",), str(worker.pid): ("worker",)}
    assert "Tickwise is running (ticker) on" in ticker.output
    assert "Tickwise is running (worker) on" in worker.output
    for process in (ticker, worker):
        assert (process.asked("healthz"), process.asked("readyz"), process.asked("nothing")) == (200, 200, 404)
        process.stop()


def test_an_app(site: Site) -> None:
    """`module:name` runs an app of the folder, and folders beside it; the options go before what the code says."""
    text = 'from tickwise import Tickwise\ntw = Tickwise("memory://")\ntw.job("@daily", name="greet")(print)\n'
    (site.folder / "shop.py").write_text(text.replace("(print)", "(lambda: None)"))
    (site.jobs / "hourly.yaml").write_text(HOURLY)
    ticker = site.start("ticker", "shop:tw", "jobs", "--store", "sqlite:///tickwise.db").up()
    ticker.says("At 00:00, every day, UTC")
    ticker.stop()
    with site.tickwise() as tw:
        found = {schedule.name: schedule.source for schedule in tw.schedules.list()}
    assert found == {"greet": "app:app", "hourly": f"folder:{site.jobs}"}


def test_a_folder_that_is_not_trusted(site: Site) -> None:
    """A folder that everybody may write is not read: that is said with the way out, and the rest goes on."""
    (site.jobs / "hourly.yaml").write_text(HOURLY)
    site.jobs.chmod(0o777)
    ticker = site.start("ticker", "jobs").up()
    ticker.says("error: jobs: everybody may write it, and so decide what runs here: chmod o-w jobs")
    assert "No schedules yet" in ticker.output
    ticker.stop()


def test_a_file_that_cannot_be_read(site: Site) -> None:
    """A broken file is named with its place, and logged; the others are scheduled."""
    (site.jobs / "bad.yaml").write_text('schedule: "0 25 * * *"\ncommand: "true"\n')
    (site.jobs / "hourly.yaml").write_text(HOURLY)
    ticker = site.start("ticker", "jobs").up()
    ticker.says("error: jobs/bad.yaml:1")
    assert "definition cannot be read" in ticker.output
    assert "Every hour, UTC" in ticker.output
    ticker.stop()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("serve", "nowhere"), "nowhere is neither a file or folder here, nor an app written as module:name"),
        (("serve", "nowhere:tw"), "nowhere:tw: there is no module nowhere: run it where `import nowhere` works"),
        (("serve", "shop:other"), "shop:other: the module shop has no 'other'"),
        (("serve", "broken:tw"), "broken:tw cannot be imported\n  File"),
        (("serve", "failing:tw"), "error: failing:tw cannot be imported"),
        (("serve", "shop:number"), "shop:number is a int, not a Tickwise"),
        (("serve", "shop:one", "shop:two"), "one process runs one app: start another process for the second"),
        (("worker", "--store", "sqllite:///x.db"), "did you mean sqlite?"),
        (("serve", "jobs", "--reload"), "--reload is for an app, written as module:name"),
        (("worker", "--queues", "a b"), "argument: queues is 'a b'"),
        (("ticker", "--config", "none.toml"), "there is no file none.toml"),
        (("ticker", "--port", "99999"), "port is 99999: write a whole number from 0 to 65535"),
        (("worker", "--concurrency", "0"), "Invalid value for '--concurrency'"),
    ],
)
def test_wrong_use(site: Site, arguments: tuple[str, ...], message: str) -> None:
    """Bad input ends with 2 and a sentence, before anything is started."""
    (site.folder / "shop.py").write_text(
        "from tickwise import Tickwise\none, two, number = Tickwise(), Tickwise(), 7\n"
    )
    (site.folder / "broken.py").write_text("no python\n")
    (site.folder / "failing.py").write_text("tw = None.missing\n")
    process = site.start(*arguments)
    assert not process.lives_for(PATIENCE)
    assert process.code == 2
    assert message in process.output
    assert "/typer/" not in process.output
    assert "serve.py" not in process.output


@pytest.mark.parametrize("role", ["serve", "ticker", "worker"])
def test_a_port_that_is_taken(site: Site, role: str) -> None:
    """It is told with the way out, and ends with 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = site.start(role, "jobs", "--port", str(port))
        assert not process.lives_for(PATIENCE)
    assert process.code == 2
    assert f"error: cannot listen on 127.0.0.1:{port} (Address already in use" in process.output
    assert "choose another --port" in process.output


def test_others_are_let_in_with_a_token_only(site: Site) -> None:
    """Beyond loopback it is refused without one, and told what is unsafe with one."""
    everywhere = ("serve", "jobs", "--host", "0.0.0.0")  # noqa: S104  (that is what is tested)
    refused = site.start(*everywhere)
    assert not refused.lives_for(PATIENCE)
    assert (refused.code, "tickwise token create" in refused.output) == (2, True)
    created = site.start("token", "create", "ops", "--role", "operator")
    assert not created.lives_for(PATIENCE)
    assert created.code == 0, created.output
    site.start(*everywhere).says("0.0.0.0 is served without TLS")
