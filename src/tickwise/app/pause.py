"""A pause as a person asks for it: until somebody resumes, or until a time (S66)."""

from ..core.errors import InputError
from ..core.model import Pause
from ..core.timeparse import iso
from ..stores.contract import Store
from ..stores.records import MICRO
from .options import When
from .values import as_second


async def pause_until(store: Store, until: When | None, reason: str, by: str) -> Pause:
    """Refused if the time has passed."""
    now = await store.now() // MICRO
    end = None if until is None else as_second(until, now)
    pause = Pause(now, by, reason, end)
    if pause.over(now):
        raise InputError(f"{iso(end or now)} has passed: give a time after now ({iso(now)})", field="until")
    return pause
