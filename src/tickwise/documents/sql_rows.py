"""From a document as it stands in a store to what a scheduler holds."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from .contract import Locked, LockLostError
from .decide import DocumentFacts
from .fields import Fields, value_at


def held(document: Mapping[str, Any], fields: Fields, key: Any, owner: str, now: datetime) -> Locked:
    """A document that has just been locked, as it was before."""
    facts = DocumentFacts(
        key=key,
        sleep_until=value_at(document, fields.sleep_until),
        interval=value_at(document, fields.interval),
        repeat_until=value_at(document, fields.repeat_until),
        auto_remove=value_at(document, fields.auto_remove),
    )
    return Locked(document, facts, owner, now)


def held_still(locked: Locked, document: Mapping[str, Any] | None, fields: Fields, now: datetime) -> Locked | None:
    """A locked document as it stands now: somebody has changed its facts, or has deleted it (none)."""
    if document is None:
        return None
    if value_at(document, fields.lock_owner) != locked.owner:
        raise LockLostError(locked.facts.key)
    facts = replace(
        locked.facts,
        interval=value_at(document, fields.interval),
        repeat_until=value_at(document, fields.repeat_until),
        auto_remove=value_at(document, fields.auto_remove),
        moved=value_at(document, fields.sleep_until) != value_at(document, fields.lock_until),
    )
    return Locked(document, facts, locked.owner, now)
