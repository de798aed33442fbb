"""Definitions by the digest of their text. They never change, so each is read and decoded once in a process."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from pymongo import UpdateOne
from pymongo.asynchronous.collection import AsyncCollection

from ...core.codec import decode_job, decode_schedule, encode_job, encode_schedule
from ...core.definition import JobDefinition, ScheduleDefinition

_MOST = 200_000  # entries of each kind that are kept


class Book:
    """What was read or written so far."""

    def __init__(self, definitions: AsyncCollection[dict[str, Any]]) -> None:
        self._definitions = definitions
        self._bodies: dict[str, str] = {}
        self._jobs: dict[tuple[str, str], JobDefinition] = {}
        self._schedules: dict[tuple[str, str, str], ScheduleDefinition] = {}

    async def read(self, digests: Iterable[str | None]) -> None:
        """Fetch the texts that are not known yet."""
        _make_room(self._bodies)
        missing = sorted({digest for digest in digests if digest is not None} - self._bodies.keys())
        if missing:
            found = await self._definitions.find({"_id": {"$in": missing}}).to_list()
            self._bodies.update((each["_id"], each["body"]) for each in found)

    async def keep(self, definitions: Iterable[JobDefinition | ScheduleDefinition]) -> None:
        """Write the texts that nobody has written yet."""
        bodies = {digest_of(each): _body(each) for each in definitions}
        new = {digest: body for digest, body in bodies.items() if digest not in self._bodies}
        if new:
            await self._definitions.bulk_write(
                [
                    UpdateOne({"_id": digest}, {"$setOnInsert": {"body": body}}, upsert=True)
                    for digest, body in new.items()
                ],
                ordered=False,
            )
            _make_room(self._bodies)
            self._bodies |= new

    def job(self, digest: str, name: str) -> JobDefinition:
        """A job whose text has been read; raises DefinitionUnreadable."""
        found = self._jobs.get((digest, name))
        if found is None:
            _make_room(self._jobs)
            found = self._jobs[digest, name] = decode_job(self._bodies[digest], name)
        return found

    def schedule(self, digest: str, name: str, job: str) -> ScheduleDefinition:
        """A schedule whose text has been read; raises DefinitionUnreadable."""
        found = self._schedules.get((digest, name, job))
        if found is None:
            _make_room(self._schedules)
            found = self._schedules[digest, name, job] = decode_schedule(self._bodies[digest], name, job)
        return found


def digest_of(definition: JobDefinition | ScheduleDefinition) -> str:
    return blake2b(_body(definition).encode(), digest_size=16).hexdigest()


def _body(definition: JobDefinition | ScheduleDefinition) -> str:
    return encode_job(definition) if isinstance(definition, JobDefinition) else encode_schedule(definition)


def _make_room(entries: dict[Any, Any]) -> None:  # what is needed again is read again
    if len(entries) >= _MOST:
        entries.clear()
