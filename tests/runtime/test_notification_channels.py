"""The ways to people, with a real server and real programs."""

import json
import sys
from hashlib import sha256
from hmac import new as hmac
from pathlib import Path

import pytest

from tickwise.core.settle import Failed
from tickwise.runtime.executors.address import AddressPolicy
from tickwise.runtime.notifications.channels import CommandChannel, UndeliveredError, WebhookChannel
from tickwise.runtime.notifications.notice import Notice, Occasion, about_run, about_slots
from tickwise.testing.conformance.world import HOURLY, instant, job

from ..support.app import new_world, patiently
from ..support.receiver import NEAR, Receiver


async def _notice() -> Notice:
    world = await new_world()
    await world.define(job("etl"))
    run = await world.enqueue("etl")
    await world.end(await world.start(), Failed(), error="kaputt\u00e4")
    return about_run(Occasion.FAILURE, await world.run(run))


@patiently
async def test_a_webhook_gets_signed_json() -> None:
    """The signature covers the time and the very bytes of the body."""
    notice = await _notice()
    async with Receiver.open() as receiver:
        await WebhookChannel(receiver.url, "hush", NEAR).send(notice, 1_700_000_000)
        (sent,) = receiver.got
    assert (sent.method, sent.path, sent.headers["content-type"]) == ("POST", "/hook?key=hush", "application/json")
    assert json.loads(sent.body) == notice.body()
    right = hmac(b"hush", b"1700000000." + sent.body, sha256).hexdigest()
    assert sent.headers["tickwise-signature"] == f"t=1700000000,v1={right}"


@patiently
async def test_a_webhook_without_a_key_is_not_signed() -> None:
    """Nobody is made to believe in a signature that proves nothing."""
    async with Receiver.open() as receiver:
        await WebhookChannel(receiver.url, "", NEAR).send(await _notice(), 1)
        assert "tickwise-signature" not in receiver.got[0].headers


@pytest.mark.parametrize(("status", "why"), [(500, "500"), (302, "302"), (404, "404"), (None, "no answer within")])
@patiently
async def test_answers_that_are_none(status: int | None, why: str) -> None:
    """Errors, redirects (which are not followed) and silence mean that it did not arrive."""
    async with Receiver.open() as receiver:
        receiver.status = status
        with pytest.raises(UndeliveredError, match=why) as caught:
            await WebhookChannel(receiver.url, "hush", NEAR, seconds=0.2 if status is None else 60).send(
                await _notice(), 1
            )
        assert len(receiver.got) == 1
    assert "hush" not in str(caught.value)


@patiently
async def test_a_webhook_keeps_to_the_address_policy() -> None:
    """An address that HTTP steps may not reach is none for notices either."""
    async with Receiver.open() as receiver:
        with pytest.raises(UndeliveredError, match="loopback"):
            await WebhookChannel(receiver.url, "", AddressPolicy()).send(await _notice(), 1)
        assert receiver.got == []


WRITER = "import os,sys;open(sys.argv[1],'w').write(sys.stdin.read()+'\\n'+os.environ['TICKWISE_TEXT'])"


@patiently
async def test_a_program_gets_variables_and_json(tmp_path: Path) -> None:
    """The whole on standard input, and the most important in variables."""
    notice = await _notice()
    await CommandChannel([sys.executable, "-c", WRITER, str(tmp_path / "told")]).send(notice, 1)
    body, text = (tmp_path / "told").read_text("utf-8").split("\n")
    assert json.loads(body) == notice.body()
    assert text == "etl failed: kaputt\u00e4"


@patiently
async def test_the_variables_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that runs have, the event and the text; none of the node's own settings, secrets among them."""
    monkeypatch.setenv("TICKWISE_NOTIFY_SECRET", "hush")
    told = (
        "import os;e=os.environ;"
        "assert 'TICKWISE_NOTIFY_SECRET' not in e;"
        "assert [e['TICKWISE_'+n] for n in 'EVENT JOB SCHEDULE ATTEMPT OUTCOME ERROR'.split()]"
        " == ['failure','etl','','1','failed','kaputt\u00e4']"
    )
    await CommandChannel([sys.executable, "-c", told]).send(await _notice(), 1)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ([sys.executable, "-c", "import sys;sys.exit('no mail today')"], "exit code 1 no mail today"),
        (["there-is-no-such-program"], "was not found"),
        ([sys.executable, "-c", "input();input()"], "exit code 1"),
    ],
)
@patiently
async def test_programs_that_fail(program: list[str], why: str) -> None:
    """An exit code, a program that is missing, and one that wants more than there is."""
    with pytest.raises(UndeliveredError, match=why):
        await CommandChannel(program).send(await _notice(), 1)


@patiently
async def test_a_program_has_a_time_limit() -> None:
    """One that hangs is ended, with all that it started."""
    with pytest.raises(UndeliveredError, match="did not end within"):
        await CommandChannel(["sleep", "1000"], seconds=0.1).send(await _notice(), 1)


@patiently
async def test_what_is_missed_names_the_slot() -> None:
    """Also where the schedule is gone by now."""
    world = await new_world()
    await world.define(job("etl", HOURLY, catchup="skip"))
    world.go("01:30")
    await world.tick()
    (row,) = (await world.insights.decisions()).items
    notice = about_slots(row, "")
    assert notice.body()["job"] is None
    assert notice.context.slot == instant("01:00")
    assert notice.text.startswith("etl missed 2026-01-01T01:00:00Z: ")
