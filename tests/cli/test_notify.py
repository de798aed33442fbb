"""`tickwise notify test`: whether notifications arrive."""

import json

import pytest

from .conftest import Command


@pytest.mark.usefixtures("filled")
def test_whether_notices_arrive(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each channel of the settings is tested, and the exit code says whether all arrived (A29)."""
    assert "no channel is configured" in command("notify", "test")[2]
    monkeypatch.setenv("TICKWISE_NOTIFY_COMMAND", "cat")
    assert command("notify", "test") == (0, "command: arrived\n", "")
    monkeypatch.setenv("TICKWISE_NOTIFY_WEBHOOK", "http://127.0.0.1:1/hook")
    code, out, _ = command("notify", "test", "webhook")
    assert (code, out.startswith("webhook: did not arrive: ")) == (1, True)
    code, out, _ = command("notify", "test", "--json")
    assert (code, [one["arrived"] for one in json.loads(out)["items"]]) == (1, [False, True])
