"""When APScheduler fires, by the triggers of version 3, where it is installed. Those of version 4 fire alike."""

from collections.abc import Mapping

from ..core.errors import InputError
from .model import OriginRules, UnknownTimes


def library_rules(texts: Mapping[str, str], where: str) -> OriginRules:
    """The fires of a cron trigger with these fields; its weekdays by number count from Monday."""
    try:
        from .apscheduler import trigger_rules  # noqa: PLC0415  (it needs the library)
    except ImportError:
        return UnknownTimes("APScheduler 3 is not installed here")
    try:
        return trigger_rules(texts, where)
    except (ValueError, TypeError) as error:
        raise InputError(f"APScheduler refuses it: {error}") from None
