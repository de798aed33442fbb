"""The fleet: nodes and what they serve, the fleet's limits on queues, and the pause of everything."""

import json
from dataclasses import fields, replace
from typing import Any

from ...core.model import Pause
from ..job_document import present
from ..records import Node, PauseInterval, QueueLimit, Role
from .base import RedisServer
from .lease import offers_by_digest

_TUPLES = frozenset({"queues", "roles", "problems", "sources", "orphans", "undelivered", "set_back"})
_KNOWN = frozenset(field.name for field in fields(Node)) - {"offers"}
_SEEN = ("started_at", "seen_at", "passed_at")


async def leave(server: RedisServer, node: str) -> None:
    await server.call("fleet", leave=node)


async def skip_run_numbers(server: RedisServer) -> int:
    first = await server.now() // 1_000
    await server.call("fleet", numbers_from=first)
    return first


async def limit(server: RedisServer, wanted: QueueLimit) -> None:
    """Begin with a full bucket; a limit of nothing is none."""
    given = present({"concurrency": wanted.concurrency, "rate": wanted.starts_per_second})
    await server.call("fleet", limit=wanted.queue, **given)


async def pause_queue(server: RedisServer, queue: str, wanted: Pause | None) -> None:
    given = present({"by": wanted.by, "reason": wanted.reason, "until": wanted.until}) if wanted else {}
    await server.call("fleet", limit=queue, pauses=given)


async def pause(server: RedisServer, wanted: Pause | None) -> None:
    given: dict[str, Any] = {"resume": True}
    if wanted:
        given = {"pause": present({"by": wanted.by, "reason": wanted.reason, "until": wanted.until})}
    await server.call("fleet", **given)


async def end_pause(server: RedisServer) -> bool:
    return bool((await server.call("fleet", resume_at_its_end=True)).get("ended"))


async def nodes(server: RedisServer) -> tuple[Node, ...]:
    """All nodes of the last day, with what their workers offer."""
    found = await server.call("nodes")
    offers = await offers_by_digest(server, {node["serves"].split(" ")[0] for node in found if node["serves"]})
    rows = []
    for each in found:
        document = json.loads(each["doc"])
        known = {name: tuple(v) if name in _TUPLES else v for name, v in document.items() if name in _KNOWN}
        roles = tuple(role for role in Role if role in document["roles"])  # a newer version may know others
        seen = {name: int(each[name]) for name in _SEEN if name in each}
        node = Node(**{**known, **seen, "id": each["id"], "roles": roles})
        rows.append(replace(node, offers=offers[each["serves"].split(" ")[0]]) if each["serves"] else node)
    return tuple(sorted(rows, key=lambda node: node.id))


async def limits(server: RedisServer) -> tuple[QueueLimit, ...]:
    found = await server.call("limits")
    rows = (
        QueueLimit(
            queue,
            int(limit["concurrency"]) if "concurrency" in limit else None,
            float(limit["rate"]) if "rate" in limit else None,
            _pause_of(limit),
        )
        for queue, limit in found.items()
    )
    return tuple(sorted(rows, key=lambda limit: limit.queue))


def _pause_of(limit: dict[str, str]) -> Pause | None:
    if "paused_at" not in limit:
        return None
    until = int(limit["resumes_at"]) if "resumes_at" in limit else None
    return Pause(int(limit["paused_at"]), limit["paused_by"], limit["pause_reason"], until)


async def pauses(server: RedisServer) -> tuple[PauseInterval, ...]:
    """Newest first."""
    found = await server.call("pauses")
    rows = [PauseInterval(int(at), by, reason, int(until)) for at, by, reason, until in found["ended"]]
    if found["open"]:
        at, by, reason, *resumes_at = found["open"]
        rows.append(PauseInterval(int(at), by, reason, None, int(resumes_at[0]) if resumes_at else None))
    return tuple(reversed(rows))
