"""`/notifications:test`, and who hears of a channel that fails (A29)."""

from pathlib import Path

import pytest

from tickwise.stores.records import Node, Role

from ..support.api import api, problem_of
from ..support.app import patiently


@patiently
async def test_nothing_is_configured() -> None:
    """Without a channel there is nothing to test, and the settings to write are named (A29)."""
    async with api() as here:
        answer = await here.ask("POST", "/notifications:test", json={})
        assert "set notify_webhook, notify_command or [notify.NAME]" in problem_of(answer, 422)["detail"]


@pytest.mark.parametrize(("program", "problem"), [("cat", ""), ("false", "exit code 1")])
@patiently
async def test_a_test_notice(program: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is sent once, and the answer says whether it arrived (A29)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TICKWISE_NOTIFY_COMMAND", program)
    async with api() as here:
        (one,) = (await here.post("/notifications:test", {"channel": "command"}))["items"]
        assert (one["channel"], one["arrived"]) == ("command", not problem)
        assert problem in one["problem"]
        answer = await here.ask("POST", "/notifications:test", json={"channel": "comand"})
        assert "did you mean command?" in problem_of(answer, 422)["detail"]


@patiently
async def test_a_channel_that_fails_needs_attention() -> None:
    """The overview and the list of workers name a channel whose last send failed (A29)."""
    async with api() as here:
        world = await here.world()
        await world.store.beat(Node("n", (Role.TICKER,), host="box", undelivered=("webhook: the answer was 404",)))
        texts = [one["text"] for one in (await here.get("/overview"))["warnings"]]
        assert "box: the last notification did not arrive over webhook: the answer was 404." in texts
        workers = {one["id"]: one["undelivered"] for one in (await here.get("/workers"))["items"]}
        assert workers["n"] == ["webhook: the answer was 404"]
