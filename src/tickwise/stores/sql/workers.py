"""The live workers, and the jobs whose slots are held until one of them may execute these (S47).

What a worker offers may be long, and most workers of a fleet offer the same. So a pass reads digests, and the text
of each digest once in the life of a process.

A pass that has seen no worker for a job may commit the hold after a worker has come alive. So each looks again
after its commit, in a transaction of its own: the node of the worker for jobs that are held, the pass for workers.
One of them sees what the other has committed, and wakes the job.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from ...core.requirements import NOTHING, LiveWorkers, Offers
from ..records import MICRO, Node
from .definitions import DefinitionCache
from .finish import WAKE_JOBS
from .fleet import clock, node_records
from .jobs import JOBS
from .statement import NOTIFY, Procedure, Statement

_HELD = Statement(f"SELECT j.id, j.queue, j.requires FROM {JOBS} WHERE a.held = TRUE AND a.wake_at > :second")
_SERVING = Statement("SELECT DISTINCT serves FROM tickwise_nodes WHERE worker AND live_until > :now ORDER BY 1")
_OFFERS = Statement("""
    SELECT serves, min(offers) FROM tickwise_nodes WHERE serves IN :serves[text] GROUP BY serves
""")


def live_workers(cache: DefinitionCache, serves: Collection[str]) -> Procedure[LiveWorkers]:
    """The workers by what their rows say that they serve: the digest of what they offer, and their queues."""
    known, workers = cache.live_workers
    if known != serves:
        offers = yield from _read_offers(cache, serves)
        workers = LiveWorkers((each.split()[1:], offers.get(_digest(each), NOTHING)) for each in serves)
        cache.offers = offers
        if offers.keys() == set(map(_digest, serves)):  # else one has gone meanwhile
            cache.live_workers = serves, workers
    return workers


def _read_offers(cache: DefinitionCache, serves: Iterable[str]) -> Procedure[dict[str, Offers]]:
    """What is offered, by digest."""
    serves = set(serves)
    found = {digest: cache.offers[digest] for digest in map(_digest, serves) if digest in cache.offers}
    if missing := sorted(each for each in serves if _digest(each) not in found):
        rows = yield _OFFERS(serves=missing)
        found |= {_digest(each): Offers.from_text(text) for each, text in rows}
    return found


def _digest(serves: str) -> str:
    return serves.partition(" ")[0]


def nodes(cache: DefinitionCache) -> Procedure[tuple[Node, ...]]:
    """All nodes of the last day, with what their workers offer."""
    records = yield from node_records()
    offers = yield from _read_offers(cache, {record.serves for record in records if record.serves})
    return tuple(
        replace(node, offers=offers.get(_digest(serves), NOTHING)) if serves else node for node, serves in records
    )


def wake_held(cache: DefinitionCache) -> Procedure[None]:
    """Let passes look at once at jobs whose slots are held although a live worker may execute them by now."""
    now = yield from clock()
    held = yield _HELD(second=now // MICRO)
    if not held:
        return
    workers = yield from live_workers(cache, [row[0] for row in (yield _SERVING(now=now))])
    served = [job for job, queue, requires in held if not workers.missing(queue, requires)]
    if served:
        yield WAKE_JOBS(ids=sorted(served), second=now // MICRO)
        yield NOTIFY
