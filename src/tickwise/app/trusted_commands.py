"""Which commands this process may execute: those of definitions that its sources have (S46).

A definition that its source has changed or removed is withdrawn. It stays trusted until the change is stored, and
then until the runs that were enqueued with it have ended, because a run keeps its definition (S23). Runs that
somebody enqueues later with the same words prolong nothing. The jobs that steps become are trusted exactly as long
as the definition that they follow from (S74).
"""

from collections import defaultdict
from typing import NamedTuple

from ..core.definition import JobDefinition
from ..core.requirements import COMMANDS, command_digest, has_commands
from ..core.states import RunState
from ..core.step_jobs import step_jobs
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import RunFilter

_UNFINISHED = frozenset({RunState.QUEUED, RunState.RUNNING})


class _Withdrawn(NamedTuple):
    """What a job required."""

    job: str
    digest: str


class TrustedCommands:
    """The definitions with commands of all sources of this process."""

    def __init__(self, store: Store) -> None:
        self.digests: frozenset[str] = frozenset()  # the same value until it changes
        self._store = store
        self._current: dict[tuple[str, str], str] = {}  # by source and job
        self._replaced: defaultdict[tuple[str, str], set[str]] = defaultdict(set)  # not in the store, yet
        self._of_steps: dict[str, frozenset[str]] = {}  # of the jobs that steps become, by the digest of the whole
        self._withdrawn: dict[
            _Withdrawn, frozenset[str] | None
        ] = {}  # the runs that need it; none: to be looked up

    def add(self, source: str, job: JobDefinition) -> None:
        """A source defines a job, for the first time or anew."""
        place, digest = (source, job.name), command_digest(job) if has_commands(job) else ""
        if of_steps := frozenset(map(command_digest, step_jobs(job))):
            self._of_steps[digest] = of_steps
        if old := self._current.get(place):
            self._replaced[place].add(old)
        self._current[place] = digest
        self._replaced[place].discard(digest)
        self._collect_digests()

    def on_stored(self, source: str, job: str) -> None:
        """The newest definition of a job is in the store: no more runs get an older one."""
        for digest in self._replaced.pop((source, job), ()):
            self._withdrawn[_Withdrawn(job, digest)] = None

    def on_removed(self, source: str, job: str) -> None:
        """A job of a source is no longer in the store."""
        self._replaced[source, job].add(self._current.pop((source, job), ""))
        self.on_stored(source, job)

    async def withdraw(self) -> None:
        """Trust withdrawn definitions no longer, once the runs that need them have ended."""
        for withdrawn, known in list(self._withdrawn.items()):
            runs = await self._runs_that_need(withdrawn)
            needed = runs if known is None else runs & known
            if needed:
                self._withdrawn[withdrawn] = needed
            else:
                del self._withdrawn[withdrawn]
        self._collect_digests()

    async def _runs_that_need(self, withdrawn: _Withdrawn) -> frozenset[str]:
        wanted = RunFilter(job=withdrawn.job, states=_UNFINISHED)
        rows = await all_pages(lambda after: self._store.insights.runs(wanted, after, 1_000))
        word = f"{COMMANDS}:{withdrawn.digest}"
        return frozenset(row.id for row in rows if word in row.requires.split())

    def _collect_digests(self) -> None:
        replaced = (digest for digests in self._replaced.values() for digest in digests)
        withdrawn = (each.digest for each in self._withdrawn)
        digests = frozenset((*self._current.values(), *replaced, *withdrawn)) - {""}
        self._of_steps = {whole: steps for whole, steps in self._of_steps.items() if whole in digests}
        digests = digests.union(*self._of_steps.values())
        if digests != self.digests:
            self.digests = digests
