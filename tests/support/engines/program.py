"""The programs that the fakes start, where a cluster would start them on a node or in a pod."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

_STUB = Path(__file__).with_name("tickwise_stub.py")


class Program:
    """A process of its own group, whose output is kept."""

    def __init__(self, command: Sequence[str] | str, environment: Mapping[str, str], folder: Path) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the program is known)
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", command] if isinstance(command, str) else command,
            env={**environment, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def output(self) -> bytes:
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0)

    def terminate(self, grace: float) -> None:
        """Ask it to end, and after a while make it."""
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self.kill()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def close(self) -> None:
        self.kill()
        self._output.close()


def install_stub(folder: Path) -> Path:
    """A folder with a program `tickwise` that starts in a few milliseconds; see `tickwise_stub.py`."""
    stub = folder / "tickwise"
    stub.write_text(f'#!/bin/sh\nexec {quote(sys.executable)} -I -S {quote(str(_STUB))} "$@"\n')
    stub.chmod(0o755)
    return folder
