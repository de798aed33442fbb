"""Values that are never shown are in no log, error or result either (B8)."""

import asyncio
import logging
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tickwise import AsyncTickwise, Snooze

from ..support.app import patiently

SECRET = "hunter2-hunter3"  # noqa: S105  (nobody's)
HIDDEN: dict[str, Any] = {"env": {"DB_CREDENTIAL": SECRET}}
IN_PIECES = (
    "import os, sys; s = os.environ['DB_CREDENTIAL']\n"
    "for letter in s: sys.stdout.write(letter); sys.stdout.flush()\n"
    "print(); print('x' * 4090 + s + 'y', file=sys.stderr); sys.exit(3)"
)


def leak(password: str, fails: bool) -> dict[str, Any]:
    sys.stdout.write(f"as {password[:5]}")
    sys.stdout.write(password[5:] + "\n")
    logging.getLogger("leak").warning("with %s", {"it": password})
    if fails:
        raise ValueError("x" * 16_370 + password * 3_000)
    return {"token": password, password: [f"<{password}>"]}


async def leak_async(password: str, fails: bool) -> dict[str, Any]:
    return leak(password, fails)


async def leak_with_run(password: str, fails: bool, run: Any) -> dict[str, Any]:
    run.log(f"as {password}")
    return leak(password, fails)


FUNCTIONS: list[tuple[Any, Any]] = [
    (leak, "thread"),
    (leak_async, "thread"),
    (leak_with_run, "thread"),
    (leak, "process"),
]
ACTIONS: list[dict[str, Any]] = [
    {"command": [sys.executable, "-c", IN_PIECES]},
    {"script": f"#!{sys.executable}\n{IN_PIECES}"},
    {"script": "for i in 1 2 3; do echo $i$DB_CREDENTIAL; done; echo $DB_CREDENTIAL >&2; exit 1"},
    {"python": "tests.app.test_hidden_values:from_environment"},
    {"command": "true", "preconditions": [{"command": "printenv DB_CREDENTIAL", "expected": "no"}]},
    {"command": "false", "on": {"failure": "printenv DB_CREDENTIAL TICKWISE_ERROR"}},
]


def from_environment() -> None:
    print(os.environ["DB_CREDENTIAL"])
    raise ValueError(os.environ["DB_CREDENTIAL"])


async def _kept(app: AsyncTickwise, run: str) -> str:
    """All that is kept of a run, as one text."""
    store = await app.store()
    log = await store.insights.log(run, limit=1_000)
    return repr((await store.insights.run(run), await store.insights.steps(run), log.items))


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(("function", "pool"), FUNCTIONS)
@patiently
async def test_functions(app: AsyncTickwise, function: Any, pool: Any, fails: bool) -> None:
    """In a thread, on the loop, with the run and in a process: the param's value is kept nowhere."""
    app.job(pool=pool)(function)
    run = await app.enqueue(function, {"password": SECRET, "fails": fails})
    await app.drain()
    ended = await app.runs.get(run.id)
    assert str(ended.state) == ("failed" if fails else "succeeded")
    assert fails or ended.result == {"token": "(hidden)", "(hidden)": ["<(hidden)>"]}
    kept = (await _kept(app, run.id)).replace(f"'password': '{SECRET}'", "")  # the param itself
    assert "hunter" not in kept
    assert "as (hidden)" in kept
    await app.close()


@patiently
async def test_signals(app: AsyncTickwise) -> None:
    """The reason of a signal is kept as an error."""

    @app.job()
    def wait(password: str) -> Snooze:
        return Snooze(60, f"{password} is locked")

    run = await app.enqueue(wait, {"password": SECRET})
    await app.drain()
    assert "(hidden) is locked" in await _kept(app, run.id)
    await app.close()


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: next(iter(action)))
@patiently
async def test_programs(app: AsyncTickwise, action: dict[str, Any]) -> None:
    """Whatever a program prints, letter by letter too, and however its error is cut."""
    await app.schedules.add("job", schedule="@yearly", **HIDDEN, **action)
    run = await app.enqueue("job")
    await app.drain()
    kept = await _kept(app, run.id)
    assert "hunter" not in kept
    assert "(hidden)" in kept
    await app.close()


@patiently
async def test_requests() -> None:
    """A server that answers with what it was sent: headers, bodies and keys of the address."""
    async with echo() as url, AsyncTickwise("memory://", addresses="loopback") as app:
        request = {
            "url": f"{url}/?api_key={SECRET}&page=17", "method": "POST",
            "headers": {"Authorization": f"Bearer {SECRET}", "Content-Type": "text/plain"},
            "body": f'{{"user": "ada", "password": "{SECRET}"}}',
        }  # fmt: skip
        await app.schedules.add("job", schedule="@yearly", http=request)
        run = await app.enqueue("job")
        await app.drain()
        kept = await _kept(app, run.id)
        assert "hunter" not in kept
        assert all(shown in kept for shown in ("page=17", "text/plain"))


@patiently
async def test_what_is_not_secret_stays(app: AsyncTickwise) -> None:
    """A reference to a param is as secret as the param; short values and ordinary variables are left."""
    await app.schedules.add(
        "job",
        schedule="@yearly",
        params={"table": "orders"},
        env={"TABLE": "${params.table}", "DSN": "db/${params.table}", "MODE": "on", "TZ": "Europe/Berlin"},
        script="echo $TABLE; echo $DSN; echo $MODE; echo $TZ",
    )
    run = await app.enqueue("job")
    await app.drain()
    log = await (await app.store()).insights.log(run.id, limit=10)
    assert [part.text for part in log.items] == ["orders\n", "(hidden)\n", "on\n", "Europe/Berlin\n"]
    await app.close()


@patiently
async def test_secrets_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password of the program itself, or of the settings, does not reach the store either."""
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("PWD", "/srv/jobs")
    async with AsyncTickwise("memory://", notify_secret="swordfish-2") as app:  # noqa: S106

        @app.job()
        async def show() -> str:
            return f"{os.environ['PGPASSWORD']} swordfish-2 {os.environ['PWD']}"

        run = await app.enqueue(show)
        await app.drain()
        assert (await app.runs.get(run.id)).result == "(hidden) (hidden) /srv/jobs"


@patiently
async def test_a_result_that_grows_too_large(app: AsyncTickwise) -> None:
    """Masks may be longer than what they hide: a result that no longer fits is not kept, and that is said."""

    @app.job()
    def grow(token: str) -> str:
        return token * 200_000

    run = await app.enqueue(grow, {"token": "1b3d"})
    await app.drain()
    ended = await app.runs.get(run.id)
    assert (str(ended.state), ended.result) == ("succeeded", None)
    assert "no result is kept" in ended.error
    await app.close()


@asynccontextmanager
async def echo() -> AsyncIterator[str]:
    """A server that answers every request with what it was sent, as a failure."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
        body = await reader.readexactly(int(length))
        writer.write(b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\n" + head + body)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
