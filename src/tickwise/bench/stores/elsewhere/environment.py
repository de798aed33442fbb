"""The environment of the peers that are elsewhere: made on first use in the cache folder, from pins with hashes.

It is a virtualenv, named after its pins and kept; what a broken installation left behind is made anew.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from ....core.errors import InputError
from ...measure import Progress

PINS = Path(__file__).with_name("pins.lock")


def interpreter(progress: Progress, pins: Path = PINS) -> Path:
    """The Python that can import them."""
    home = _cache() / f"peers-{sha256(sys.version.encode() + pins.read_bytes()).hexdigest()[:12]}"
    python, complete = home / "bin" / "python", home / "complete"
    if not complete.exists():
        progress("installing peers into an environment of their own, once")
        _run([sys.executable, "-m", "venv", "--clear", "--without-pip", home])
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python]
        _run([*pip, "install", "--no-deps", "--require-hashes", "--requirement", pins])
        complete.touch()
    return python


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tickwise", "bench")


def _run(command: Sequence[str | Path]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603 (our own command)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no word why"]
        raise InputError(f"their environment could not be made ({said[-1]})")
