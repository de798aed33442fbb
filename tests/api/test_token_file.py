"""The admin token of this machine."""

import asyncio
import stat
from pathlib import Path

import pytest

from tickwise.api.admin_token import admin_token
from tickwise.api.token_file import FILE, state_folder
from tickwise.core.errors import InputError
from tickwise.stores.access_records import AccessRole

from ..support.api import api
from ..support.app import patiently


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("sqlite:///.tickwise/tickwise.db", ".tickwise"), ("sqlite:///data/my.db", "data/.tickwise"),
        ("sqlite:////srv/a%20b/my.db", "/srv/a b/.tickwise"), ("postgresql://host/db", ".tickwise"),
        ("memory://", ".tickwise"),
    ],
)  # fmt: skip
def test_the_token_lies_beside_the_store(url: str, folder: str) -> None:
    """In the private folder beside an SQLite file, else in the working folder."""
    assert state_folder(url) == Path(folder)


@patiently
async def test_the_first_start_makes_a_token_that_only_its_owner_reads(tmp_path: Path) -> None:
    """It opens everything, it is the same at the next start, and nobody else can read it."""
    folder = tmp_path / ".tickwise"
    async with api() as here:
        secret = await admin_token(await here.store(), folder)
        assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert await admin_token(await here.store(), folder) == secret
        assert (await here.get("/me", token=secret))["role"] == AccessRole.ADMIN
        assert len((await here.get("/tokens"))["items"]) == 1


@patiently
async def test_a_new_store_learns_the_token_and_a_revoked_one_is_replaced(tmp_path: Path) -> None:
    """The file goes with any store; what was revoked there never comes back."""
    async with api() as one:
        secret = await admin_token(await one.store(), tmp_path / "s")
    async with api() as other:
        assert await admin_token(await other.store(), tmp_path / "s") == secret
        (token,) = (await other.get("/tokens"))["items"]
        await other.ask("DELETE", f"/tokens/{token['id']}")
        fresh = await admin_token(await other.store(), tmp_path / "s")
        assert fresh != secret
        assert (await other.ask("GET", "/me", token=secret)).status_code == 401
        assert (await other.get("/me", token=fresh))["role"] == "admin"


@patiently
async def test_a_file_that_cannot_be_read_is_not_written_over(tmp_path: Path) -> None:
    """What is in the way is named, and how to get rid of it."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / FILE).write_bytes(b"\xff\xfe")
    async with api() as here:
        with pytest.raises(InputError, match="delete it for a new token"):
            await admin_token(await here.store(), folder)


@patiently
async def test_two_that_start_at_once_have_one_token(tmp_path: Path) -> None:
    """Who finds the file made meanwhile takes what is in it."""
    async with api() as one, api() as other:
        stores = [await one.store(), await other.store()]
        first, second = await asyncio.gather(*(admin_token(store, tmp_path / "s") for store in stores))
        assert first == second


@patiently
async def test_a_folder_that_others_write_to_is_refused(tmp_path: Path) -> None:
    """Who could put a token there would be an admin."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    async with api() as here:
        with pytest.raises(InputError, match="chmod o-w"):
            await admin_token(await here.store(), folder)
        assert (await here.get("/tokens"))["items"] == []


@pytest.mark.parametrize("plant", ["link", "group"])
@patiently
async def test_a_planted_token_is_refused(tmp_path: Path, plant: str) -> None:
    """A file that another user could have put there is not used, nor the file that a link leads to (B6)."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    if plant == "link":
        (tmp_path / "elsewhere").write_text("known to others")
        (folder / FILE).symlink_to(tmp_path / "elsewhere")
    else:
        (folder / FILE).write_text("known to others")
        (folder / FILE).chmod(0o666)
    async with api() as here:
        with pytest.raises(InputError):
            await admin_token(await here.store(), folder)
        assert (await here.ask("GET", "/me", token="known to others")).status_code == 401  # noqa: S106  (not one)
        assert (await here.get("/tokens"))["items"] == []
