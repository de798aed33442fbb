"""What another user could have written is not used: settings, stores, job files (B6)."""

import asyncio
import os
from pathlib import Path

import pytest

from tickwise import AsyncTickwise
from tickwise.config import load
from tickwise.core.errors import InputError
from tickwise.ownership import WriterCheck

from .support.ownership import SOMEBODY, TRUST, give_away


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_settings_of_another_user(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A settings file of another user is refused with both repairs; the environment can trust it by name (B6)."""
    (here / "tickwise.toml").write_text("concurrency = 3\nallow_commands = true\n")
    give_away(monkeypatch, here / "tickwise.toml")
    with pytest.raises(InputError, match=r"tickwise\.toml is not used: it belongs to another user") as caught:
        load(environ={})
    assert f"{TRUST}={here}/tickwise.toml" in str(caught.value)
    assert load(environ={TRUST: str(here)}).concurrency == 3
    assert load({"trusted_folders": [str(here / "tickwise.toml")]}, environ={}).concurrency == 3


def test_settings_that_trust_themselves(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another user cannot say that it is trusted (B6)."""
    (here / "tickwise.toml").write_text(f"trusted_folders = ['{here}']\n")
    give_away(monkeypatch, here / "tickwise.toml")
    with pytest.raises(InputError, match="belongs to another user"):
        load(environ={})


def test_a_link_of_another_user(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link is followed if it belongs to a trusted user, as in a config map; one of another user is not (B6)."""
    (here / "real.toml").write_text("concurrency = 3\n")
    (here / "tickwise.toml").symlink_to("real.toml")
    assert load(environ={}).concurrency == 3
    give_away(monkeypatch, here / "tickwise.toml")
    with pytest.raises(InputError, match="belongs to another user"):
        load(environ={})


@pytest.mark.parametrize(
    "planted", [".", "own.db", "own.db-wal", "own.db-journal", "own-logs.db", "own-logs.db-shm"]
)
def test_a_store_of_another_user(here: Path, planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An SQLite store is not opened if its folder or one of its files belongs to another user (B6)."""
    folder = here / "state"
    folder.mkdir()
    (folder / planted).touch()
    before = sorted(folder.iterdir())
    give_away(monkeypatch, folder / planted)
    url = f"sqlite:///{folder}/own.db"

    async def names(*trusted: str) -> list[str]:
        async with AsyncTickwise(url, trusted_folders=trusted) as tickwise:
            return await tickwise.jobs.list()

    with pytest.raises(InputError, match="is not used: it belongs to another user"):
        asyncio.run(names())
    if planted == ".":
        assert sorted(folder.iterdir()) == before
        assert asyncio.run(names(str(here / "state"))) == []


def test_a_store_in_a_folder_of_all(here: Path) -> None:
    """Where everybody may write, a store is opened only if nobody can replace its file: in /tmp (B6)."""

    async def names() -> list[str]:
        async with AsyncTickwise(f"sqlite:///{here}/shared/own.db") as tickwise:
            return await tickwise.jobs.list()

    (here / "shared").mkdir()
    (here / "shared").chmod(0o777)
    with pytest.raises(InputError, match="shared is not used: everybody may write it"):
        asyncio.run(names())
    (here / "shared").chmod(0o1777)
    assert asyncio.run(names()) == []


def test_jobs_of_another_user(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job folder of another user is a problem of its node, and runs where the settings trust it by name (B6)."""
    (here / "jobs").mkdir()
    (here / "jobs" / "a.yaml").write_text('schedule: "@daily"\ncommand: "true"\n')
    give_away(monkeypatch, here / "jobs" / "a.yaml")

    async def served(*trusted: str) -> tuple[list[str], tuple[str, ...]]:
        async with AsyncTickwise("memory://", trusted_folders=trusted) as tickwise:
            node = await tickwise.start("jobs")
            await node.settled()
            return await tickwise.jobs.list(), node.problems

    jobs, (problem,) = asyncio.run(served())
    assert jobs == []
    assert f"another user (number {SOMEBODY if os.getuid() == 0 else os.getuid()})" in problem
    assert asyncio.run(served("jobs")) == (["a"], ())


def test_a_link_that_is_not_followed(here: Path) -> None:
    """A file that is to be no link is not read through one, whoever made it (B6)."""
    (here / "secret").write_text("x")
    (here / "link").symlink_to("secret")
    assert WriterCheck().read(here / "secret", follow=False) == b"x"
    with pytest.raises(OSError, match="link"):
        WriterCheck().read(here / "link", follow=False)
