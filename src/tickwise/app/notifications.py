"""Notifications of an app: the channels that its settings name, and a test of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..config import Settings
from ..core.errors import InputError, did_you_mean, nearest_word
from ..runtime.executors.address import AddressPolicy
from ..runtime.notifications.channels import (
    AppriseChannel,
    Channel,
    CommandChannel,
    UndeliveredError,
    WebhookChannel,
)
from ..runtime.notifications.liveness import LivenessPing
from ..runtime.notifications.notice import trial_notice
from ..runtime.notifications.notifier import Notifier, Subscription
from ..stores.contract import Store
from ..stores.records import MICRO
from .deadline_warnings import DeadlineWarnings
from .worker_services import worker_services


@dataclass(frozen=True, slots=True)
class ChannelTest:
    """Whether a test notice arrived over a channel, and if not, why."""

    channel: str
    arrived: bool
    problem: str = ""


def subscriptions(settings: Settings) -> list[Subscription]:
    """The channels that are configured, and what each is told."""
    addresses, services = AddressPolicy(settings.addresses), worker_services(settings)
    found: list[Subscription] = []
    if settings.notify_webhook:
        channel = WebhookChannel(settings.notify_webhook.value, settings.notify_secret.value, addresses)
        found.append(Subscription(channel, settings.notify_on))
    if settings.notify_command:
        found.append(Subscription(CommandChannel(settings.notify_command, services), settings.notify_on))
    for name, route in settings.notify.items():
        occasions = settings.notify_on if route.on is None else route.on
        if route.urls:
            way: Channel = AppriseChannel.of(name, route.urls)
        elif route.webhook:
            way = WebhookChannel(route.webhook, route.secret, addresses, name=name)
        else:
            way = CommandChannel(route.command, services, name=name)
        found.append(Subscription(way, occasions, route))
    return found


def make_notifier(store: Store, mark: str, settings: Settings) -> Notifier | None:
    """The notifier of a node; none without a channel."""
    found = subscriptions(settings)
    return Notifier(store, mark, found, settings.api_url) if found else None


def notifier_turns(store: Store, notifier: Notifier | None) -> dict[str, Callable[[], Awaitable[float]]]:
    """What the notifier of a node does again and again, by name."""
    if notifier is None:
        return {}
    return {"notifier": notifier.turn, "deadline warnings": DeadlineWarnings(store, notifier).turn}


def liveness_ping(settings: Settings, healthy: Callable[[], bool]) -> LivenessPing | None:
    """The ping that is configured."""
    if not settings.ping:
        return None
    return LivenessPing(settings.ping.value, healthy, settings.ping_every, AddressPolicy(settings.addresses))


async def try_channels(store: Store, settings: Settings, channel: str | None = None) -> list[ChannelTest]:
    """Send a test notice over each channel, or over one, once; nothing is recorded."""
    channels = [one.channel for one in subscriptions(settings)]
    names = [one.name for one in channels]
    if not channels:
        raise InputError("no channel is configured: set notify_webhook, notify_command or [notify.NAME]")
    if channel is not None and channel not in names:
        hint = did_you_mean(nearest_word(channel, names))
        raise InputError(f"there is no channel {channel[:60]!r}{hint}: configured are {', '.join(names)}")
    now = await store.now()
    return [await _tested(one, now) for one in channels if channel in (None, one.name)]


async def _tested(channel: Channel, now: int) -> ChannelTest:
    notice = trial_notice(now)
    try:
        await channel.send(notice, now // MICRO)
    except UndeliveredError as error:
        return ChannelTest(channel.name, arrived=False, problem=str(error))
    return ChannelTest(channel.name, arrived=True)
