"""Calendar sync: writes the calendars of this process's folders into the store, and removes those that are gone.

They are written before the jobs of their folder, which may need them, and removed after them. One that the store
refuses, or that cannot be expanded here, is shown as a problem and tried again, as definitions are.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ..core.errors import NotFoundError, TickwiseError
from ..log import get_logger
from ..stores.contract import Store, StoreUnavailableError
from .calendars import drop_calendar, put_calendar, settle_calendars, stored_calendars

_log = get_logger()


class CalendarSync:
    """The calendars that are to be written or removed, by source."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queued: defaultdict[str, dict[str, Mapping[str, Any] | None]] = defaultdict(dict)  # none: remove
        self._complete: dict[str, set[str]] = {}  # by source: all that it has now
        self._refused: dict[tuple[str, str], str] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(self._refused.values())

    @property
    def waiting(self) -> set[str]:
        """The sources of which something is left to write."""
        return {source for source, queued in self._queued.items() if queued}

    def queue(self, source: str, changes: Mapping[str, Mapping[str, Any] | None], *, full: bool) -> None:
        self._queued[source].update(changes)
        if full:
            self._complete[source] = {name for name, fields in changes.items() if fields is not None}

    async def write(self, source: str) -> None:
        """Write until nothing more can be written: one may be made of another."""
        queued, is_moving = self._queued[source], True
        while is_moving:
            is_moving = False
            for name, fields in list(queued.items()):
                if fields is not None and await self._done(source, name, fields):
                    is_moving = True

    async def remove(self, source: str) -> None:
        """Remove what is gone, once no job needs it."""
        queued = self._queued[source]
        if source in self._complete:
            stored = (await stored_calendars(self._store)).values()
            gone = {one.name for one in stored if one.source == source} - self._complete.pop(source)
            queued.update(dict.fromkeys(gone))
        for name in [name for name, fields in queued.items() if fields is None]:
            await self._done(source, name, None)

    async def _done(self, source: str, name: str, fields: Mapping[str, Any] | None) -> bool:
        try:
            if fields is None:
                await drop_calendar(self._store, name, source)
            else:
                await put_calendar(self._store, name, fields, source, anew=False)
        except NotFoundError:
            pass  # it is gone already
        except StoreUnavailableError:
            raise
        except TickwiseError as error:
            self._refuse(source, name, str(error))
            return False
        self._refused.pop((source, name), None)
        if self._queued[source].get(name) is fields:
            del self._queued[source][name]
        return True

    def _refuse(self, source: str, name: str, why: str) -> None:
        text = f"calendar {name}: {why}"
        if self._refused.get((source, name)) != text:
            _log.warning("calendar refused", calendar=name, source=source, error=why)
        self._refused[source, name] = text

    async def settle(self) -> None:
        """Finish what another node began and did not end."""
        try:
            await settle_calendars(self._store)
            self._refused.pop(("", ""), None)
        except StoreUnavailableError:
            raise
        except TickwiseError as error:
            self._refuse("", "", str(error))
