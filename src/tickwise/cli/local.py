"""The API over a store, in this process. Common reads come from the app, without the libraries of a server.

Reads of `_READS` have the content of the API's responses; `tests/cli/test_every_command.py` compares them. What is
refused here, and everything else, goes to the API, whose errors are the only ones.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ..app import AsyncTickwise
from ..app.records import MICRO, Page, RunFilter, ScheduleFilter
from ..app.view import View
from ..core.errors import TickwiseError
from ..core.mask import masked
from ..core.model import Trigger
from ..core.states import RunState
from ..core.timeparse import ceil_second
from .sender import ApiTarget, Sender

_MAX_TEXT = 200  # characters of a filter; the API refuses more
_Read: TypeAlias = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def over_store(target: ApiTarget, where: str) -> AsyncIterator["LocalSender"]:
    """The API over a store, open while a block runs; its user is the admin."""
    async with AsyncTickwise(target.store, config=target.config, create_store=False) as tickwise:
        view = View(await tickwise.store())
        async with AsyncExitStack() as stack:
            yield LocalSender(tickwise, view, where, stack)


class LocalSender:
    """Reads what it can from the app, and opens the API for the rest."""

    def __init__(self, tickwise: AsyncTickwise, view: View, where: str, stack: AsyncExitStack) -> None:
        self._tickwise = tickwise
        self._view = view
        self._where = where
        self._stack = stack
        self._api: Sender | None = None

    async def request(self, method: str, path: str, given: Mapping[str, Any]) -> Any:
        if method == "GET" and (answer := await read(self._view, path, given)) is not None:
            return answer
        return await (await self._opened_api()).request(method, path, given)

    async def events(self, path: str) -> AsyncGenerator[tuple[str, Any], None]:
        api = await self._opened_api()
        async with aclosing(api.events(path)) as events:
            async for event in events:
                yield event

    async def _opened_api(self) -> Sender:
        if self._api is None:
            from .in_process import api_over  # noqa: PLC0415  (FastAPI and httpx2, which a read does not need)

            self._api = await self._stack.enter_async_context(api_over(self._tickwise, self._where))
        return self._api


async def read(view: View, path: str, query: Mapping[str, Any]) -> Any:
    """What the API would answer; None if it is to answer itself."""
    for pattern, reader in _READS.items():
        if found := pattern.fullmatch(path):
            try:
                return to_json(await reader(view, *found.groups(), **{name: _fit(query[name]) for name in query}))
            except (TickwiseError, TypeError, ValueError):  # the API says what is wrong
                return None
    return None


def _fit(value: Any) -> Any:
    if isinstance(value, str) and (len(value) > _MAX_TEXT or "\0" in value):
        raise ValueError(value)
    return value


async def _schedules(
    view: View, *, after: str | None = None, limit: int, due_before: str | None = None, **filters: Any
) -> Any:
    due = None if due_before is None else ceil_second(_moment(due_before))
    return _page(await view.schedules(ScheduleFilter(due_before=due, **filters), after, limit))


async def _schedule(view: View, name: str) -> Any:
    detail = await view.schedule_detail(await view.stored_schedule(name))
    return replace(detail, definition=masked(detail.definition))


async def _why(view: View, name: str, *, slot: str | None = None) -> Any:
    return await view.why(name, None if slot is None else _moment(slot))


async def _runs(
    view: View, *, after: str | None = None, limit: int, state: list[str] | None = None,
    trigger: list[str] | None = None, since: str | None = None, until: str | None = None, q: str = "",
    **filters: Any,
) -> Any:  # fmt: skip
    states, triggers = frozenset(map(RunState, state or ())), frozenset(map(Trigger, trigger or ()))
    filtered = RunFilter(
        states=states, triggers=triggers, since=_micro(since), until=_micro(until), **filters
    )  # fmt: skip
    page = await view.find_runs(q, filtered, after, limit)
    runs = ({**to_json(replace(run, params=masked(run.params))), "timezone": None} for run in page.items)
    return {"items": list(runs), "next": page.after}


_READS: dict[re.Pattern[str], _Read] = {
    re.compile(path): reader
    for path, reader in (
        ("/schedules", _schedules),
        ("/schedules/([^/:]+)", _schedule),
        ("/schedules/([^/:]+)/why", _why),
        ("/runs", _runs),
    )
}


def _page(page: Page[Any]) -> dict[str, Any]:
    return {"items": page.items, "next": page.after}


def _micro(text: str | None) -> int | None:
    return None if text is None else round(_moment(text).timestamp() * MICRO)


def _moment(text: str) -> datetime:
    """A time as the API takes it: from 1970 on."""
    found = datetime.fromisoformat(text)
    if found.timestamp() < 0:
        raise ValueError(text)
    return found


def to_json(value: Any) -> Any:
    """A value of the app as the API writes it."""
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case Mapping():
            return {key: to_json(inner) for key, inner in value.items()}
        case list() | tuple():
            return [to_json(inner) for inner in value]
        case str():
            return str(value)
    return value
