"""From a due slot to a stored end: ours beside the peers, in one process each."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from ..measure import Figures, Progress
from .claim_loop import ClaimLoop
from .contender import Contender, in_turns
from .databases import database
from .elsewhere.contender import apscheduler_4
from .load import Size
from .ours import Ours
from .peers import Apscheduler, Pgqueuer, Procrastinate

POSTGRES, SQLITE = "fire, run, finish on PostgreSQL", "fire, run, finish on SQLite"
_MODULES = {
    "APScheduler": ("apscheduler.jobstores.sqlalchemy", "psycopg"),
    "procrastinate": ("procrastinate", "psycopg"),
    "pgqueuer": ("pgqueuer.qm",),
}


def on_postgres(server: str, size: Size, progress: Progress, python: Path | None) -> Figures:
    """Beside the peers that are installed here, and one that needs another Python."""
    peers = [
        ClaimLoop(server, size.few),
        Apscheduler(database(server), size.few),
        Procrastinate(server, size.few),
        Pgqueuer(server, size.many),
    ]
    found = [*_installed(peers, progress), *([apscheduler_4(python, server, size.few)] if python else [])]
    yield from _compared(POSTGRES, Ours(database(server), size.many), found, size)


def on_sqlite(size: Size, progress: Progress) -> Figures:
    peers = [Apscheduler(_file(), size.few)]
    yield from _compared(SQLITE, Ours(_file(), size.many), _installed(peers, progress), size)


def _compared(what: str, ours: Ours, peers: Sequence[Contender], size: Size) -> Figures:
    own, *theirs = in_turns(size.turns, [ours, *peers])
    for peer, turns in zip(peers, theirs, strict=True):
        yield f"{what}, {peer.name}", own.best, "runs/s", (peer.name, turns.best)
    yield f"{what}, first time", own.first, "runs/s", None


def _installed(peers: Sequence[Contender], progress: Progress) -> list[Contender]:
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
async def _file() -> AsyncIterator[str]:
    with TemporaryDirectory(prefix="tickwise-bench-") as folder:
        yield f"sqlite:///{Path(folder, 'bench.db')}"
