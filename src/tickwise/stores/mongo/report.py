"""What steps report and print. A report is fenced in its run's document; what was let through is written then."""

from collections.abc import Iterator, Sequence
from functools import partial

from pymongo import InsertOne, UpdateOne

from ...core.states import RunState
from ..records import LOG_HEAD, LOG_TAIL, LogPart, StepReport
from .base import Document, Mongo, present
from .intents import LostRaceError, persist


async def report(mongo: Mongo, run: int, token: str, steps: Sequence[StepReport], log: Sequence[LogPart]) -> bool:
    """False, and nothing kept, if the token is old (S42)."""
    return await persist(partial(_report, mongo, run, token, steps, log))


async def _report(mongo: Mongo, run: int, token: str, steps: Sequence[StepReport], log: Sequence[LogPart]) -> bool:
    """Reserve places in the run's document, by compare-and-set, and put there what was reported."""
    mine = {"_id": run, "token": token, "state": str(RunState.RUNNING)}
    before = await mongo.runs.find_one(mine, {"parts": 1, "printed": 1})
    if before is None:
        return False
    parts, printed = before.get("parts", 0), dict(before.get("printed", ()))
    rows = list(_placed(run, log, parts, printed))
    count = len(rows) + len(steps)
    as_read = {**mine, "parts": before.get("parts", {"$exists": False})}
    after = {"parts": parts + count, "printed": list(printed.items())}
    if count and not (await mongo.runs.update_one(as_read, {"$set": after})).matched_count:
        raise LostRaceError
    await mongo.write(mongo.logs, [InsertOne(row) for row in rows])
    await mongo.write(mongo.steps, list(_kept(run, steps, parts + len(rows))))
    await _trim(mongo, run, {part.step: printed[part.step] for part in log})
    return True


def _placed(run: int, log: Sequence[LogPart], first: int, printed: dict[str, int]) -> Iterator[Document]:
    """Each part with its place in all that its step has printed; `printed` moves on."""
    for number, part in enumerate(log, first):
        start = printed.get(part.step, 0)
        end = printed[part.step] = start + len(part.text)
        yield {
            "_id": {"run": run, "number": number}, "step": part.step, "stream": part.stream, "text": part.text,
            "at": part.at, "start": start, "end": end,
        }  # fmt: skip


def _kept(run: int, steps: Sequence[StepReport], first: int) -> Iterator[UpdateOne]:
    """A later report on a step takes the place of the one before; it keeps its place in the row."""
    for number, step in {step.name: (n, step) for n, step in enumerate(steps, first)}.values():
        yield UpdateOne(
            {"_id": {"run": run, "name": step.name}, "number": {"$lt": number}},
            {"$set": {"number": number, "report": present(step._asdict())}, "$setOnInsert": {"place": number}},
            upsert=True,
        )


async def _trim(mongo: Mongo, run: int, printed: dict[str, int]) -> None:
    """Of a step that prints very much, whole parts between its head and its tail go."""
    for step, end in printed.items():
        if end > LOG_HEAD + LOG_TAIL:
            middle = {"start": {"$gte": LOG_HEAD}, "end": {"$lte": end - LOG_TAIL}}
            await mongo.logs.delete_many({"_id": numbered(run), "step": step, **middle})


def numbered(run: int, after: int = -1) -> Document:
    """Which parts of a run's log: those after a number."""
    return {"$gt": {"run": run, "number": after}, "$lt": {"run": run + 1, "number": 0}}


def steps_of(run: int) -> Document:
    """Which steps: those of a run."""
    return {"$gt": {"run": run, "name": ""}, "$lt": {"run": run + 1, "name": ""}}
