"""What the tests of several parts share."""

import sys
from pathlib import Path

import pytest

_PROGRAM = """
import asyncio, os, sys

sys.path.insert(0, os.getcwd())
from programs.protocol import serve


class Peer:
    async def prepare(self): ...

    async def work(self): ...

    async def done(self):
        return int(sys.argv[-1])


asyncio.run(serve(Peer()))
"""


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program in the place of the peers' interpreter: it serves turns as a peer does, and says all is done."""
    program = tmp_path_factory.mktemp("peers") / "python"
    program.write_text(f"#!{sys.executable}\n{_PROGRAM}", "utf-8")
    program.chmod(0o755)
    return program
