"""What a run requires of the worker that executes it, and what a worker offers (S46, S47).

A requirement is a word `kind:name`. A run has one or more of them, in one text:

    function:refresh                a function that an app of the worker declares under this name
    commands:9f86d081…              commands that a source of the worker defines in the same words
    function:refresh commands:9f8…  a function with preconditions or handlers
    engine:gpu                      an engine that the settings of the worker name; it watches the work there (S54)
    engine:gpu handed:9f86d081…     the same, for commands that a source of the worker defines

The name of commands is a digest of the job's definition. Commands that are handed over are a kind of their own, so
that a worker without engines and a watcher without room for local runs take nothing from each other. A worker
 offers words of the same form, and `kind:*` for
everything of a kind: `--allow-commands` offers `commands:*`. It may execute a run if it offers every word of it.

So what else a worker must have is one more kind of word: stores keep and compare texts, and know no kinds.
"""

from collections.abc import Collection, Iterable
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

from .codec import encode_job
from .definition import Handlers, JobDefinition

FUNCTION, COMMANDS, ENGINE, HANDED = "function", "commands", "engine", "handed"  # the kinds
ALL = "*"
_MISSING = {  # what no live worker does, as the end of a sentence
    "": "serves the queue {queue}",
    FUNCTION: "of the queue {queue} knows the function {name}",
    COMMANDS: "of the queue {queue} may execute its commands",
    ENGINE: "of the queue {queue} has the engine {name}",
    HANDED: "of the queue {queue} may hand its commands over",
}
_NO_HANDLERS = Handlers()
_OTHER_MISSING = "of the queue {queue} offers {kind}:{name}"


def has_commands(job: JobDefinition) -> bool:
    """Whether the definition says what is executed, and not only which function."""
    return bool(job.steps or job.preconditions) or job.on != _NO_HANDLERS


def command_digest(job: JobDefinition) -> str:
    """Equal for definitions in the same words."""
    return blake2b(encode_job(job).encode(), digest_size=16).hexdigest()


def requirements_of(job: JobDefinition) -> str:
    """What a worker must offer to execute a job."""
    if job.engine:
        words, commands = [f"{ENGINE}:{job.engine.name}"], HANDED
    else:
        words, commands = [] if job.steps else [f"{FUNCTION}:{job.name}"], COMMANDS
    if has_commands(job):
        words.append(f"{commands}:{command_digest(job)}")
    return " ".join(words)


class Offers:
    """What a worker may execute. Equal ones have one text and one digest."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = frozenset(words)

    @classmethod
    def of(cls, functions: Iterable[str] = (), commands: Iterable[str] = ()) -> "Offers":
        """The functions that it knows, and the digests of definitions whose commands it may execute, or `*`."""
        known = (f"{FUNCTION}:{name}" for name in functions)
        return cls((*known, *(f"{COMMANDS}:{name}" for name in commands)))

    @classmethod
    def of_watcher(cls, engines: Iterable[str], commands: Iterable[str] = ()) -> "Offers":
        """The engines that it has, and the digests of definitions whose commands it may hand over, or `*`."""
        return cls((*(f"{ENGINE}:{name}" for name in engines), *(f"{HANDED}:{name}" for name in commands)))

    @classmethod
    def from_text(cls, text: str) -> "Offers":
        return cls(text.split())

    @cached_property
    def text(self) -> str:
        return " ".join(sorted(self.words))

    @cached_property
    def digest(self) -> str:
        return blake2b(self.text.encode(), digest_size=16).hexdigest()

    def __or__(self, other: "Offers") -> "Offers":
        return Offers(self.words | other.words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Offers) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    def __repr__(self) -> str:
        return f"Offers({self.text!r})"

    def allow(self, requires: str) -> bool:
        """Whether a run that requires this may be executed."""
        return requires in self.words or all(map(self._has, requires.split()))

    def allow_commands_of(self, job: JobDefinition) -> bool:
        return f"{COMMANDS}:{ALL}" in self.words or f"{COMMANDS}:{command_digest(job)}" in self.words

    def _has(self, word: str) -> bool:
        return word in self.words or f"{word.partition(':')[0]}:{ALL}" in self.words


NOTHING = Offers(())
EVERYTHING = Offers.of([ALL], [ALL])


class MissingWorker(NamedTuple):
    """The worker that a job lacks: one of its queue, or one of its queue that offers what it requires."""

    queue: str
    requirement: str = ""  # the word that none of the queue's workers offers; empty if the queue has none

    @property
    def kind(self) -> str:
        return self.requirement.partition(":")[0]

    @property
    def text(self) -> str:
        """What no live worker does, as the end of a sentence."""
        kind, _, name = self.requirement.partition(":")
        return _MISSING.get(kind, _OTHER_MISSING).format(queue=self.queue, kind=kind, name=name)


class LiveWorkers:
    """The workers that are alive: which queues each serves, and what it offers."""

    def __init__(self, workers: Iterable[tuple[Collection[str], Offers]]) -> None:
        self._by_queue: dict[str, list[Offers]] = {}
        for queues, offers in workers:
            for queue in queues:
                self._by_queue.setdefault(queue, []).append(offers)
        self._found: dict[tuple[str, str], MissingWorker | None] = {}

    def missing(self, queue: str, requires: str) -> MissingWorker | None:
        """The worker that such a job lacks; none if one of these may execute it (S47)."""
        key = queue, requires
        if key not in self._found:
            self._found[key] = self._find(queue, requires)
        return self._found[key]

    def _find(self, queue: str, requires: str) -> MissingWorker | None:
        workers = self._by_queue.get(queue)
        if workers is None:
            return MissingWorker(queue)
        if any(offers.allow(requires) for offers in workers):
            return None
        words = requires.split()
        unmet = (word for word in words if not any(offers.allow(word) for offers in workers))
        return MissingWorker(queue, next(unmet, words[-1]))
