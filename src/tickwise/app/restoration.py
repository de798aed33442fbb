"""What a person says of a store that comes from a backup: until when the lost one worked (S78, ADR 93).

Slots until then are not decided again, and what the backup has as unfinished does not run again: the lost store
most likely ended it. What a living worker or an engine still executes goes on. Each step is a move of its own, so
nodes may run meanwhile, and the whole may be repeated.
"""

import json
from contextlib import suppress
from typing import NamedTuple

from ..core.change import Restored
from ..core.errors import ConflictError, InputError
from ..core.states import RunState
from ..core.timeparse import iso
from ..stores.access_records import AuditEntry
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, Node, RunFilter, RunRow

_PAGE_SIZE = 1_000
_UNFINISHED = RunFilter(states=frozenset({RunState.QUEUED, RunState.RUNNING}))
_TOLD = "restored"  # the text that says when a person has last said so


class Restoration(NamedTuple):
    """What was done: schedules that were moved on, runs that were cancelled, the number of the next run."""

    schedules: int
    runs: int
    next_run: int


async def mark_restored(store: Store, until: int, who: str) -> Restoration:
    """Take everything until an instant as done by a store that was lost."""
    now = await store.now()
    if until > now // MICRO:
        raise InputError(f"{iso(until)} is to come: give the time at which the lost store stopped", field="until")
    next_run = await store.skip_run_numbers()
    schedules = await _pass_over(store, until)
    runs = [run for run in await _unfinished(store) if _is_gone(run, until, now)]
    for run in runs:
        with suppress(ConflictError):  # it has ended meanwhile
            await store.cancel(run.id)
    done = Restoration(schedules, len(runs), next_run)
    await store.access.record(
        [AuditEntry(who, "restored", "store", after={"until": iso(until), **done._asdict()})]
    )
    known = await store.access.text(_TOLD)
    await store.access.replace_text(_TOLD, json.dumps({"at": now}), known.version if known else 0)
    return done


async def _pass_over(store: Store, until: int) -> int:
    """Move the cursors to the instant; of how many schedules."""
    rows = await all_pages(lambda after: store.insights.schedules(after=after, limit=_PAGE_SIZE))
    moved = 0
    for row in rows:
        if not row.unreadable:
            with suppress(InputError):  # it was deleted meanwhile
                moved += await store.change(row.schedule.name, Restored(until)) != row.schedule
    return moved


async def _unfinished(store: Store) -> list[RunRow]:
    return list(await all_pages(lambda after: store.insights.runs(_UNFINISHED, after, _PAGE_SIZE)))


def _is_gone(run: RunRow, until: int, now: int) -> bool:
    """Whether the backup has a run as unfinished that nobody holds any more.

    Work on an engine that has begun reports its end to this store, too. An order that has not begun would be sent
    again if the engine has forgotten it, and the lost store may have seen its end.
    """
    has_begun = run.hand_over is not None and run.hand_over.begun_at is not None
    is_held = run.state is RunState.RUNNING and (has_begun or (run.lease_until or 0) > now)
    return run.created_at // MICRO <= until and not is_held


class SetBack(NamedTuple):
    """What a store has forgotten, as a node noticed; instants in microseconds."""

    host: str
    since: int  # 0: from before the node
    until: int

    @property
    def repair(self) -> str:
        return f"tickwise store restored --until {iso(-(-self.until // MICRO))}"


async def set_backs(store: Store, nodes: list[Node], since: int) -> list[SetBack]:
    """Those since an instant of which no person has said what is to become of the time between."""
    found = [SetBack(node.host, *node.set_back) for node in nodes if node.set_back]
    told = await store.access.text(_TOLD) if found else None
    handled = max(since, json.loads(told.text)["at"] if told else 0)
    return [each for each in found if each.until > handled]
