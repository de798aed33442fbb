"""Approvals of steps: who may answer, what the answer says, and how a waiting step is shown (S75)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tickwise.stores.access_records import AccessRole

from ..support.api import Api, api, problem_of
from ..support.app import patiently

RELEASE: dict[str, Any] = {
    "name": "release", "schedule": "@yearly",
    "steps": [
        {"name": "ok", "approve": {"role": "admin", "timeout": "1d"}},
        {"name": "ship", "depends": "ok", "approve": "operator"},
    ],
}  # fmt: skip


@asynccontextmanager
async def waiting(**job: Any) -> AsyncIterator[Api]:
    """A run that waits for an approval."""
    async with api() as here:
        await here.post("/schedules", {**RELEASE, **job})
        await here.post("/schedules/release:trigger")
        await here.tickwise.drain()
        yield here


async def steps(here: Api) -> dict[str, Any]:
    return {step["name"]: step for step in (await here.get("/runs/1/steps"))["items"]}


@patiently
async def test_how_a_step_that_waits_is_shown() -> None:
    """S75: its role, since when and until when; then the answer, by whom, when and in which words."""
    async with waiting() as here:
        shown = await steps(here)
        assert sorted(shown) == ["ok", "ship"]
        assert (shown["ok"]["state"], shown["ship"]["state"]) == ("waiting", None)
        asked = shown["ok"]["approval"]
        assert (asked["role"], asked["since"], asked["until"], asked["answer"]) == (
            "admin", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", None,
        )  # fmt: skip
        assert shown["ship"]["approval"]["since"] is None
        here.clock.advance(60)
        given = await here.post("/runs/1:approve", {"reason": "fine"})
        assert given == {
            "run": "1", "step": "ok", "answer": "approve", "by": "inside", "reason": "fine",
            "at": "2026-01-01T00:01:00Z",
        }  # fmt: skip
        answered = (await steps(here))["ok"]["approval"]
        assert (answered["answer"], answered["by"], answered["reason"], answered["answered_at"]) == (
            "approve", "inside", "fine", "2026-01-01T00:01:00Z",
        )  # fmt: skip
        (entry,) = (await here.get("/audit", params={"subject": "1"}))["items"]
        assert (entry["who"], entry["action"], entry["after"]) == (
            "inside", "run.approve", {"step": "ok", "reason": "fine"},
        )  # fmt: skip


@pytest.mark.parametrize("answer", ["approve", "reject"])
@patiently
async def test_who_may_answer(answer: str) -> None:
    """S75: the role that the step asks for, or more, within the scopes; nobody else changes anything."""
    async with waiting() as here:
        people: tuple[tuple[AccessRole, tuple[str, ...], int], ...] = (
            (AccessRole.VIEWER, (), 403),
            (AccessRole.OPERATOR, (), 403),
            (AccessRole.OPERATOR, ("other-*",), 404),
            (AccessRole.OPERATOR, ("release",), 403),
            (AccessRole.ADMIN, (), 200),
        )
        for number, (role, scopes, status) in enumerate(people):
            token = await here.token(role, *scopes, name=f"person {number}")
            found = await here.ask("POST", f"/runs/1:{answer}", json={"step": "ok"}, token=token)
            assert found.status_code == status, (role, scopes, found.text)
            if status == 403 and role is not AccessRole.VIEWER:
                assert "the step ok of run 1 waits for the role admin" in found.json()["detail"]
        page = (await here.get("/audit", params={"subject": "1"}))["items"]
        assert [entry["action"] for entry in page] == [f"run.{answer}"]


@patiently
async def test_the_second_is_told_who_was_first() -> None:
    """S75: 409 with the first answer; and so for a step that does not wait, or a run that is over."""
    async with waiting() as here:
        await here.post("/runs/1:reject", {"step": "ok", "reason": "not now"})
        told = problem_of(await here.ask("POST", "/runs/1:approve", json={"step": "ok"}), 409)
        assert told["detail"] == ("the step ok of run 1 was rejected by inside: not now, at 2026-01-01T00:00:00Z")
        problem_of(await here.ask("POST", "/runs/1:approve", json={"step": "ship"}), 409)
        problem_of(await here.ask("POST", "/runs/9:approve", json={"step": "ship"}), 404)
        problem_of(await here.ask("POST", "/runs/1:approve", json={"reason": "x" * 1_001}), 422)
        problem_of(await here.ask("POST", "/runs/1:approve", json={"stp": "ok"}), 422)


@patiently
async def test_it_is_on_the_list_of_what_needs_somebody() -> None:
    """S75: with the way to answer; why says the command."""
    async with waiting() as here:
        (item,) = [one for one in (await here.get("/attention"))["items"] if one["kind"] == "approval"]
        (answer,) = item["actions"]
        assert (answer["do"], answer["run"], answer["field"]) == ("answer", "1", "ok")
        assert answer["command"] == "tickwise runs approve 1 ok"
        why = await here.get("/runs/1/why")
        text = "It waits for an approval by an admin (step ok): tickwise runs approve 1 ok."
        assert text in [step["text"] for step in why["chain"]]
