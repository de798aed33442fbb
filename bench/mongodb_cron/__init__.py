"""mongodb-cron, the peer of the document scheduler: a program of Node, installed by npm into the cache folder.

Its folder is named by a hash of its pins, and is kept. The remains of a broken installation are replaced.
"""

import json
import shutil
import subprocess
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tickwise.core.errors import InputError, TickwiseError

from ..measure import Progress
from ..stores.isolated_peers.environment import cache_folder

NAME = "mongodb-cron"
_FILES = Path(__file__).parent
_PINS, _PROGRAM = _FILES / "package.json", _FILES / "drain.js"
_OLDEST_NODE = 16


def install(progress: Progress) -> Path:
    """The folder that Node can run the peer in. Raises InputError if there is no Node, or npm fails."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise InputError(f"there is no {program} on PATH: install Node {_OLDEST_NODE} or later with npm")
    home = cache_folder() / f"mongodb-cron-{sha256(_PINS.read_bytes()).hexdigest()[:12]}"
    complete = home / "complete"
    if not complete.exists():
        progress(f"installing {NAME} by npm, once")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        shutil.copy(_PINS, home)
        _run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], home, InputError)
        complete.touch()
    return home


def drain(home: Path, url: str, collection: str, *, concurrency: int, documents: int) -> float:
    """The seconds in which so many schedulers of the peer process all documents, each of them once."""
    shutil.copy(_PROGRAM, home)
    words = [_PROGRAM.name, url, collection, str(concurrency), str(documents)]
    result = json.loads(_run(["node", *words], home, TickwiseError))
    wrong = [key for key, count in result["counts"].items() if count != 1]
    if wrong or len(result["counts"]) != documents:
        raise TickwiseError(
            f"{NAME} processed {len(result['counts'])} of {documents} documents, {len(wrong)} twice"
        )
    return float(result["seconds"])


def _run(command: Sequence[str], folder: Path, error: type[TickwiseError]) -> str:
    options: dict[str, Any] = {"cwd": folder, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)  # noqa: S603 (our own command)
    if done.returncode:
        output = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise error(f"{' '.join(command[:2])} failed: {output[-1]}")
    return str(done.stdout)
