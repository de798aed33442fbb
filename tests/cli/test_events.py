"""`tickwise events`, and `tickwise why --event`: an event from its sender to its run."""

import json

import pytest

from tickwise import Tickwise

from ..support.cli import Filled
from .conftest import Command


@pytest.fixture
def listening(filled: Filled) -> Filled:
    """The same with a job that runs on events."""
    with Tickwise(filled.url) as tw:
        tw.schedules.add("deploy", on_event={"coalesce": {"quiet": "1s", "at_most": "1s"}}, command="true")
    return filled


@pytest.mark.usefixtures("listening")
def test_an_event_is_sent_listed_and_explained(command: Command) -> None:
    """S70, S71: sent twice it is one event; `--json` is the API's own answer, and `why --event` tells its slot."""
    assert "No events yet." in command("events", "list", "deploy")[1]
    assert "on an event" in command("schedules", "list")[1]
    code, shown, _ = command("events", "send", "deploy", "--key", "k1", "--data", '{"n": 1}')
    assert (code, "deploy has the event k1" in shown) == (0, True)
    code, again, _ = command("events", "send", "deploy", "--key", "k1", "--json")
    [event] = json.loads(command("events", "list", "deploy", "--json")[1])["items"]
    assert (event["key"], event["data"], event["received_at"]) == (
        "k1",
        {"n": 1},
        json.loads(again)["received_at"],
    )
    assert "k1" in command("events", "list", "deploy")[1]
    assert "on event (sent, 1s quiet)" in command("schedules", "show", "deploy")[1]


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    ("arguments", "says", "ends"),
    [
        (("events", "list", "nightly"), "nightly runs at times and not on events", 1),
        (("events", "send", "nightly"), "nightly runs at times and not on events", 1),
        (("events", "send", "deploy", "--data", "{"), "--data is no JSON", 2),
        (("events", "send", "deplo"), "did you mean deploy?", 2),
        (("why", "deploy", "--event", "k2"), "there is no event 'k2'", 2),
        (("why", "deploy", "--event", "k2", "--slot", "2026-01-01T00:00"), "give one of them", 2),
    ],
)
def test_a_mistake_is_said(command: Command, arguments: tuple[str, ...], says: str, ends: int) -> None:
    """What cannot be sent or found is refused in words."""
    code, _, complaint = command(*arguments)
    assert (code, says in complaint) == (ends, True), complaint


@pytest.mark.usefixtures("filled")
def test_why_tells_of_the_run_of_an_event(command: Command, filled: Filled) -> None:
    """With the keys of all events that the slot stands for."""
    with Tickwise(filled.url) as tw:

        @tw.job(on_event={})
        def deploy() -> None:
            pass

        tw.events.send("deploy", key="k1")
        tw.drain()
    code, shown, _ = command("why", "deploy", "--event", "k1")
    assert (code, "deploy" in shown, "fired" in shown) == (0, True, True)
