"""The lines of docs/rest.md, run by a shell with the real curl against a live server."""

import asyncio
import re
from pathlib import Path

import pytest

from tickwise.api.admin_token import admin_token
from tickwise.api.auth_settings import AuthSettings
from tickwise.api.server import listen, serve_app

from ..support.api import api
from ..support.app import patiently

TEXT = (Path(__file__).parents[2] / "docs" / "rest.md").read_text("utf-8")
SHOWN = "http://localhost:8484"
_AUTH = re.compile(r"^(AUTH=.*?)\s*(?:#.*)?$", re.MULTILINE)
_STATUS = re.compile(r"\s+# (\d{3})$")


def _commands() -> list[tuple[str, str]]:
    """Each command with the status that the page promises."""
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
    lines = re.sub(r"\\\n\s*", "", blocks).splitlines()
    found = [(line, _STATUS.search(line)) for line in lines if line.startswith("curl ")]
    return [(_STATUS.sub("", line), status[1]) for line, status in found if status]


async def _status(command: str, folder: Path) -> str:
    asked = command.replace("curl ", "curl -s -o /dev/null -w '%{http_code}' ", 1)
    auth = _AUTH.findall(TEXT)
    script = f"{auth[0]}\n{asked}"
    process = await asyncio.create_subprocess_shell(script, cwd=folder, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    return printed.decode()


@patiently
async def test_the_page_promises_what_happens(tmp_path: Path) -> None:
    """Every curl line of the page gets the status that stands behind it, in the order of the page."""
    commands = _commands()
    assert len(commands) == len(re.findall(r"^curl (?!--unix)", TEXT, re.MULTILINE)) > 20
    async with api(access=AuthSettings()) as here:
        await admin_token(await here.store(), tmp_path / ".tickwise")
        listener = listen("127.0.0.1", 0)
        address = f"http://localhost:{listener.getsockname()[1]}"
        async with serve_app(here.app, listener, here.tickwise.settings):
            for command, status in commands:
                assert await _status(command.replace(SHOWN, address), tmp_path) == status, command


@pytest.mark.parametrize("word", ["jobs", "workers", "queues", "templates", "reasons", "pause", "tokens", "audit"])
def test_the_page_names_every_resource(word: str) -> None:
    """What is not shown with a line is at least named."""
    assert f"`{word}`" in TEXT
