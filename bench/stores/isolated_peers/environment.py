"""The virtualenv of the isolated peers: created in the cache folder on first use, from pins with hashes.

Its name is a hash of its pins, and it is kept. The remains of a broken installation are replaced.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from tickwise.core.errors import InputError

from ...measure import Progress

PINS = Path(__file__).with_name("pins.lock")


def interpreter(progress: Progress, pins: Path = PINS) -> Path:
    """The path of the Python that can import the peers."""
    home = cache_folder() / f"peers-{sha256(sys.version.encode() + pins.read_bytes()).hexdigest()[:12]}"
    python, complete = home / "bin" / "python", home / "complete"
    if not complete.exists():
        progress("installing peers into an environment of their own, once")
        _run_installer([sys.executable, "-m", "venv", "--clear", "--without-pip", home])
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python]
        _run_installer([*pip, "install", "--no-deps", "--require-hashes", "--requirement", pins])
        complete.touch()
    return python


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tickwise", "bench")


def _run_installer(command: Sequence[str | Path]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603 (our own command)
    if done.returncode:
        output = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise InputError(f"their environment could not be made ({output[-1]})")
