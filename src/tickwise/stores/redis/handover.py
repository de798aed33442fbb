"""Hand-overs of attempts to engines: the record is a field of the run, and a script changes it as it was read.

The script answers what is there instead, so a race that is lost costs one more call. The lease of a handed-over
run is its watcher's. When that has run out, another watcher adopts the run; attempt and token stay as they are
(S54). A new attempt begins without the record.
"""

from ...core.handover import HandOver, HandOverChange, changed
from ..records import MICRO, Lease, LeaseRequest
from .base import RedisServer
from .finish import readable_leases
from .lease import call_with_offers, request_of
from .runs import run_of


async def hand_over(server: RedisServer, run: int, token: str, change: HandOverChange) -> HandOver | None:
    found = await server.call("hand_over", run=run, token=token)
    while found:
        before = HandOver.from_text(found["before"]) if found["before"] else None
        record = changed(before, change, int(found["now"]), cancelling=found["cancelling"])
        if record is None or record == before:
            return record
        found = await server.call(
            "hand_over", run=run, token=token, before=found["before"], cancelling=found["cancelling"],
            record=record.text, patience=record.patience * MICRO,
        )  # fmt: skip
        if "changed" in found:
            return record
    return None


async def adopt(server: RedisServer, wanted: LeaseRequest) -> tuple[Lease, ...]:
    answer = await call_with_offers(server, "adopt", wanted.offers, **request_of(server, wanted))
    return await readable_leases(server, [run_of(run) for run in answer["leases"]])
