"""Processes that start together on an empty database."""

from dataclasses import replace

from tickwise.core.errors import ConflictError
from tickwise.stores.records import Node, Role

from ....support.races.channel import Line
from ....support.races.race import SOURCE, job, opened


async def start_up(line: Line, url: str, clock: str, node: str) -> tuple[str, ...]:
    """Install the tables, define what everybody defines, and say that one is there; the migrations applied."""
    line.say("ready")
    line.hear()
    store = opened(url, clock)
    applied = await store.schema.upgrade()
    await store.beat(Node(node, (Role.WORKER,), queues=("default",)))
    for name in ("a", "b", "c"):
        await store.define(job(name, "* * * * *", "*/2 * * * *"), SOURCE)
    await store.close()
    return applied


async def define_one(line: Line, url: str, clock: str, node: str, minute: int) -> str:
    """Define a job of one's own with a schedule whose name others want too; how that ended."""
    store = opened(url, clock)
    await store.now()
    wanted = job("shared", f"{minute} * * * *", queue=node)
    line.say("ready")
    line.hear()
    try:
        await store.define(replace(wanted, name=node, schedules=(replace(wanted.schedules[0], job=node),)), SOURCE)
    except ConflictError as error:
        return str(error)
    finally:
        await store.close()
    return "defined"
