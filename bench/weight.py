"""What a program costs before it does anything: the processor time of a process, beside Celery and procrastinate.

Processes take turns, and the best of each counts. Bytecode is cached before, as after an installation.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from tickwise.core.errors import InputError

from .measure import Figures, Progress
from .report import Row
from .stores.isolated_peers.environment import interpreter

_READS = {"schedules list": ["schedules", "list"], "why": ["why", "nightly"], "runs list": ["runs", "list"]}
REQUIRED = {"tickwise --help": 1.0, "import of an app": 1 / 1.5, **dict.fromkeys(_READS, 1 / 2.9)}
_JOB = ["schedules", "add", "--name", "nightly", "--cron", "0 3 * * *", "--command", "true"]
_TURNS = 7
_APP = """
from tickwise import Tickwise
tw = Tickwise("memory://")
@tw.job("*/5 * * * *")
def refresh(): pass
"""
_CELERY = """
from celery import Celery
tw = Celery("app", broker="memory://")
@tw.task
def refresh(): pass
"""
_PROCRASTINATE = """
from procrastinate import App, testing
tw = App(connector=testing.InMemoryConnector())
@tw.periodic(cron="*/5 * * * *")
@tw.task
def refresh(timestamp): pass
"""


def rows(progress: Progress = lambda _: None, turns: int = _TURNS) -> list[Row]:
    """Measure what can be measured here; a note names what cannot."""
    return [
        Row.of(name, ours, unit, peer=peer, target=REQUIRED.get(name))
        for name, ours, unit, peer in _figures(progress, turns)
    ]


def _figures(progress: Progress, turns: int) -> Figures:
    ours = sys.executable
    with TemporaryDirectory() as folder:
        commands = {
            "help": [ours, "-m", "tickwise", "--help"],
            **{name: [ours, "-m", "tickwise", *words] for name, words in _READS.items()},
            "app": [ours, "-c", _APP],
            "procrastinate": [ours, "-c", _PROCRASTINATE],
        }
        try:
            celery = str(interpreter(progress))
            commands["celery help"] = [celery, "-m", "celery", "--help"]
            commands["celery"] = [celery, "-c", _CELERY]
        except InputError as error:
            progress(f"note: Celery is left out: {error}")
        progress("starting programs")
        for words in (["store", "upgrade"], _JOB, ["schedules", "trigger", "nightly"]):
            _run([ours, "-m", "tickwise", *words], Path(folder))
        best = _best_of(turns, commands, Path(folder))
    if "celery" in best:
        yield "tickwise --help", best["help"], "ms", ("celery --help", best["celery help"])
        yield "import of an app", best["app"], "ms", ("Celery", best["celery"])
        for name in _READS:
            yield name, best[name], "ms", ("Celery's import", best["celery"])
    yield "import of an app, procrastinate", best["app"], "ms", ("procrastinate", best["procrastinate"])


def _best_of(turns: int, commands: dict[str, list[str]], folder: Path) -> dict[str, float]:
    best = dict.fromkeys(commands, inf)
    for turn in range(turns + 1):  # the first writes the bytecode
        for name, command in commands.items():
            took = _run(command, folder)
            best[name] = min(best[name], took) if turn else inf
    return best


def _run(command: Sequence[str], folder: Path) -> float:
    """The processor time of a process, in ms."""
    surroundings = {
        **os.environ,
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "TICKWISE_STORE": "sqlite:///t.db",
    }
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603  (our own command)
        command, cwd=folder, env=surroundings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3
