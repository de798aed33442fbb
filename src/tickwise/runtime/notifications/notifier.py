"""The notifier sends notices about failures, recoveries, missed slots and deadlines, and approvals to give.

Every node with a ticker has one, and all of them see the same events: those of the hour before their start, and
those since. The first one to claim a notice in the store sends it, and records the outcome there: `sent`, or
`given up` after several tries. The others check again until an outcome is recorded. So another node takes over if
the sender dies, and a node that restarts neither repeats a notice nor loses one.

To find recoveries, a notifier remembers which subjects have failed, and reads the store only about their
successes.
"""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...core.states import FAILURES, RunState
from ...log import get_logger
from ...stores.contract import Store
from ...stores.records import MICRO, DecisionRow, RunRow
from ..approvals import open_approvals
from ..change_feed import OVERLAP, ChangeFeed
from ..loop import together
from .channels import Channel, UndeliveredError
from .flaps import MAX_CHANGES, FlapFilter
from .history import LOOK_BACK, job_of, read_history, recent_ends, recoveries
from .notice import TOLD, Notice, Occasion, about_approval, about_flaps, about_run, about_slots, subject
from .routes import NotificationRoute

_log = get_logger()
_POLL = 2.0  # seconds
_RETRY_DELAYS = (2, 8, 30, 60, 90)  # seconds; the last try has none
_CLAIM_SECONDS = 600  # longer than all tries take
_CHECK_AGAIN = 30 * MICRO  # whether the node that claimed a notice has sent it
_CONCURRENT_SENDS = 8
_MAX_OPEN = 1_000  # deliveries; with more, no new events are read
_MAX_BROKEN = 10_000  # subjects that are remembered as failed


@dataclass(frozen=True, slots=True)
class Subscription:
    """A channel, and what it is told."""

    channel: Channel
    occasions: Collection[Occasion]
    route: NotificationRoute | None = None  # none: of all jobs, at any time

    @property
    def quiet_seconds(self) -> int:
        return self.route.quiet.seconds if self.route and self.route.quiet else 0

    def quiet_until(self, micro: int) -> int:
        """When a notice of this instant is sent: at once, or at the end of the quiet hours."""
        quiet = self.route.quiet if self.route else None
        second = micro // MICRO
        end = second if quiet is None else quiet.end_after(second)
        return 0 if end == second else end * MICRO


@dataclass(slots=True)
class _Delivery:
    """A notice to be sent over one channel."""

    notice: Notice
    channel: Channel
    try_at: int = 0  # microseconds
    tries: int = 0
    outcome: str = ""  # once it is over; then it has to be recorded in the store

    @property
    def key(self) -> str:
        return f"{self.notice.key} {self.channel.name}"


class Notifier:
    """The notifier of one node; `mark` is the node's id, by which it claims; `address` is the API's, if known."""

    def __init__(self, store: Store, mark: str, subscriptions: Sequence[Subscription], address: str = "") -> None:
        self._store = store
        self._mark = mark
        self._subscriptions = subscriptions
        self._flaps = FlapFilter()
        self._look_back = LOOK_BACK + max((one.quiet_seconds for one in subscriptions), default=0) * MICRO
        self._feed: ChangeFeed | None = None
        self._broken: dict[str, str] = {}  # subjects whose last known run failed, and that run
        self._unread: deque[RunRow | DecisionRow] = deque()
        self._open: dict[str, _Delivery] = {}
        self._failing: dict[str, str] = {}  # channels whose last send failed, and why
        self._address = address
        self._asked: set[str] = set()  # keys of the approvals that wait, and were read

    @property
    def undelivered(self) -> tuple[str, ...]:
        """The channels whose last send failed, and why."""
        return tuple(f"{channel}: {why}" for channel, why in self._failing.items())

    async def turn(self) -> float:
        """Read new events, unless too many deliveries are open, and send those that are due."""
        now = await self._store.now()
        if self._feed is None or self._feed.since < now - LOOK_BACK:
            self._feed = await self._start(now)
        if len(self._open) < _MAX_OPEN:
            await self._read_events(self._feed)
            await self._read_approvals(now)
        due = [one for one in sorted(self._open.values(), key=lambda one: one.try_at) if one.try_at <= now]
        await together(map(self._deliver, due[:_CONCURRENT_SENDS]))
        return 0.0 if len(due) > _CONCURRENT_SENDS or not self._feed.caught_up else _POLL

    # Events

    async def _start(self, now: int) -> ChangeFeed:
        self._broken, notices = await read_history(self._store, now, self._look_back)
        self._flaps = FlapFilter()
        for notice in notices:
            await self.add(notice)
        return ChangeFeed(self._store, now - OVERLAP)

    async def _read_events(self, feed: ChangeFeed) -> None:
        changes = await feed.poll()
        self._unread.extend((*changes.runs, *changes.decisions))
        while self._unread:  # if the store fails, the rest is read in the next turn
            await self._read_event(self._unread[0])
            self._unread.popleft()

    async def _read_event(self, row: RunRow | DecisionRow) -> None:
        if isinstance(row, DecisionRow):
            if row.reason in TOLD:
                await self.add(about_slots(row, await job_of(self._store, row)))
        elif row.state in FAILURES:
            self._add_broken(row)
            await self.add(about_run(Occasion.FAILURE, row))
        elif row.state is RunState.SUCCEEDED and subject(row) in self._broken:
            if await self._recovered(row):
                await self.add(about_run(Occasion.RECOVERY, row))
            del self._broken[subject(row)]

    async def _read_approvals(self, now: int) -> None:
        """Those that wait are read as they are, since a run that waits makes no event."""
        if not any(Occasion.APPROVAL in one.occasions for one in self._subscriptions):
            return
        asked = {one.wait.key + one.run: one for one in await open_approvals(self._store)}
        for key, one in asked.items():
            if key not in self._asked and one.wait.since * MICRO >= now - self._look_back:
                await self.add(about_approval(one, self._address))
        self._asked = {*asked}

    async def add(self, notice: Notice) -> None:
        """Send a notice over each channel that is told of it, unless a node has."""
        steady = self._steadied(notice)
        if steady is None:
            return
        for one in self._subscriptions:
            if await self._concerns(one, steady):
                delivery = _Delivery(steady, one.channel, one.quiet_until(steady.at))
                self._open.setdefault(delivery.key, delivery)

    def _steadied(self, notice: Notice) -> Notice | None:
        """The notice; if its subject flaps, one that says so, and none after that."""
        if notice.occasion not in (Occasion.FAILURE, Occasion.RECOVERY):
            return notice
        subject = notice.context.schedule or notice.context.job
        changes = self._flaps.changes(subject, notice.at, failing=notice.occasion == Occasion.FAILURE)
        if changes < MAX_CHANGES:
            return notice
        return about_flaps(notice, changes) if changes == MAX_CHANGES else None

    async def _concerns(self, subscription: Subscription, notice: Notice) -> bool:
        if notice.occasion not in subscription.occasions:
            return False
        route = subscription.route
        if route is None:
            return True
        job = notice.context.job
        row = await self._store.insights.job(job) if route.labels and job else None
        return route.concerns(job, row.definition.labels if row else {})

    def _add_broken(self, run: RunRow) -> None:
        self._broken[subject(run)] = run.id
        if len(self._broken) > _MAX_BROKEN:
            del self._broken[next(iter(self._broken))]

    async def _recovered(self, run: RunRow) -> bool:
        """Whether the end before this success was a failure: of an earlier run, or of this one before a retry."""
        if self._broken[subject(run)] == run.id:
            return True
        return run.id in {row.id for row in recoveries(await recent_ends(self._store, run))}

    # Deliveries

    async def _deliver(self, delivery: _Delivery) -> None:
        if not delivery.outcome:
            claim = await self._store.access.claim(delivery.key, self._mark, _CLAIM_SECONDS)
            if claim is not None and claim.answer is not None:
                del self._open[delivery.key]
                return
            if claim is not None and claim.mark != self._mark:
                delivery.try_at = await self._store.now() + _CHECK_AGAIN
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
        except Exception as error:  # noqa: BLE001  (whatever it is, the notice did not arrive)
            why = str(error) if isinstance(error, UndeliveredError) else type(error).__name__
            if delivery.channel.name not in self._failing:
                _log.warning("notice did not arrive, and is tried again", error=why, **about)
            self._failing[delivery.channel.name] = why
            if delivery.tries < len(_RETRY_DELAYS):
                delivery.try_at = now + _RETRY_DELAYS[delivery.tries] * MICRO
                delivery.tries += 1
                return
            delivery.outcome = "given up"
            _log.warning("notice given up", error=why, tries=delivery.tries + 1, **about)
        else:
            self._failing.pop(delivery.channel.name, None)
            delivery.outcome = "sent"
            _log.info("notice sent", **about)
