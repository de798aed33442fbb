"""Leases: workers take runs, report on them and renew them; nodes say that they live.

Which runs a worker may execute is decided inside the script, by what it offers. A server that does not know
these offers yet, or not any more, says so; then they are written, and the script is run again.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ...core.requirements import NOTHING, LiveWorkers, Offers
from ...core.states import RunState
from ..job_document import Document, present
from ..records import LOG_HEAD, LOG_TAIL, Lease, LeaseRequest, LogPart, Node, Renewed, Role, StepReport
from .base import RedisServer
from .finish import readable_leases
from .runs import read_runs, run_of

_OWN_FIELDS = frozenset({"id", "offers", "started_at", "seen_at", "passed_at"})
_FACTS = tuple(field.name for field in fields(Node) if field.name not in _OWN_FIELDS)


def offers_key(server: RedisServer, offers: Offers) -> str:
    return server.key("offers", offers.digest)


async def call_with_offers(server: RedisServer, script: str, wanted: Offers, /, **given: Any) -> Any:
    """Run a script that needs to know what a worker offers."""
    while True:
        answer = await server.call(script, **given)
        if "unknown_offers" not in answer:
            return answer
        words = ["", *sorted(wanted.words)]  # a set that is empty would not be there
        await server.call("offers", offers=offers_key(server, wanted), words=words)


def request_of(server: RedisServer, wanted: LeaseRequest) -> Document:
    """A request as scripts read it."""
    return {
        "node": wanted.node, "capacity": wanted.capacity, "queues": list(wanted.queues),
        "offers": offers_key(server, wanted.offers), "seconds": wanted.seconds,
    }  # fmt: skip


async def lease(server: RedisServer, wanted: LeaseRequest) -> tuple[Lease, ...]:
    """Queue by queue, in the order given, until the worker has enough."""
    answer = await call_with_offers(server, "lease", wanted.offers, **request_of(server, wanted))
    return await readable_leases(server, [run_of(run) for run in answer["leases"]])


async def attempt(server: RedisServer, run: int) -> Lease | None:
    running = [found for found in await read_runs(server, [run]) if found["state"] == RunState.RUNNING]
    leases = await readable_leases(server, running)
    return leases[0] if leases else None


async def report(
    server: RedisServer, run: int, token: str, steps: Sequence[StepReport], log: Sequence[LogPart]
) -> bool:
    """False, and nothing kept, if the token is old (S42)."""
    parts = [{**part._asdict(), "size": len(part.text)} for part in log]
    reports = [{"name": step.name, "report": _step_text(step)} for step in steps]
    kept: bool = await server.call(
        "report", run=run, token=token, steps=reports, log=parts, head=LOG_HEAD, tail=LOG_TAIL
    )
    return kept


async def answer_step(server: RedisServer, run: int, given: StepReport) -> bool:
    kept: bool = await server.call("answer_step", run=run, name=given.name, report=_step_text(given))
    return kept


def _step_text(step: StepReport) -> str:
    return json.dumps(present(step._asdict()))


async def beat(server: RedisServer, node: Node, held: Mapping[int, str], lease: int, *, passed: bool) -> Renewed:
    """Record that a node lives, renew its leases, and wake jobs that have waited for a worker like it (S47)."""
    serves = f"{node.offers.digest} {','.join(node.queues)}" if Role.WORKER in node.roles else ""
    answer = await call_with_offers(
        server, "beat", node.offers, id=node.id, doc=json.dumps({name: getattr(node, name) for name in _FACTS}),
        seconds=node.seconds, serves=serves, offers=offers_key(server, node.offers), passed=passed,
        held={str(run): token for run, token in held.items()}, lease=lease,
    )  # fmt: skip
    if answer["held_jobs"]:
        await _wake_held(server, answer)
    return Renewed(
        frozenset(answer["held"]),
        frozenset(answer["cancelling"]),
        await readable_leases(server, sorted(map(run_of, answer["unknown"]), key=lambda run: int(run["_id"]))),
        seen_at=answer["now"],
        seen_before=answer["seen_before"],
    )


async def _wake_held(server: RedisServer, answer: Document) -> None:
    """Let passes look at jobs whose slots are held although a live worker may execute them by now."""
    workers = await live_workers(server, answer["workers"])
    served = [job for job, wants in answer["held_jobs"].items() if not workers.missing(*wants.split(" ", 1))]
    if served:
        await server.call("wake", names=served)


async def live_workers(server: RedisServer, members: Sequence[str]) -> LiveWorkers:
    """From `NODE DIGEST QUEUE,QUEUE`; what they offer is read once of each digest, as most offer the same."""
    if server.workers[0] != members:
        split = [member.rsplit(" ", 2) for member in members]
        offers = await offers_by_digest(server, {digest for _, digest, _ in split})
        found = [(queues.split(","), offers[digest]) for _, digest, queues in split]
        server.workers = list(members), LiveWorkers(found)
    return server.workers[1]


async def offers_by_digest(server: RedisServer, digests: Iterable[str]) -> dict[str, Offers]:
    wanted = set(digests)
    server.offers = {digest: offers for digest, offers in server.offers.items() if digest in wanted}
    for digest in wanted - server.offers.keys():
        if words := await server.command("SMEMBERS", server.key("offers", digest)):
            server.offers[digest] = Offers(word for word in words if word)
    return {digest: server.offers.get(digest, NOTHING) for digest in wanted}
