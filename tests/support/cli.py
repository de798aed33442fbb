"""What the tests of commands share: a filled store, a live server over one, and a terminal."""

import asyncio
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from tickwise import AsyncTickwise, Tickwise
from tickwise.api.auth_settings import load_auth
from tickwise.api.local_peer import local_listener
from tickwise.api.server import listen, serve_api
from tickwise.api.server_address import server_address
from tickwise.api.token_file import digest
from tickwise.app.health import READY
from tickwise.cli.in_process import InProcessTransport
from tickwise.stores.access_records import AccessRole, Token
from tickwise.stores.url import open_store

PATIENCE = 120  # seconds before a test that hangs is given up
PROGRAM = [sys.executable, "-m", "tickwise"]


class Filled(NamedTuple):
    """A folder with a store, and the runs that are in it by the names of their jobs."""

    folder: Path
    runs: dict[str, str]

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder}/tickwise.db"

    def copied(self, to: Path) -> "Filled":
        shutil.copytree(self.folder, to)
        return Filled(to, self.runs)


def fill(folder: Path) -> Filled:
    """`report` has succeeded, `breaks` of an app has failed, and a run of `nightly` is taken by nobody."""
    filled = Filled(folder, {})
    with Tickwise(filled.url) as tw:

        @tw.job("30 4 * * *", name="breaks")
        def breaks() -> None:
            raise LookupError("no such table")

        steps = [
            {"name": "count", "command": "echo three"},
            {"name": "print", "command": "echo reports", "depends": "count"},
        ]
        tw.schedules.add("report", schedule="0 3 * * *", labels={"team": "billing"}, steps=steps)
        for name in ("report", "breaks"):
            filled.runs[name] = tw.schedules.trigger(name, by="ada").id
        tw.drain()
        tw.schedules.add(
            "nightly",
            schedule="0 2 * * *",
            timezone="Europe/Berlin",
            command="echo hi",
            params={"table": "orders"},
        )
        tw.blackouts.add("freeze", length="300d", jobs=["old-*"], reason="stocktaking")
        tw.calendars.put("office", weekdays=["MON-FRI"])
        filled.runs["nightly"] = tw.schedules.trigger("nightly", by="ada").id
    asyncio.run(_let_in(filled.url))
    return filled


async def _let_in(url: str) -> None:
    """A viewer named ci comes in with the token `secret`."""
    store = open_store(url)
    await store.access.issue(Token("id-of-ci", "ci", AccessRole.VIEWER), digest("secret"))
    await store.close()


class Recording(InProcessTransport):
    """The API in this process, remembered: what it answered to the last request of each kind."""

    answers: dict[tuple[str, str], Any]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await super().handle_async_request(request)
        body = await answer.aread()
        await answer.aclose()
        self.answers[request.method, request.url.path.removeprefix("/api/v1")] = json.loads(body or b"null")
        return httpx2.Response(answer.status_code, headers=answer.headers, content=body)


@contextmanager
def live(url: str, *, local: bool = False, clock: Callable[[], int] | None = None) -> Iterator[tuple[str, str]]:
    """A server over a store on a free port, `local`: also on a unix socket; its address, and an admin's."""
    started: Future[tuple[str, str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        async with AsyncTickwise(url, clock=clock) as tickwise:
            listener, stop = listen("127.0.0.1", 0), asyncio.Event()
            token, _ = await load_auth(await tickwise.store(), tickwise.settings)
            port = listener.getsockname()[1]
            with local_listener(tickwise.settings, port) if local else nullcontext() as unix:
                async with serve_api(tickwise, listener, lambda: READY, unix):
                    where = server_address(tickwise.settings, port)
                    started.set_result((where, token.read_text().strip(), asyncio.get_running_loop(), stop))
                    await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if not started.done():
                started.set_exception(error)
            raise

    thread = threading.Thread(target=run)
    thread.start()
    where, token, loop, stop = started.result(PATIENCE)
    try:
        yield where, token
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


class Terminal:
    """A command at a terminal of its own: what it shows, and keys for it."""

    def __init__(self, folder: Path, *arguments: str, columns: int = 120) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (40, columns))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TICKWISE_")}
        environment = {**kept, "TERM": "xterm-256color", "COLUMNS": str(columns)}
        self._process = subprocess.Popen(
            [*PROGRAM, *arguments], cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.shown = ""

    def until(self, text: str) -> None:
        """Wait until it has shown this."""
        while text not in self.shown:
            assert self._read(), f"it ended without {text!r}, and showed:\n{self.shown}"

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Wait until it has ended; its exit code."""
        while self._read():
            pass
        os.close(self._master)
        return self._process.wait(PATIENCE)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        if not ready:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"nothing more came, after:\n{self.shown}")
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # the other end is closed
            return False
        self.shown += data.decode()
        return bool(data)
