"""The notifier tells people what went wrong, and when it is well again.

Every ticker's node has one, and all of them see the same: what went wrong in the hour before their start, and what
happens from then on. Who claims a notice first sends it, and leaves word of how that ended: `sent`, or `given up`
after so many tries. The others look again until there is such a word, so that a node that dies on the way is stood
in for, and who starts anew neither repeats what was told nor loses what happened meanwhile.

For a recovery they must know who has failed. They keep that in mind, and ask the store only about successes of
those.
"""

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...core.states import FAILURES, RunState
from ...log import get_logger
from ...stores.contract import Store
from ...stores.records import MICRO, DecisionRow, RunRow
from ..change_feed import OVERLAP, ChangeFeed
from .channels import Channel, UndeliveredError
from .history import LOOK_BACK, ended_like, job_of, read_history, recoveries
from .notice import MISSED, Notice, Occasion, about_run, about_slots, subject

_log = get_logger()
_EVERY = 2.0  # seconds
_BACK_OFF = (2, 8, 30, 60, 90)  # seconds after the first tries; there is one more
_HELD = 600  # seconds: longer than all tries take
_LOOK_AGAIN = 30 * MICRO  # whether who has claimed it has sent it
_AT_ONCE, _MOST_OPEN = 8, 1_000
_MOST_BROKEN = 10_000


@dataclass(slots=True)
class _Delivery:
    """A notice on its way by one channel."""

    notice: Notice
    channel: Channel
    try_at: int = 0  # microseconds
    tries: int = 0
    outcome: str = ""  # once it is over, and until the store knows

    @property
    def key(self) -> str:
        return f"{self.notice.key} {self.channel.name}"


class Notifier:
    """One node's; `mark` is the node's id."""

    def __init__(
        self, store: Store, mark: str, channels: Sequence[Channel], occasions: Collection[Occasion]
    ) -> None:
        self._store = store
        self._mark = mark
        self._channels = channels
        self._occasions = occasions
        self._following: ChangeFeed | None = None
        self._broken: dict[str, str] = {}  # who failed last, as far as is known: subject and run
        self._unread: deque[RunRow | DecisionRow] = deque()
        self._open: dict[str, _Delivery] = {}

    async def turn(self) -> float:
        """Look for what happened, if there is room for it, and send what is due."""
        now = await self._store.now()
        if self._following is None or self._following.since < now - LOOK_BACK:
            self._following = await self._begin(now)
        if len(self._open) < _MOST_OPEN:
            await self._look(self._following)
        due = [one for one in sorted(self._open.values(), key=lambda one: one.try_at) if one.try_at <= now]
        tried = await asyncio.gather(*map(self._try, due[:_AT_ONCE]), return_exceptions=True)
        for error in tried:
            if isinstance(error, BaseException):
                raise error
        return 0.0 if len(due) > _AT_ONCE or not self._following.caught_up else _EVERY

    # What to tell.

    async def _begin(self, now: int) -> ChangeFeed:
        self._broken, notices = await read_history(self._store, now)
        for notice in notices:
            self._add(notice)
        return ChangeFeed(self._store, now - OVERLAP)

    async def _look(self, following: ChangeFeed) -> None:
        news = await following.poll()
        self._unread.extend((*news.runs, *news.decisions))
        while self._unread:  # what was not read because the store failed is read at the next look
            await self._note(self._unread[0])
            self._unread.popleft()

    async def _note(self, row: RunRow | DecisionRow) -> None:
        if isinstance(row, DecisionRow):
            if row.reason in MISSED:
                self._add(about_slots(row, await job_of(self._store, row)))
        elif row.state in FAILURES:
            self._remember(row)
            self._add(about_run(Occasion.FAILURE, row))
        elif row.state is RunState.SUCCEEDED and subject(row) in self._broken:
            if await self._recovered(row):
                self._add(about_run(Occasion.RECOVERY, row))
            del self._broken[subject(row)]

    def _add(self, notice: Notice) -> None:
        for channel in self._channels if notice.occasion in self._occasions else ():
            delivery = _Delivery(notice, channel)
            self._open.setdefault(delivery.key, delivery)

    def _remember(self, run: RunRow) -> None:
        self._broken[subject(run)] = run.id
        if len(self._broken) > _MOST_BROKEN:
            del self._broken[next(iter(self._broken))]

    async def _recovered(self, run: RunRow) -> bool:
        """Whether what ended before this success had failed: a run before it, or itself before it was put back."""
        if self._broken[subject(run)] == run.id:
            return True
        return run.id in {row.id for row in recoveries(await ended_like(self._store, run))}

    # How to tell it.

    async def _try(self, delivery: _Delivery) -> None:
        if not delivery.outcome:
            claim = await self._store.access.claim(delivery.key, self._mark, _HELD)
            if claim is not None and claim.answer is not None:
                del self._open[delivery.key]
                return
            if claim is not None and claim.mark != self._mark:
                delivery.try_at = await self._store.now() + _LOOK_AGAIN
                return
            await self._send(delivery)
        if delivery.outcome:
            await self._store.access.answer(delivery.key, delivery.outcome)
            del self._open[delivery.key]

    async def _send(self, delivery: _Delivery) -> None:
        now = await self._store.now()
        about = {"way": delivery.channel.name, "notice": delivery.notice.key}
        try:
            await delivery.channel.send(delivery.notice, now // MICRO)
        except Exception as error:  # noqa: BLE001  (whatever it is, it did not arrive)
            if delivery.tries < len(_BACK_OFF):
                delivery.try_at = now + _BACK_OFF[delivery.tries] * MICRO
                delivery.tries += 1
                return
            delivery.outcome = "given up"
            why = str(error) if isinstance(error, UndeliveredError) else type(error).__name__
            _log.warning("notice given up", error=why, tries=delivery.tries + 1, **about)
        else:
            delivery.outcome = "sent"
            _log.info("notice sent", **about)
