"""The end of attempts: read, settled here, and written by a script if the run still is as it was read."""

from collections.abc import Sequence
from typing import NamedTuple

from ...core.payload import clip, encode
from ...core.settle import Failed, Outcome, Settled
from ...core.states import RunState
from ..job_document import Document, present
from ..records import MICRO, Expired, Finish, Lease
from ..run_document import lapse_of, settled
from ..validation import LONGEST_ERROR
from .base import RedisServer
from .runs import leases_of, read_runs, run_of

_BATCH_SIZE = 500


class AttemptEnding(NamedTuple):
    """An attempt that ended; but only if its token still holds the run, and it is given up if `lapsed`."""

    run: int
    token: str
    outcome: Outcome
    result: str | None = None
    error: str = ""
    lapsed: bool = False


async def finish(server: RedisServer, ended: Sequence[Finish]) -> tuple[Settled | None, ...]:
    """None stands for an old token (S42)."""
    endings = [
        AttemptEnding(
            int(one.run), one.token, one.outcome,
            None if one.result is None else encode(one.result, "the result"), one.error,
        )
        for one in ended
    ]  # fmt: skip
    found: list[Settled | None] = []
    for first in range(0, len(endings), _BATCH_SIZE):
        found += await end(server, endings[first : first + _BATCH_SIZE])
    return tuple(found)


async def end(server: RedisServer, endings: Sequence[AttemptEnding]) -> list[Settled | None]:
    """What became of the runs, in order; those that are not as they should be are left alone."""
    made: dict[int, Settled] = {}
    left = list(range(len(endings)))
    while left:
        runs = {run["_id"]: run for run in await read_runs(server, {endings[n].run for n in left})}
        left = [n for n in left if _is_held(runs.get(endings[n].run), endings[n].token)]
        if not left:
            break
        await server.cache.read(runs[endings[n].run]["definition"] for n in left)
        now = await server.now()
        decided = {n: settled(server.cache, runs[endings[n].run], endings[n].outcome, now) for n in left}
        orders = [_order(endings[n], runs[endings[n].run], decided[n]) for n in left]
        done = await server.call("finish", ended=orders)
        made |= {n: decided[n] for n, is_done in zip(left, done, strict=True) if is_done}
        left = [n for n, is_done in zip(left, done, strict=True) if not is_done and not endings[n].lapsed]
    return [made.get(n) for n in range(len(endings))]


def _is_held(run: Document | None, token: str) -> bool:
    """Whether it is this attempt that holds the run; an old one has nothing to say (S42)."""
    return run is not None and run["state"] == RunState.RUNNING and run.get("token") == token


def _order(ending: AttemptEnding, run: Document, to: Settled) -> Document:
    """What the script does if the run still is as it was read."""
    goes_to = {
        "state": str(to.state), "event": str(to.event), "failures": to.failures, "losses": to.losses,
        "due_at": None if to.not_before is None else to.not_before * MICRO, "result": ending.result,
        "error": clip(to.error or ending.error, LONGEST_ERROR),
    }  # fmt: skip
    return present({
        "run": ending.run, "token": ending.token, "cancelling": str(int(run["cancelling"])),
        "lapsed": ending.lapsed or None, "to": present(goes_to),
    })  # fmt: skip


async def expire(server: RedisServer) -> Expired:
    """Take back what vanished workers hold, and end what waited too long."""
    answer = await server.call("expire")
    lapsed = list[AttemptEnding]()
    for run in map(run_of, answer["lapsed"]):
        outcome, error = lapse_of(run)
        lapsed.append(AttemptEnding(run["_id"], run["token"], outcome, error=error, lapsed=True))
    ended = await end(server, lapsed)
    return Expired(sum(each is not None for each in ended), answer["waited"])


async def readable_leases(server: RedisServer, runs: Sequence[Document]) -> tuple[Lease, ...]:
    """Runs as their worker sees them. One whose definition cannot be read fails, and the others go on."""
    leases, unreadable = await leases_of(server, runs)
    if unreadable:
        await end(
            server, [AttemptEnding(run["_id"], run["token"], Failed(), error=why) for run, why in unreadable]
        )
    return leases
