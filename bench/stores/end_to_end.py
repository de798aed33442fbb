"""From a due slot to a stored end: Tickwise beside the peers, in one process each."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from ..measure import Figures, Progress
from ..postgres import database
from .claim_loop import ClaimLoop
from .contender import Contender, in_turns
from .isolated_peers.peer import apscheduler_4
from .node import TickwiseNode
from .peers import Apscheduler, Pgqueuer, Procrastinate
from .size import StoresSize

POSTGRES, SQLITE = "fire, run, finish on PostgreSQL", "fire, run, finish on SQLite"
UNLIKE = f"{POSTGRES}, unlike jobs"
_MODULES = {
    "APScheduler": ("apscheduler.jobstores.sqlalchemy", "psycopg"),
    "procrastinate": ("procrastinate", "psycopg"),
    "pgqueuer": ("pgqueuer.qm",),
}


def on_postgres(server: str, size: StoresSize, progress: Progress, python: Path | None) -> Figures:
    """Compare with the peers that are installed here, and with one that needs its own environment."""
    peers = [
        ClaimLoop(server, size.few),
        Apscheduler(database(server), size.few),
        Procrastinate(server, size.few),
        Pgqueuer(server, size.many),
    ]
    isolated = [apscheduler_4(python, server, size.few)] if python else []
    ours = TickwiseNode(database(server), size.many)
    yield from _compare(POSTGRES, ours, [*installed(peers, progress), *isolated], size)
    queue = installed([Pgqueuer(server, size.unlike)], progress)
    yield from _compare(UNLIKE, TickwiseNode(database(server), size.unlike, alike=False), queue, size)


def on_sqlite(size: StoresSize, progress: Progress) -> Figures:
    peers = [Apscheduler(sqlite_file(), size.few)]
    yield from _compare(SQLITE, TickwiseNode(sqlite_file(), size.many), installed(peers, progress), size)


def _compare(what: str, ours: TickwiseNode, peers: Sequence[Contender], size: StoresSize) -> Figures:
    own, *theirs = in_turns(size.turns, [ours, *peers])
    for peer, turns in zip(peers, theirs, strict=True):
        yield f"{what}, {peer.name}", own.best, "runs/s", (peer.name, turns.best)
    yield f"{what}, first time", own.first, "runs/s", None


def installed(peers: Sequence[Contender], progress: Progress) -> list[Contender]:
    """Those that can be measured here; a note names each that cannot."""
    return [peer for peer in peers if _is_installed(peer.name, progress)]


def _is_installed(peer: str, progress: Progress) -> bool:
    try:
        for module in _MODULES.get(peer, ()):
            import_module(module)
    except ImportError as error:
        progress(f"note: {peer} is left out, it is not installed ({error})")
        return False
    return True


@asynccontextmanager
async def sqlite_file() -> AsyncIterator[str]:
    with TemporaryDirectory(prefix="tickwise-bench-") as folder:
        yield f"sqlite:///{Path(folder, 'bench.db')}"
