"""What a server keeps of what it was told: said to people, and refused where it would drop data by itself.

`INFO` answers everywhere. `CONFIG` is refused by many managed servers: then a setting is not known.
"""

from typing import NamedTuple

from redis.exceptions import ResponseError

from ..schema_contract import Durability
from .base import RedisServer

OLDEST_SERVER = 7
_UNKNOWN = "not known"
_LOSSES = {  # by appendfsync
    "always": "",
    "everysec": "a crash of the server may lose about two seconds",
    "no": "a crash of its machine may lose what the kernel had not written, often half a minute",
}


class ServerSettings(NamedTuple):
    """The settings that matter, as the server says them."""

    version: int
    appendonly: str
    appendfsync: str
    policy: str

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the store cannot be used on this server."""
        found = []
        if self.version < OLDEST_SERVER:
            found.append(
                f"this server is version {self.version} of Redis: Tickwise needs {OLDEST_SERVER} or later"
            )
        if self.policy.startswith("allkeys"):
            found.append(
                f"the server evicts keys when its memory is full (maxmemory-policy {self.policy}), and would "
                "forget schedules and runs: set `maxmemory-policy noeviction`"
            )
        return tuple(found)

    @property
    def durability(self) -> Durability:
        settings = f"appendonly {self.appendonly}, appendfsync {self.appendfsync}, maxmemory-policy {self.policy}"
        if self.appendonly == "no":
            return Durability(settings, "a crash of the server loses everything since its last snapshot")
        unknown = "what a crash of the server may lose is not known: the server does not tell how it is set"
        return Durability(settings, _LOSSES.get(self.appendfsync, unknown))


async def server_settings(server: RedisServer) -> ServerSettings:
    """How the server is set."""
    said = dict(line.split(":", 1) for line in (await server.call("info")).splitlines() if ":" in line)
    version = said.get("valkey_version") or said.get("redis_version") or "0"
    appendonly = {"0": "no", "1": "yes"}.get(said.get("aof_enabled", ""), _UNKNOWN)
    return ServerSettings(
        int(version.partition(".")[0]),
        appendonly,
        "off" if appendonly == "no" else await _appendfsync(server),
        said.get("maxmemory_policy", _UNKNOWN),
    )


async def _appendfsync(server: RedisServer) -> str:
    try:
        found: dict[str, str] = await server.direct.config_get("appendfsync")
    except ResponseError:
        return _UNKNOWN
    return found.get("appendfsync", _UNKNOWN)
