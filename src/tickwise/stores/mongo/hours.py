"""What the last hours were like, by schedule and hour, from runs and decisions."""

from collections import Counter, defaultdict

from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.states import RunState
from ..records import MICRO
from ..tallies import HourRow
from .base import Document, Mongo

_HOUR = 3_600


async def hours(mongo: Mongo, number: int, schedule: str | None) -> tuple[HourRow, ...]:
    since = (await mongo.now() // MICRO // _HOUR - number + 1) * _HOUR
    of_schedule = {} if schedule is None else {"schedule": schedule}
    runs: dict[tuple[str, int], Counter[RunState]] = defaultdict(Counter)
    triggers: dict[tuple[str, int], Counter[Trigger]] = defaultdict(Counter)
    sums: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    async for group in await mongo.runs.aggregate(_of_runs({"slot": {"$gte": since}, **of_schedule})):
        key = group["_id"]["schedule"], group["_id"]["hour"]
        runs[key][RunState(group["_id"]["state"])] += group["count"]
        triggers[key][Trigger(group["_id"]["trigger"])] += group["count"]
        sums[key].update({name: value for name, value in group.items() if name != "_id"})
    decided: dict[tuple[str, int], dict[Reason, int]] = defaultdict(dict)
    async for group in await mongo.decisions.aggregate(_of_decisions({"last": {"$gte": since}, **of_schedule})):
        key = group["_id"]["schedule"], group["_id"]["hour"]
        decided[key][Reason.of(group["_id"]["reason"])] = group["count"]
    return tuple(
        HourRow(*key, dict(runs[key]), *_means(sums[key]), decided[key], dict(triggers[key]))
        for key in sorted({*runs, *decided})
    )


def _hour_of(field: str) -> Document:
    return {"$subtract": [field, {"$mod": [field, _HOUR]}]}


def _of_runs(which: Document) -> list[Document]:
    began, ended = {"$subtract": ["$started_at", "$due_at"]}, {"$subtract": ["$finished_at", "$started_at"]}
    return [
        {"$match": which},
        {
            "$group": {
                "_id": {
                    "schedule": "$schedule",
                    "hour": _hour_of("$slot"),
                    "state": "$state",
                    "trigger": "$trigger",
                },
                "count": {"$sum": 1},
                "claim": {"$sum": {"$subtract": ["$created_at", "$due_at"]}},
                "late": {"$sum": began},
                "started": {"$sum": _is_there(began)},
                "ran": {"$sum": ended},
                "finished": {"$sum": _is_there(ended)},
            }
        },
    ]


def _is_there(value: Document) -> Document:
    """1 for a number, 0 for none."""
    return {"$cond": [{"$isNumber": value}, 1, 0]}


def _of_decisions(which: Document) -> list[Document]:
    identity = {"schedule": "$schedule", "hour": _hour_of("$first"), "reason": "$reason"}
    return [{"$match": which}, {"$group": {"_id": identity, "count": {"$sum": "$count"}}}]


def _means(sums: Counter[str]) -> tuple[float | None, float | None, float | None]:
    """In milliseconds: from due to claimed, from due to started, from started to finished."""
    return (
        _mean(sums["claim"], sums["count"]),
        _mean(sums["late"], sums["started"]),
        _mean(sums["ran"], sums["finished"]),
    )


def _mean(total: int, number: int) -> float | None:
    return total / number / 1_000 if number else None
