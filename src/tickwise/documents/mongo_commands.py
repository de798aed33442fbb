"""The filters, updates and projections of the MongoDB store."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from .contract import Fields, Locked, Renew
from .decide import Release, Sleep

WITH_NOW = {"_id": 0, "document": "$$ROOT", "now": "$$NOW"}
_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)  # only dates compare greater, so other values are never due
# In a batch only an error names the operation that it belongs to. So a write that must not happen fails, by a
# conversion that is not possible.
NOT_WRITTEN_CODE = 241
_FAIL = {"$toInt": {"$concat": ["not ours: ", {"$toString": "$_id"}]}}


class MongoCommands:
    """For the documents that satisfy a condition."""

    def __init__(self, fields: Fields, condition: Mapping[str, Any]) -> None:
        self.fields = fields
        self._condition = dict(condition)
        self._sleep, self._lock = f"${fields.sleep_until}", f"${fields.lock_until}"
        written = (fields.sleep_until, fields.lock_until, fields.lock_owner)
        self.locked_names = {path.partition(".")[0] for path in written}

    def due(self) -> dict[str, Any]:
        unlocked = {"$lte": [{"$ifNull": [self._lock, _EARLIEST]}, "$$NOW"]}
        return self._where({"$and": [{"$lte": [self._sleep, "$$NOW"]}, unlocked]})

    def due_later(self) -> dict[str, Any]:
        return self._where({"$gt": [self._sleep, "$$NOW"]})

    def _where(self, expression: dict[str, Any]) -> dict[str, Any]:
        timed = {self.fields.sleep_until: {"$gt": _EARLIEST}, "$expr": expression}
        return {"$and": [timed, self._condition]}

    def seconds_left(self) -> dict[str, Any]:
        return {"_id": 0, "seconds": {"$divide": [{"$subtract": [self._sleep, "$$NOW"]}, 1000]}}

    def before_lock(self) -> dict[str, Any]:
        """A projection of all that a lock overwrites."""
        return {"_id": 1, **dict.fromkeys(self.locked_names, 1)}

    def restore(self, document: dict[str, Any], before: Mapping[str, Any]) -> None:
        """Undo the lock in a document that was read after it."""
        for name in self.locked_names:
            if name in before:
                document[name] = before[name]
            else:
                document.pop(name, None)

    def lock(self, owner: str, length: timedelta) -> list[dict[str, Any]]:
        fields, end = self.fields, _now_plus(length)
        return [
            {"$set": {fields.sleep_until: end, fields.lock_until: end, fields.lock_owner: {"$literal": owner}}}
        ]

    def ours(self, locked: Locked) -> dict[str, Any]:
        return {"_id": {"$eq": locked.facts.key}, self.fields.lock_owner: locked.owner}

    def untouched(self, locked: Locked) -> dict[str, Any]:
        """Still ours, with the facts as they were locked."""
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
            end = _now_plus(change.lock_until)
            kept = {"$cond": [{"$eq": [self._sleep, self._lock]}, end, self._sleep]}
            return [{"$set": {fields.sleep_until: kept, fields.lock_until: end}}]
        unlocked = {fields.lock_owner: "", fields.lock_until: ""}
        if isinstance(change, Sleep):
            return {"$set": {fields.sleep_until: change.until}, "$unset": unlocked | {fields.error: ""}}
        if change.error is None:
            return {"$unset": unlocked | {fields.error: ""}}
        return {"$set": {fields.error: change.error}, "$unset": unlocked}

    def update_or_fail(self, locked: Locked, change: Sleep | Release) -> list[dict[str, Any]]:
        """The same update, for a filter by the key alone: it fails if the change must not be written."""
        fields, facts = self.fields, locked.facts
        holds = [_equal(fields.lock_owner, locked.owner)]
        if isinstance(change, Sleep):
            holds += [
                {"$eq": [self._sleep, self._lock]},
                _equal(fields.interval, facts.interval),
                _equal(fields.repeat_until, facts.repeat_until),
                _equal(fields.auto_remove, facts.auto_remove),
            ]
            written = {fields.sleep_until: {"$literal": change.until}, fields.error: "$$REMOVE"}
        else:
            error = "$$REMOVE" if change.error is None else {"$literal": change.error}
            written = {fields.error: error}
        unlocked = {"$cond": [{"$and": holds}, "$$REMOVE", _FAIL]}
        return [{"$set": {fields.lock_owner: unlocked}}, {"$set": {fields.lock_until: "$$REMOVE", **written}}]

    def changes(self) -> list[dict[str, Any]]:
        """A change stream without the schedulers' own writes: those all touch the end of the lock."""
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


def _equal(path: str, value: Any) -> dict[str, Any]:
    """Whether a field has this value; one that is missing counts as null."""
    return {"$eq": [{"$ifNull": [f"${path}", None]}, {"$literal": value}]}


def _now_plus(length: timedelta) -> dict[str, Any]:
    return {"$add": ["$$NOW", round(length.total_seconds() * 1000)]}
