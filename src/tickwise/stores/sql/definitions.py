"""Definitions by their id. They never change, so each is read and decoded once in the life of a process."""

from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

from ...core.codec import decode_job, decode_schedule, encode_job, encode_schedule
from ...core.definition import JobDefinition, ScheduleDefinition
from ...core.payload import UnreadableText
from ...core.requirements import LiveWorkers, Offers
from ..unmet import UnmetRequirements
from .statement import Procedure, Returning, Statement

T = TypeVar("T")
_READ = Statement("SELECT id, body FROM tickwise_definitions WHERE id IN :ids[bigint]")
_KEEP = Returning(
    "{insert_free} INTO tickwise_definitions (digest, body) VALUES (:digest, :body) {if_free}", "id",
    found="SELECT id FROM tickwise_definitions WHERE id = :first_id",
)  # fmt: skip
_FIND = Statement("SELECT id, body FROM tickwise_definitions WHERE digest = :digest")
_REPAIR = Statement("UPDATE tickwise_definitions SET body = :body WHERE id = :id")
_JOB_NAMES = Statement("SELECT id, name FROM tickwise_jobs WHERE id IN :ids[bigint]")
_SCHEDULE_NAMES = Statement("SELECT id, name FROM tickwise_schedules WHERE id IN :ids[bigint]")
_MAX_ENTRIES = 200_000  # entries of each kind that are kept


class CachedJob(NamedTuple):
    """A job whose passes are mostly simple, with its only schedule: right while the job's revision stays."""

    id: int
    revision: int
    definition: JobDefinition | None  # none if a run may not be leased when it is made
    definition_id: int
    requires: str
    queue: str
    priority: int
    schedule_id: int
    schedule: ScheduleDefinition
    schedule_definition_id: int
    cursor: int  # all slots up to there are decided
    edited: int
    first_seen: int


class DefinitionCache:
    """What was read so far: texts and names, which never change, and simple jobs with their revision."""

    def __init__(self) -> None:
        self._bodies: dict[int, str] = {}
        self._broken: set[int] = set()  # cannot be decoded; read again, because they may be repaired
        self._jobs: dict[tuple[int, str], JobDefinition] = {}
        self._schedules: dict[tuple[int, str, str], ScheduleDefinition] = {}
        self.job_names: dict[int, str] = {}
        self.schedule_names: dict[int, str] = {}
        self.simple_jobs: dict[int, CachedJob] = {}  # by id
        self.unmet = UnmetRequirements()
        self.live_workers: tuple[Collection[str], LiveWorkers] = (), LiveWorkers(())  # as last read
        self.offers: dict[str, Offers] = {}  # of live workers, by digest

    def read(self, ids: Iterable[int]) -> Procedure[None]:
        """Fetch the texts that are not known yet."""
        missing = sorted({id_ for id_ in ids if id_ not in self._bodies or id_ in self._broken})
        if missing:
            _make_room(self._bodies)
            self._broken.difference_update(missing)
            self._bodies.update(dict((yield _READ(ids=missing))))

    def read_names(self, jobs: Iterable[int], schedules: Iterable[int]) -> Procedure[None]:
        """Fetch the names that are not known yet."""
        for ids, names, statement in (
            (jobs, self.job_names, _JOB_NAMES),
            (schedules, self.schedule_names, _SCHEDULE_NAMES),
        ):
            missing = sorted(set(ids) - names.keys())
            if missing:
                _make_room(names)
                names.update(dict((yield statement(ids=missing))))

    def job(self, definition: int, name: str) -> JobDefinition:
        """A job whose text has been read; raises UnreadableText."""
        found = self._jobs.get((definition, name))
        if found is None:
            _make_room(self._jobs)
            found = self._jobs[definition, name] = self._decoded(definition, lambda text: decode_job(text, name))
        return found

    def schedule(self, definition: int, name: str, job: str) -> ScheduleDefinition:
        """A schedule whose text has been read; raises UnreadableText."""
        found = self._schedules.get((definition, name, job))
        if found is None:
            _make_room(self._schedules)
            found = self._decoded(definition, lambda text: decode_schedule(text, name, job))
            self._schedules[definition, name, job] = found
        return found

    def _decoded(self, definition: int, decode: Callable[[str], T]) -> T:
        if definition not in self._bodies:
            raise UnreadableText(f"the definition {definition} is missing in the store: restore a backup")
        try:
            return decode(self._bodies[definition])
        except UnreadableText:
            self._broken.add(definition)
            raise

    def remember(self, job: CachedJob) -> None:
        _make_room(self.simple_jobs)
        self.simple_jobs[job.id] = job

    def keep(self, definition: JobDefinition | ScheduleDefinition) -> Procedure[int]:
        """The id of a definition's text, which is written if it is new."""
        body = encode_job(definition) if isinstance(definition, JobDefinition) else encode_schedule(definition)
        digest = blake2b(body.encode(), digest_size=16).hexdigest()
        if made := (yield _KEEP(digest=digest, body=body)):
            return int(made[0][0])
        id_, known = (yield _FIND(digest=digest))[0]
        if known != body:  # the row was damaged
            yield _REPAIR(id=id_, body=body)
        return int(id_)


def _make_room(entries: dict[Any, Any]) -> None:  # what is needed again is read again
    if len(entries) >= _MAX_ENTRIES:
        entries.clear()
