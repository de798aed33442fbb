"""Further channels of notifications: of which jobs, at which hours, by which services; and what flaps."""

from datetime import datetime
from typing import Any

import pytest

from tickwise.app.notifications import subscriptions
from tickwise.config import load
from tickwise.core.errors import InputError
from tickwise.runtime.notifications.channels import AppriseChannel, UndeliveredError
from tickwise.runtime.notifications.flaps import MAX_CHANGES
from tickwise.runtime.notifications.notice import Occasion, trial_notice
from tickwise.runtime.notifications.notifier import Notifier, Subscription
from tickwise.runtime.notifications.routes import QuietHours, read_routes
from tickwise.testing.conformance.world import World, job

from ..support.app import new_world, patiently
from ..support.receiver import Receiver
from .test_notifications import Mailbox, run_once

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")  # of apprise


def told_by(world: World, box: Mailbox, **conditions: Any) -> Notifier:
    route = read_routes({"team": {"command": ["true"], **conditions}})["team"]
    return Notifier(world.store, "n1", [Subscription(box, frozenset(Occasion), route)])


@patiently
async def test_a_channel_is_told_of_its_jobs_only() -> None:
    """By name, by pattern, and by label; of labels all must fit."""
    world, box = await new_world(), Mailbox()
    await world.define(
        job("billing-a", labels={"team": "billing"}), job("billing-b"), job("mail", labels={"team": "billing"})
    )
    teller = told_by(world, box, jobs=["billing-*"], labels={"team": "billing"})
    for name in ("billing-a", "billing-b", "mail"):
        await run_once(world, name, "x")
    await teller.turn()
    assert box.told == ["billing-a failed: x"]


@patiently
async def test_what_happens_in_quiet_hours_is_told_at_their_end() -> None:
    """Also by a node that was started meanwhile, hours after the event."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    quiet = {"from": "22:00", "until": "07:00"}
    teller = told_by(world, box, quiet=quiet)
    world.go("23:00")
    await run_once(world, "etl", "x")
    await teller.turn()
    world.go("2T06:59:59")
    restarted = told_by(world, box, quiet=quiet)
    await restarted.turn()
    assert box.told == []
    world.go("2T07:00")
    await restarted.turn()
    assert box.told == ["etl failed: x"]


@pytest.mark.parametrize(
    ("now", "end"),
    [
        ("2026-03-28T21:59:00+01:00", "2026-03-28T21:59:00+01:00"),
        ("2026-03-28T22:00:00+01:00", "2026-03-29T07:00:00+02:00"),  # the clocks go forward in this night
        ("2026-03-29T06:59:00+02:00", "2026-03-29T07:00:00+02:00"),
        ("2026-03-29T07:00:00+02:00", "2026-03-29T07:00:00+02:00"),
    ],
)
def test_quiet_hours_are_local(now: str, end: str) -> None:
    """They end at that time of the zone, in nights with a clock change too."""
    hours = QuietHours(22 * 60, 7 * 60, "Europe/Berlin")
    assert (
        hours.end_after(round(datetime.fromisoformat(now).timestamp())) == datetime.fromisoformat(end).timestamp()
    )


@patiently
async def test_what_flaps_is_told_once_and_then_not_until_it_is_steady() -> None:
    """The change that is one too many says so; after a steady hour all is told again."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    teller = told_by(world, box)
    for number in range(MAX_CHANGES + 4):
        await run_once(world, "etl", "" if number % 2 else "x")
        await teller.turn()
    assert box.told[: MAX_CHANGES - 1] == ["etl failed: x", "etl is well again"] * 2 + ["etl failed: x"]
    assert box.told[MAX_CHANGES - 1 :] == [
        "etl fails and recovers again and again, 6 changes within an hour: no more until it is steady"
    ]
    world.clock.advance(3_601)
    await run_once(world, "etl", "y")
    await teller.turn()
    assert box.told[-1] == "etl failed: y"


@patiently
async def test_apprise_delivers_and_says_when_it_did_not() -> None:
    """Its services get the text; a refusal is a notice that did not arrive, without the address."""
    async with Receiver.open() as receiver:
        place = receiver.url.partition("//")[2].partition("/")[0]
        channel = AppriseChannel.of("team", [f"json://ada:hush@{place}/"])
        await channel.send(trial_notice(0), 1)
        assert "This is a test of Tickwise's notifications." in receiver.got[0].body.decode()
        receiver.status = 500
        with pytest.raises(UndeliveredError, match="not all of its 1 services took it") as refused:
            await channel.send(trial_notice(0), 1)
        assert "hush" not in str(refused.value)


def test_channels_of_the_settings() -> None:
    """Each entry is a channel by its name, with its own events or those of `notify_on`."""
    settings = load(
        {
            "notify_on": "failure",
            "notify": {
                "team": {"urls": ["json://localhost"], "on": ["missed"]},
                "hook": {"webhook": "https://hooks.example/x", "secret": "hush"},
            },
        },
        {},
    )
    found = {one.channel.name: one.occasions for one in subscriptions(settings)}
    assert found == {"team": {Occasion.MISSED}, "hook": {Occasion.FAILURE}}
    assert "hush" not in str(settings.notify["hook"]) + repr(settings.notify)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"urls": ["x"], "webhook": "https://x"}, "team: write one of urls, webhook, command"),
        ({"url": ["x"]}, r"team: there is no 'url' \(did you mean urls\?\)"),
        ({"webhook": "hooks.example"}, "team: webhook: write a web address"),
        ({"command": []}, "team: command: the list is empty"),
        ({"command": ["x"], "on": ["failures"]}, "team: on: write some of these: failure, recovery, missed"),
        ({"command": ["x"], "labels": {"a": 1}}, "team: labels: write a table of texts"),
        ({"command": ["x"], "quiet": {"from": "7", "until": "22:00"}}, 'team: quiet: write {from = "22:00"'),
        ({"command": ["x"], "quiet": {"from": "07:00", "until": "07:00"}}, "two different times"),
    ],
)
def test_an_entry_that_is_wrong_says_what_and_where(entry: dict[str, Any], problem: str) -> None:
    """The entry and the field are named."""
    with pytest.raises(InputError, match=problem):
        read_routes({"team": entry})


def test_an_address_that_apprise_does_not_know_is_refused_without_being_shown() -> None:
    """When the channels are made, which is when a node starts."""
    with pytest.raises(
        InputError, match=r"notify\.team: apprise does not know the address number 2 \(foo:…\)"
    ) as refused:
        AppriseChannel.of("team", ["json://localhost", "foo://hush@x"])
    assert "hush" not in str(refused.value)
