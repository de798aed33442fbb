"""Definitions by the digest of their text. They never change, so each is read and decoded once in a process."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

from ..core.codec import decode_job, decode_schedule, encode_job, encode_schedule
from ..core.definition import JobDefinition, ScheduleDefinition
from ..core.payload import UnreadableText

T = TypeVar("T")
_MAX_ENTRIES = 200_000  # entries of each kind that are kept


class DigestCache(ABC):
    """What was read or written so far."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self._broken: set[str] = set()  # cannot be read; they may be mended meanwhile
        self._jobs: dict[tuple[str, str], JobDefinition] = {}
        self._schedules: dict[tuple[str, str, str], ScheduleDefinition] = {}

    @abstractmethod
    async def _fetch(self, digests: Sequence[str]) -> Mapping[str, str]:
        """The texts of these digests, as far as the store has them."""

    @abstractmethod
    async def _write(self, bodies: Mapping[str, str]) -> None:
        """Keep texts by their digests, also over those that are there."""

    async def read(self, digests: Iterable[str | None]) -> None:
        """Fetch the texts that are not known yet."""
        _make_room(self._bodies)
        missing = sorted({digest for digest in digests if digest is not None and not self._knows(digest)})
        if missing:
            self._broken.difference_update(missing)
            self._bodies.update(await self._fetch(missing))

    async def keep(self, definitions: Iterable[JobDefinition | ScheduleDefinition]) -> None:
        """Write the texts that are not known yet; one that was damaged is mended."""
        bodies = {digest_of(each): _body(each) for each in definitions}
        new = {digest: body for digest, body in bodies.items() if not self._knows(digest)}
        if new:
            await self._write(new)
            _make_room(self._bodies)
            self._broken -= new.keys()
            self._bodies |= new

    def _knows(self, digest: str) -> bool:
        return digest in self._bodies and digest not in self._broken

    def job(self, digest: str, name: str) -> JobDefinition:
        """A job whose text has been read; raises UnreadableText."""
        found = self._jobs.get((digest, name))
        if found is None:
            _make_room(self._jobs)
            found = self._jobs[digest, name] = self._decoded(digest, lambda text: decode_job(text, name))
        return found

    def schedule(self, digest: str, name: str, job: str) -> ScheduleDefinition:
        """A schedule whose text has been read; raises UnreadableText."""
        found = self._schedules.get((digest, name, job))
        if found is None:
            _make_room(self._schedules)
            found = self._decoded(digest, lambda text: decode_schedule(text, name, job))
            self._schedules[digest, name, job] = found
        return found

    def _decoded(self, digest: str, decode: Callable[[str], T]) -> T:
        if digest not in self._bodies:
            raise UnreadableText(f"the definition {digest} is missing in the store: restore a backup")
        try:
            return decode(self._bodies[digest])
        except UnreadableText:
            self._broken.add(digest)
            raise


def digest_of(definition: JobDefinition | ScheduleDefinition) -> str:
    return blake2b(_body(definition).encode(), digest_size=16).hexdigest()


def _body(definition: JobDefinition | ScheduleDefinition) -> str:
    return encode_job(definition) if isinstance(definition, JobDefinition) else encode_schedule(definition)


def _make_room(entries: dict[Any, Any]) -> None:  # what is needed again is read again
    if len(entries) >= _MAX_ENTRIES:
        entries.clear()
