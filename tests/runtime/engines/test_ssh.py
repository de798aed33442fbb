"""Another machine by ssh passes the suite of engines, over a real sshd (S52-S56)."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest

from tickwise.core.definition import Script, Step
from tickwise.core.handover import Sight, Sighting
from tickwise.core.settle import Failed
from tickwise.core.states import RunState
from tickwise.runtime.engines.contract import Engine, EngineUnavailableError, Order, OrderRefusedError
from tickwise.runtime.engines.ssh import SshEngine
from tickwise.testing.engines import EngineConformance, until

from ...support.app import patiently
from ...support.engines.program import install_stub
from ...support.handed_over import handed, served
from ...support.servers import sshd
from ...support.servers.process import Server

HOSTILE = 'it\'s "$HOME" `id` $(id) \\ ; & | > /tmp/x * ~ #! é☃ -- -rf'


class Machine:
    """The other machine, which can be cut off."""

    def __init__(self, server: Server, stack: ExitStack) -> None:
        self.server = server
        self._stack = stack

    @property
    def user(self) -> str:
        return str(sshd.settings(self.server)["user"])

    def cut(self) -> None:
        sshd.cut(self.server)

    def mend(self) -> None:
        self.server = self._stack.enter_context(sshd.mended(self.server))


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with ExitStack() as stack:
        yield Machine(stack.enter_context(sshd.server()), stack)


class TestSsh(EngineConformance):
    engine: ClassVar[type[Engine]] = SshEngine
    keeps_output = True
    wrong_settings = (
        ({}, "needs host"),
        ({"hots": "box"}, "did you mean host"),
        ({"host": "-oProxyCommand=touch /tmp/x"}, "host must be one word"),
        ({"host": "a b"}, "host must be one word"),
        ({"host": "a", "user": "-x"}, "user must be one word"),
        ({"host": "a", "port": 0}, "port must be a number from 1"),
        ({"host": "a", "port": "22"}, "port must be a whole number"),
        ({"host": "a", "options": "ProxyJump=b"}, "options must be a list"),
        ({"host": "a", "options": ["-v"]}, "options must be options of ssh_config"),
        ({"host": "a", "command": []}, "command must be a list of words"),
        ({"host": "a", "folder": ""}, "folder must be a text"),
    )

    @pytest.fixture(autouse=True)
    def at(self, machine: Machine, tmp_path: Path) -> None:
        self.machine = machine
        (tmp_path / "bin").mkdir()
        stub = install_stub(tmp_path / "bin") / "tickwise"
        folder = tmp_path / "it's $(the) folder"
        folder.mkdir()
        self.settings = {
            **sshd.settings(machine.server), "folder": str(folder), "command": [str(stub), "exec"],
        }  # fmt: skip

    async def cut(self) -> None:
        self.machine.cut()

    async def mend(self) -> None:
        self.machine.mend()


def engine_of(machine: Machine, folder: Path, *command: str) -> SshEngine:
    given = {"folder": str(folder), "command": command}
    return SshEngine.from_settings("box", {**sshd.settings(machine.server), **given})


def order(reference: str = "7.1", fingerprint: str = "print", **environment: str) -> Order:
    return Order(reference, fingerprint, "a", environment)


def played(engine: SshEngine, story: Callable[[SshEngine], Awaitable[None]]) -> None:
    async def play() -> None:
        try:
            async with asyncio.timeout(60):
                await story(engine)
        finally:
            await engine.close()

    asyncio.run(play())


def test_what_varies_is_quoted(machine: Machine, tmp_path: Path) -> None:
    """Variables and words arrive as they are, whatever they hold, and none is on a command line but the words."""
    program = (
        'printf "%s|%s" "$TICKWISE_TICKET" "$1"; cat /proc/$PPID/cmdline /proc/$$/cmdline | grep -ac "SECR[E]T"'
    )

    async def story(engine: SshEngine) -> None:
        await engine.submit(order(TICKWISE_TICKET=f"SECRET{HOSTILE}\t\n)\n"))
        await until(engine, "7.1", Sight.ENDED)
        assert (await engine.log("7.1")).text == f"SECRET{HOSTILE}\t\n)\n|{HOSTILE}0\n"

    played(engine_of(machine, tmp_path, "sh", "-c", program, "sh", HOSTILE), story)


@pytest.mark.parametrize("reference", ["../7.1", ".", "", "a/b", "-rf", "x" * 101, "a\nb", "$(id)", ".hidden"])
def test_a_reference_stays_in_its_folder(machine: Machine, tmp_path: Path, reference: str) -> None:
    """It names a folder on the other side, so it can be nothing else."""

    async def story(engine: SshEngine) -> None:
        for operation in (engine.cancel, engine.kill, engine.forget, engine.log):
            with pytest.raises(OrderRefusedError, match="no reference"):
                await operation(reference)
        with pytest.raises(OrderRefusedError, match="no reference"):
            await engine.submit(order(reference))
        assert await engine.look([reference]) == {}

    played(engine_of(machine, tmp_path, "true"), story)


@pytest.mark.parametrize("given", [{"A B": "x"}, {"A=B": "x"}, {"": "x"}, {"A": "x\0y"}])
def test_a_variable_that_no_shell_takes_is_refused(
    machine: Machine, tmp_path: Path, given: Mapping[str, str]
) -> None:
    """Before anything is started."""

    async def story(engine: SshEngine) -> None:
        with pytest.raises(OrderRefusedError):
            await engine.submit(order(**given))
        assert (await engine.look(["7.1"]))["7.1"].sight is Sight.UNKNOWN

    played(engine_of(machine, tmp_path, "true"), story)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (("sh", "-c", "echo first; echo no luck >&2; exit 3"), "exit code 3\nfirst\nno luck"),
        (("no-such-program",), "exit code 127"),
    ],
)
def test_a_program_that_fails_says_why(
    machine: Machine, tmp_path: Path, command: tuple[str, ...], error: str
) -> None:
    """The look has its exit code and the end of what it printed, such as that there is no tickwise."""

    async def story(engine: SshEngine) -> None:
        await engine.submit(order())
        seen = await until(engine, "7.1", Sight.ENDED)
        assert (seen.outcome, error in seen.error) == (Failed(), True), seen.error
        assert seen.address.endswith("/.tickwise/attempts/7.1")

    played(engine_of(machine, tmp_path, *command), story)


def test_a_number_that_is_used_again_is_another_process(machine: Machine, tmp_path: Path) -> None:
    """After a restart of its machine a stranger may have the number: it is neither seen nor killed."""

    async def story(engine: SshEngine) -> None:
        stranger = psutil.Popen(["sleep", "600"], start_new_session=True)
        try:
            folder = tmp_path / ".tickwise" / "attempts" / "7.1"
            folder.mkdir(parents=True)
            (folder / "output").touch()
            (folder / "start").write_text(f"{stranger.pid}\n1\nprint\norder\n")
            seen = (await engine.look(["7.1"]))["7.1"]
            assert (seen.sight, seen.outcome) == (Sight.ENDED, Failed())
            assert "its machine restarted" in seen.error
            await engine.kill("7.1")
            assert stranger.is_running()
            assert stranger.status() != psutil.STATUS_ZOMBIE
        finally:
            stranger.kill()
            stranger.wait()

    played(engine_of(machine, tmp_path, "true"), story)


def test_a_start_that_was_interrupted_is_made_again(machine: Machine, tmp_path: Path) -> None:
    """A folder without a process waits for a moment; after a minute it counts as nothing (S52)."""

    async def story(engine: SshEngine) -> None:
        folder = tmp_path / ".tickwise" / "attempts" / "7.1"
        folder.mkdir(parents=True)
        assert (await engine.look(["7.1"]))["7.1"].sight is Sight.WAITING
        os.utime(folder, (1_000_000_000, 1_000_000_000))
        assert (await engine.look(["7.1"]))["7.1"].sight is Sight.UNKNOWN
        assert not (await engine.submit(order())).existed
        await until(engine, "7.1", Sight.ENDED)

    played(engine_of(machine, tmp_path, "true"), story)


def test_work_keeps_the_users_mask_and_its_folder_is_private(machine: Machine, tmp_path: Path) -> None:
    """Others on that machine read neither output nor order; files of the work are as they would be without us."""

    async def story(engine: SshEngine) -> None:
        await engine.submit(order())
        await until(engine, "7.1", Sight.ENDED)
        assert (await engine.log("7.1")).text != "0077\n"
        folder = tmp_path / ".tickwise" / "attempts"
        assert {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))} == {0}

    played(engine_of(machine, tmp_path, "sh", "-c", "umask"), story)


def test_a_long_log_comes_in_chunks(machine: Machine, tmp_path: Path) -> None:
    """A character that a chunk would halve is in the next."""

    async def story(engine: SshEngine) -> None:
        await engine.submit(order())
        await until(engine, "7.1", Sight.ENDED)
        pieces, cursor = [], ""
        while (chunk := await engine.log("7.1", cursor)).text:
            pieces.append(chunk.text)
            cursor = chunk.cursor
        assert len(pieces) == 3
        assert "".join(pieces) == "x" + "☃" * 200_000

    program = f"printf x; i=0; while [ $i -lt 2000 ]; do printf %s {'☃' * 100}; i=$((i+1)); done"
    played(engine_of(machine, tmp_path, "sh", "-c", program), story)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"options": ["UserKnownHostsFile=/dev/null"]}, "Host key verification failed"),
        ({"identity": "/dev/null"}, "Permission denied"),
        ({"port": 1}, "Connection refused"),
        ({"folder": "no/such/place"}, "no/such/place"),
    ],
)
def test_why_it_cannot_be_reached_is_told(machine: Machine, settings: dict[str, Any], word: str) -> None:
    """What ssh says, or the other side; nobody is asked for a password."""

    async def story(engine: SshEngine) -> None:
        with pytest.raises(EngineUnavailableError, match=word) as refused:
            await engine.look(["7.1"])
        assert "box" in str(refused.value)

    played(SshEngine.from_settings("box", {**sshd.settings(machine.server), **settings}), story)


def test_without_the_program_ssh_it_is_told(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the name of what is missing."""

    async def story(engine: SshEngine) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(EngineUnavailableError, match="needs the program ssh"):
            await engine.look(["7.1"])

    played(engine_of(machine, tmp_path, "true"), story)


@patiently
async def test_an_attempt_is_executed_on_the_other_machine(machine: Machine, tmp_path: Path) -> None:
    """From the order to the end: `tickwise exec` asks the API, and a cancel reaches its programs (S53, S56)."""
    program = str(Path(sys.executable).parent / "tickwise")
    engine = engine_of(machine, tmp_path, program, "exec")
    try:
        async with served() as there:
            one = await handed(there.api, steps=(Step("one", Script("pwd; sleep 600")),))
            given = Order(one.reference, "print", "a", one.environment(there.address))
            await engine.submit(given)
            await there.wire.printed(one, str(tmp_path))
            assert (await engine.look([one.reference]))[one.reference].sight is Sight.RUNNING
            assert (await engine.submit(given)).existed
            await one.world.store.cancel(one.lease.id)
            await engine.cancel(one.reference)
            assert await until(engine, one.reference, Sight.ENDED) == Sighting(
                Sight.ENDED, address=f"{machine.user}@127.0.0.1:{tmp_path}/.tickwise/attempts/{one.reference}"
            )
            assert (await one.run()).state is RunState.CANCELLED
            assert there.wire.moves["begin"] == 1
    finally:
        await engine.close()
