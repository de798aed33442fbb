"""What is asked of MongoDB: filters and updates, made from field paths and values."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from .contract import Locked, Renew
from .decide import Release, Sleep
from .fields import Fields

_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)  # only dates come after it, so other values are never due
WITH_NOW = {"_id": 0, "document": "$$ROOT", "now": "$$NOW"}


class Commands:
    """For the documents that satisfy a condition."""

    def __init__(self, fields: Fields, condition: Mapping[str, Any]) -> None:
        self.fields = fields
        self._condition = dict(condition)
        self._sleep, self._lock = f"${fields.sleep_until}", f"${fields.lock_until}"

    def due(self) -> dict[str, Any]:
        unlocked = {"$lte": [{"$ifNull": [self._lock, _BEGINNING]}, "$$NOW"]}
        return self._where({"$and": [{"$lte": [self._sleep, "$$NOW"]}, unlocked]})

    def later(self) -> dict[str, Any]:
        return self._where({"$gt": [self._sleep, "$$NOW"]})

    def _where(self, expression: dict[str, Any]) -> dict[str, Any]:
        timed = {self.fields.sleep_until: {"$gt": _BEGINNING}, "$expr": expression}
        return {"$and": [timed, self._condition]}

    def seconds_left(self) -> dict[str, Any]:
        return {"_id": 0, "seconds": {"$divide": [{"$subtract": [self._sleep, "$$NOW"]}, 1000]}}

    def lock(self, owner: str, length: timedelta) -> list[dict[str, Any]]:
        fields, end = self.fields, _after(length)
        return [
            {"$set": {fields.sleep_until: end, fields.lock_until: end, fields.lock_owner: {"$literal": owner}}}
        ]

    def ours(self, locked: Locked) -> dict[str, Any]:
        return {"_id": {"$eq": locked.facts.key}, self.fields.lock_owner: locked.owner}

    def untouched(self, locked: Locked) -> dict[str, Any]:
        """Still ours, and the facts as they were locked."""
        fields, facts = self.fields, locked.facts
        return self.ours(locked) | {
            fields.interval: {"$eq": facts.interval},
            fields.repeat_until: {"$eq": facts.repeat_until},
            fields.auto_remove: {"$eq": facts.auto_remove},
            "$expr": {"$eq": [self._sleep, self._lock]},
        }

    def update(self, change: Sleep | Release | Renew) -> dict[str, Any] | list[dict[str, Any]]:
        fields = self.fields
        if isinstance(change, Renew):
            end = _after(change.lock_until)
            kept = {"$cond": [{"$eq": [self._sleep, self._lock]}, end, self._sleep]}
            return [{"$set": {fields.sleep_until: kept, fields.lock_until: end}}]
        unlocked = {fields.lock_owner: "", fields.lock_until: ""}
        if isinstance(change, Sleep):
            return {"$set": {fields.sleep_until: change.until}, "$unset": unlocked | {fields.error: ""}}
        if change.error is None:
            return {"$unset": unlocked | {fields.error: ""}}
        return {"$set": {fields.error: change.error}, "$unset": unlocked}

    def news(self) -> list[dict[str, Any]]:
        """Changes that schedulers did not make: those do not touch the lock's end."""
        changed = "$updateDescription"
        set_names = {"$objectToArray": {"$ifNull": [f"{changed}.updatedFields", {}]}}
        names = {
            "$concatArrays": [
                {"$map": {"input": set_names, "in": "$$this.k"}},
                {"$ifNull": [f"{changed}.removedFields", []]},
            ]
        }
        foreign = {"$not": [{"$in": [self.fields.lock_until, names]}]}
        kinds = {"operationType": {"$in": ["insert", "update", "replace"]}}
        return [{"$match": kinds | {"$expr": foreign}}, {"$project": {"_id": 1}}]


def _after(length: timedelta) -> dict[str, Any]:
    return {"$add": ["$$NOW", round(length.total_seconds() * 1000)]}
