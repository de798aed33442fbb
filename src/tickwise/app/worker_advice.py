"""What no live worker may execute (S46, S47): which worker is missing, and the command that starts one."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..core.definition import JobDefinition
from ..core.requirements import COMMANDS, ENGINE, FUNCTION, HANDED, LiveWorkers, MissingWorker, requirements_of
from ..core.timeparse import iso
from ..stores.contract import Store
from ..stores.records import MICRO, Node, Role
from ..stores.statistics import Counts

NO_ROOM_SECONDS = 60  # after which a worker of which no run ends is said to have no room
_FOLDER = "folder:"
_FOR_COMMANDS = (
    "Start one with the folder or the app that defines them (tickwise worker FOLDER --queues {queue}), or with "
    "--allow-commands"
)
_ADVICE = {
    FUNCTION: "Start one with the app that declares them: tickwise worker MODULE:APP --queues {queue}",
    COMMANDS: _FOR_COMMANDS,
    ENGINE: "Start one whose settings name the engine: tickwise worker --queues {queue}",
    HANDED: _FOR_COMMANDS,
}


def is_live(node: Node, now: int) -> bool:
    return node.seen_at > now - node.seconds * MICRO


def live_workers(nodes: Iterable[Node], now: int) -> LiveWorkers:
    """The workers among the nodes that are alive."""
    workers = (node for node in nodes if Role.WORKER in node.roles and is_live(node, now))
    return LiveWorkers((node.queues, node.offers) for node in workers)


def workers_without_room(nodes: Iterable[Node]) -> Iterator[tuple[Node, str]]:
    """Workers whose room has been taken for long while none was freed, and what is wrong with each."""
    for node in nodes:
        if Role.WORKER in node.roles and node.full_seconds >= NO_ROOM_SECONDS:
            since = iso((node.seen_at - node.full_seconds * MICRO) // MICRO)
            going_on = node.capacity - node.busy
            stuck = f", {going_on} of it by code that goes on after its run has ended" if going_on > 0 else ""
            yield node, f"{node.host}: the worker {node.id} has no room left since {since}{stuck}"


def start_command(queue: str, requires: str = "", source: str = "") -> str:
    """The command that starts a worker for a job of this source."""
    words = dict(word.partition(":")[::2] for word in requires.split())
    kinds = words.keys()
    needed = f" (with [engines.{words[ENGINE]}] in its settings)" if ENGINE in kinds else ""
    if FUNCTION in kinds:
        return f"tickwise worker MODULE:APP --queues {queue} (with the app of {source})"
    if not kinds & {COMMANDS, HANDED}:
        return f"tickwise worker --queues {queue}{needed}"
    if source.startswith(_FOLDER):
        return f"tickwise worker {source.removeprefix(_FOLDER)} --queues {queue}{needed}"
    return f"tickwise worker --allow-commands --queues {queue}{needed}"


def worker_required(job: JobDefinition) -> tuple[str, str]:
    """The queue that a worker must serve to execute a job, and what it must offer."""
    return job.queue, requirements_of(job)


async def missing_worker_warnings(store: Store, job: JobDefinition, source: str) -> list[str]:
    """What to say to a person who defines a job that nobody can execute now."""
    missing = live_workers(await store.insights.nodes(), await store.now()).missing(*worker_required(job))
    if missing is None:
        return []
    start = start_command(*worker_required(job), source)
    return [f"no live worker {missing.text}: its slots are held until one does. Start one: {start}"]


def start_advice(missing: MissingWorker) -> str:
    """What to start for several jobs."""
    return _ADVICE.get(missing.kind, "Start one: tickwise worker --queues {queue}").format(queue=missing.queue)


class UnservedJobs(NamedTuple):
    """Jobs of a queue that hold their slots because the same kind of worker is missing."""

    missing: MissingWorker
    number: int


def unserved_jobs(counts: Counts, workers: LiveWorkers) -> Iterator[UnservedJobs]:
    """By queue and kind; of the missing workers of a kind the first is named."""
    found: dict[tuple[str, str], MissingWorker] = {}
    numbers: Counter[tuple[str, str]] = Counter()
    for (queue, requires), number in sorted(counts.unserved.items()):
        if missing := workers.missing(queue, requires):
            key = queue, missing.kind
            found.setdefault(key, missing)
            numbers[key] += number
    return (UnservedJobs(missing, numbers[key]) for key, missing in found.items())
