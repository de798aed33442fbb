"""`--reload`: run this command without it, and start it again whenever a Python file has changed.

The command runs in a process group of its own, so that Ctrl-C reaches only this process, which passes it on: a
second signal means that running work gets no more time, and the terminal would send the first one twice.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import FrameType

from watchfiles import PythonFilter, watch

from .output import print_note

_LOOK_MS = 250  # how often to look whether the process has ended
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_with_reload(folder: Path) -> int:
    """Run until interrupted; the exit code of the last process."""
    command = [sys.executable, "-m", "tickwise", *(word for word in sys.argv[1:] if word != "--reload")]
    supervisor = _Supervisor(command)
    with supervisor.signals_passed_on():
        supervisor.start()
        for changes in watch(
            folder, watch_filter=PythonFilter(), stop_event=supervisor.stop, rust_timeout=_LOOK_MS,
            yield_on_timeout=True, raise_interrupt=False,
        ):  # fmt: skip
            if changes:
                supervisor.restart(sorted({Path(name).name for _, name in changes}))
            else:
                supervisor.note_end()
        return supervisor.process.wait()


class _Supervisor:
    """One process after another."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._has_ended = False  # by itself, and that was said
        self.stop = Event()
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        self._has_ended = False
        self.process = subprocess.Popen(self._command, process_group=0)  # noqa: S603  (our own command)

    def restart(self, changed: list[str]) -> None:
        """End the process as Ctrl-C does, wait for its runs, and start another."""
        print_note(f"{', '.join(changed[:3])} changed: restarting")
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        if not self.stop.is_set():
            self.start()

    def note_end(self) -> None:
        """Say that it has ended by itself, because of an error in the app for instance."""
        if self.process.poll() is not None and not self._has_ended:
            self._has_ended = True
            print_note("Waiting for a change of a Python file.")

    @contextmanager
    def signals_passed_on(self) -> Iterator[None]:
        def pass_on(number: int, _frame: FrameType | None) -> None:
            self.stop.set()
            self.process.send_signal(number)

        previous = {number: signal.signal(number, pass_on) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
