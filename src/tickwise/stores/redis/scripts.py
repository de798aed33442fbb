"""The Lua scripts, each a move or a read: its own file in `lua/`, behind the parts that all of them share.

A script runs alone on the server from its first command to its last, so others see all of it or nothing. It
works on a bounded number of runs and jobs, because nobody else is served meanwhile.
"""

from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import NamedTuple

_SHARED = ("base", "runs", "jobs", "queues")


class LuaScript(NamedTuple):
    """The text of a script, and the name by which a server knows it once it was sent."""

    text: str
    sha: str


@cache
def script(name: str) -> LuaScript:
    """The script of a name: `lua/NAME.lua`."""
    text = "\n".join(_read_part(part) for part in (*_SHARED, name))
    return LuaScript(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


@cache
def _read_part(name: str) -> str:
    return files(__package__).joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
